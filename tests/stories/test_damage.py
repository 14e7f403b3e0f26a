"""Damaged journal, before and after the start."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS
from tests.app.forgery import opened, spoil
from tests.soak import later
from tests.stories.choosing import ASKED, answers, choice, deciding, turning
from tests.stories.process import ended, lived, start
from tests.stories.stage import ALICE, BOB, GENERAL, ME, PATIENCE, Stage, reply
from tests.stories.test_asking import ASK
from tests.stories.test_away import lose
from tests.stories.test_forgetting import forgotten

NAME = "rehearsal-journal.db"


async def test_a_damaged_entry_stops_its_own_thread_and_no_other(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    assert (await stage.health())[0] == 200
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        seq = copy.change(copy.seqs("model-call")[0], body="null")
    await stage.wake()
    await stage.post("alice", ALICE, "Are you there?", ts)
    stage.model.say(reply("Hello, Bob."))
    bob = await stage.post("bob", BOB, "Hello")
    async with asyncio.timeout(PATIENCE):
        while await stage.answers(BOB, bob) != ["Hello, Bob."]:
            await stage.clock.advance(0)
    status, said = await stage.health()
    assert status == 503
    assert said["ok"] is False
    assert str(said["damage"]).startswith(f"The entry {seq} cannot be read (its body).")
    async with stage.session.get(f"{stage.soul.url}/console/calls/{seq}") as response:
        assert response.status == 503
        assert f"The entry {seq} cannot be read" in (await response.json())["error"]
    for _ in range(5):
        await stage.soul.worker.sweep()
        await stage.clock.advance(1)
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.levelno for record in told] == [logging.CRITICAL], "said once, and loudly"


async def test_what_the_last_run_noted_of_itself_may_be_damaged(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    await stage.clock.advance(3_600)
    await stage.say("alice", ALICE, "And now?")
    await stage.sleep()
    await stage.post("alice", ALICE, "And while you were away?")
    await stage.wake()
    await stage.settled()
    await stage.sleep()
    noted = ("life-began", "life-ended", "caught-up", "read-on", "status-cleared", "journal-named")
    with opened(stage.home / "journal.db") as copy:
        for kind in noted:
            copy.change(copy.seqs(kind)[-1], body="null")
    for status in (503, 200):
        await stage.wake()
        stage.model.say(reply("Here I am."))
        bob = await stage.say("bob", BOB, "Are you there?")
        assert await stage.answers(BOB, bob) == ["Here I am."]
        assert (await stage.health())[0] == status, "it is said as long as anybody needs it"
        await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        assert [copy.body(seq)["after"] for seq in copy.seqs("life-began")[-2:]] == ["stop", "stop"]


async def test_a_damaged_text_of_the_owner_is_read_from_its_file(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        for kind in ("text", "texts"):
            for seq in copy.seqs(kind):
                copy.change(seq, body="null")
    await stage.wake()
    stage.model.say(reply("Here I am."))
    bob = await stage.say("bob", BOB, "Are you there?")
    assert await stage.answers(BOB, bob) == ["Here I am."]
    assert (await stage.health())[0] == 503


@pytest.mark.parametrize("kind", ["turn-resumed", "transition"])
async def test_a_half_turn_that_is_damaged_is_suspected_of_no_kill(stage: Stage, kind: str) -> None:
    never = asyncio.Event()
    for _ in range(2):
        stage.model.say(reply("Hello."), until=never, first=3)
    await stage.post("alice", ALICE, "Hello")
    await stage.passing(0, lambda: stage.pending("turn-began"))
    await stage.sleep()
    await stage.wake()
    await stage.passing(0, lambda: stage.entries("turn-resumed"))
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs(kind)[-1], body="null")
        copy.db.execute("delete from entry where seq = ?", [copy.seqs("life-ended")[-1]])  # as a kill would
    await stage.wake()
    stage.model.say(reply("Here I am."))
    bob = await stage.post("bob", BOB, "Are you there?")
    await stage.passing(1, lambda: [one for one in stage.entries("spoken") if one.event.text == "Here I am."])
    assert await stage.answers(BOB, bob) == ["Here I am."]


async def test_a_stop_is_heard_though_a_conversation_at_work_is_damaged(stage: Stage) -> None:
    never = asyncio.Event()
    for _ in range(2):
        stage.model.say(reply("Good morning to you."), until=never, first=60)
    await stage.post("alice", ALICE, "Good morning")
    await stage.passing(0, lambda: stage.pending("speech"))
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs("thread")[-1], body="null")
    await stage.wake()
    await stage.post("bob", BOB, "Good morning")
    await stage.passing(1, lambda: len(stage.pending("speech")) == 2)
    await stage.post("bob", BOB, "stop")
    await stage.passing(1, lambda: stage.entries("stop"))


@pytest.mark.parametrize("kind", ["thread", "spoken"])
async def test_who_was_asked_in_a_conversation_that_is_damaged_is_heard_elsewhere(
    stage: Stage, kind: str
) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs(kind)[-1], body="null")
    await stage.wake()
    stage.model.say(reply("Hello, Alice."))
    ts = await stage.post("alice", ALICE, "Hello")
    await stage.passing(1, lambda: stage.entries("turn-ended")[1:])
    assert await stage.answers(ALICE, ts) == ["Hello, Alice."]


async def test_what_is_missed_in_a_conversation_that_is_damaged_keeps_nothing_else_from_being_read(
    stage: Stage,
) -> None:
    root = await stage.say("alice", GENERAL, f"{ME} hello")
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs("thread")[-1], body="null")
    await stage.post("alice", GENERAL, "Are you there?", root)
    bob = await stage.post("bob", GENERAL, f"{ME} and you?")
    stage.model.say(reply("Hello, Bob."))
    lose(stage)
    await stage.wake()
    await stage.passing(1, lambda: stage.entries("turn-ended")[1:])
    assert await stage.answers(GENERAL, bob) == ["Hello, Bob."]
    assert not stage.soul.slack.catch_up.is_running


async def test_a_list_of_what_is_open_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    await lived(tmp_path)
    spoil(tmp_path / NAME, "pending_by_kind")
    status, said = await ended(await start(tmp_path))
    assert status == 74
    assert "The journal is damaged (database disk image is malformed)." in said
    assert "put a copy of the journal back, without the -wal and -shm of this one" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("table", ["pending", later("lease")])
@pytest.mark.parametrize("how", ["drop table", "delete from"])
async def test_a_projection_that_is_gone_is_made_anew(
    stage: Stage, caplog: pytest.LogCaptureFixture, table: str, how: str
) -> None:
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        began = copy.add("turn-began", "sess-0", {"execution": "sess-0@1"})
        copy.add("turn-ended", "sess-0", {"outcome": "completed"}, closes=[began])
        copy.add("waiting", "sess-0", {"due": 9e9})
        copy.db.execute(f"{how} {table}")
    await stage.wake()
    assert (await stage.health())[0] == 200
    await stage.sleep()
    assert f"table {table} was not what its entries say" in caplog.text
    with open_reader(stage.home / "journal.db", SOUL_KINDS) as journal:
        assert [one for one in verify_journal(journal).violations if one.rule in ("pending", "lease")] == []


async def test_a_journal_without_entries_or_of_another_version_is_not_touched(tmp_path: Path) -> None:
    await lived(tmp_path)
    for done, status, why in (
        ("pragma user_version = 7", 78, "It is of version 7, and this program reads version 4."),
        ("drop table entry", 74, "It has no table of entries."),
    ):
        with opened(tmp_path / NAME) as copy:
            copy.db.execute("pragma user_version = 4")
            copy.db.execute(done)
        before = (tmp_path / NAME).read_bytes()
        for command in ((), ("verify",)):
            got, said = await ended(await start(tmp_path, *command))
            assert (got, why in said, said.count("\n")) == (status, True, 1), said
        assert (tmp_path / NAME).read_bytes() == before


async def test_who_is_forgotten_may_have_a_conversation_whose_beginning_is_damaged(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs("thread")[0], body="null")
    await stage.wake()
    await forgotten(stage)
    assert len(stage.entries("forget-done")) == 1
