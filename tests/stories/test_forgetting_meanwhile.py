"""Forgetting during turns, waits and work outside the journal."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from config import Settings
from daemon.app.journal_commands import verify_journal
from daemon.app.wiring import clear_after_forgetting
from daemon.engine.event import Entry
from daemon.engine.journal.writer import WritableTables
from daemon.kinds import ButtonPress, ProgramStarted
from daemon.knowledge.forgetting import ForgottenContent
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.rehearsed import RehearsalServers
from tests.attention import CountedWriter
from tests.soak import SOAK
from tests.stories.choosing import press, pressed, questions
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply, staged
from tests.stories.test_deep_reading import READING, wanting
from tests.stories.test_forgetting import BEES, SECRETS, forgotten, lived, traces, until_told
from tests.stories.test_reading import cell, endings


@SOAK
async def test_a_turn_that_has_it_in_mind_may_end_first(stage: Stage) -> None:
    root = await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    held = asyncio.Event()
    stage.model.say(reply("She keeps beehives."), until=held)
    calls = len(stage.model.requests)
    await stage.post("bob", GENERAL, f"{ME} again?", root)
    await stage.until(lambda: len(stage.model.requests) > calls)
    [question] = questions(stage)
    await press(
        stage, "alice", ALICE, stage.soul.journal.entry(question.event.said[-1]).event.ts, "Forget it"
    )
    await stage.until(lambda: stage.pending("to-forget"))
    await stage.clock.advance(5)
    assert not stage.entries("forgotten")
    held.set()
    await until_told(stage)
    assert traces(stage, *SECRETS) == []
    assert [entry.event.outcome for entry in stage.entries("turn-ended")][-3:].count("completed") == 3
    assert not verify_journal(stage.soul.journal).violations


async def test_one_that_does_not_end_is_stopped_also_where_the_clock_is_set_back_meanwhile(
    stage: Stage,
) -> None:
    root = await lived(stage)
    await stopped_by_it(stage, root, ahead=-600)
    assert [entry.event.by for entry in stage.entries("stop")] == ["forgetting"]
    assert traces(stage, *SECRETS) == []
    assert not verify_journal(stage.soul.journal).violations


async def test_that_stop_is_dated_as_slack_would(stage: Stage) -> None:
    root = await lived(stage)
    await stopped_by_it(stage, root, ahead=86_400)
    before = await stage.answers(GENERAL, root)
    stage.world.faults.switch("answer-lost", method="chat.startStream", times=1)
    stage.model.say(reply("Hello, Bob."))
    await stage.say("bob", GENERAL, f"{ME} hello", root)
    assert await stage.answers(GENERAL, root) == [*before, "Hello, Bob."]


async def stopped_by_it(stage: Stage, root: str, ahead: float) -> None:
    await stage.say("alice", ALICE, "!forget me")
    stage.model.say(reply("She keeps beehives."), until=asyncio.Event())
    calls = len(stage.model.requests)
    await stage.post("bob", GENERAL, f"{ME} again?", root)
    await stage.until(lambda: len(stage.model.requests) > calls)
    await pressed_soon(stage)
    await stage.until(lambda: stage.pending("to-forget"))
    stage.clock.set_ahead(ahead)
    await stage.passing(5, lambda: stage.entries("forget-done"))
    await stage.settled()


@SOAK
async def test_a_reading_that_goes_on_is_stopped_before_it_quotes_them(stage: Stage) -> None:
    await stage.post("carol", GENERAL, "nothing of note " * 60)
    stage.model.say(reply("Fine."))
    await stage.say("alice", GENERAL, f"{ME} {BEES}")
    await stage.say("alice", ALICE, "!forget me")
    await stage.sleep()
    await stage.wake(rlm_threshold_tokens=0)
    stage.model.say(READING)
    stage.model.say(wanting("What is kept?", "channel", names=["#general"]))
    rounds = [asyncio.Event() for _ in range(8)]
    for number, ready in enumerate(rounds):
        stage.model.say(cell(f"print({number})"), until=ready)
    await stage.post("bob", BOB, "what is kept, by #general?")
    await stage.until(lambda: stage.entries("reading"))
    await pressed_soon(stage)
    await stage.until(lambda: stage.entries("erased"))
    for ready in rounds:
        await reads_on(stage, ready)
    assert endings(stage) == [("stopped", True)]
    await until_told(stage)
    assert traces(stage, *SECRETS) == []
    assert not verify_journal(stage.soul.journal).violations


async def reads_on(stage: Stage, ready: asyncio.Event) -> None:
    ran = len(stage.entries("cell-ran"))
    await stage.clock.advance(5)
    ready.set()
    await stage.until(lambda: len(stage.entries("cell-ran")) > ran or endings(stage))


class Late(CountedWriter):
    """Writer that commits while its blanking waits."""

    may = asyncio.Event()

    def run_job(self, do: Callable[[WritableTables], object]) -> asyncio.Future[int]:
        return asyncio.ensure_future(self._when_it_may(do))

    async def _when_it_may(self, do: Callable[[WritableTables], object]) -> int:
        await Late.may.wait()
        return await super().run_job(do)


async def test_one_that_begins_before_the_words_are_gone_is_waited_for(tmp_path: Path) -> None:
    Late.may = asyncio.Event()
    async with staged(tmp_path) as stage:
        stage.writer = Late
        await stage.wake()
        root = await lived(stage)
        await stage.say("alice", ALICE, "!forget me")
        await pressed_soon(stage)
        await stage.until(lambda: stage.entries("forgotten"))
        held = asyncio.Event()
        stage.model.say(reply("She keeps beehives."), until=held)
        calls = len(stage.model.requests)
        await stage.post("bob", GENERAL, f"{ME} again?", root)
        await stage.until(lambda: len(stage.model.requests) > calls)
        assert "beehives" in stage.asked()[-1]
        Late.may.set()
        await stage.until(lambda: stage.entries("erased"))
        await stage.clock.advance(5)
        assert not stage.entries("forget-done")
        held.set()
        await until_told(stage)
        await stage.settled()
        assert traces(stage, *SECRETS) == []
        assert not verify_journal(stage.soul.journal).violations


async def pressed_soon(stage: Stage) -> None:
    [question] = questions(stage)
    await press(
        stage, "alice", ALICE, stage.soul.journal.entry(question.event.said[-1]).event.ts, "Forget it"
    )


@SOAK
async def test_what_waits_on_it_is_let_go(stage: Stage) -> None:
    await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    [first] = questions(stage)
    await stage.say("alice", ALICE, "!forget me")
    [_, second] = questions(stage)
    said = [stage.soul.journal.entry(one.event.said[-1]).event.ts for one in (first, second)]
    await press(stage, "alice", ALICE, said[1], "Forget it")
    await stage.until(lambda: stage.entries("to-forget"))
    await until_told(stage)
    assert not questions(stage)
    await press(stage, "alice", ALICE, said[0], "Forget it")
    await stage.settled()
    assert len(stage.entries("to-forget")) == 1, "nobody goes on with it"
    assert not verify_journal(stage.soul.journal).violations


async def test_only_who_was_asked_may_confirm(stage: Stage) -> None:
    await lived(stage)
    await stage.say("alice", ALICE, "!forget me")
    [question] = questions(stage)
    given = ButtonPress(
        user="U0BOB000002",
        name="Bob",
        text="Forget it",
        ts="1790000999.000001",
        answers=question.key,
        value="forget",
    )
    await stage.soul.journal.append(question.thread, given, key="click:forged", author="U0BOB000002")
    stage.soul.worker.wake(question.thread)
    await stage.settled()
    assert not stage.entries("to-forget")
    assert questions(stage), "it still waits for Alice"
    await pressed(stage, "alice", "Keep it")


@SOAK
async def test_one_person_is_forgotten_twice_and_another_in_between(stage: Stage) -> None:
    await lived(stage)
    await forgotten(stage)
    stage.model.say(reply("A ferret!"))
    await stage.say("alice", ALICE, "I have a ferret called Rumpelstilz")
    await forgotten(stage, "bob", BOB)
    assert traces(stage, "catamaran") == []
    assert traces(stage, "Rumpelstilz"), "what she said since is hers"
    await forgotten(stage)
    assert traces(stage, "Rumpelstilz", "ferret") == []
    assert [entry.event.person for entry in stage.entries("forget-done")] == [
        "U0ALICE0001",
        "U0BOB000002",
        "U0ALICE0001",
    ]
    assert not verify_journal(stage.soul.journal).violations


def home_of(stage: Stage) -> Path:
    return stage.home.parent


def stored(stage: Stage, secret: str) -> bool:
    return any(secret.encode() in file.read_bytes() for file in home_of(stage).glob("rehearsal.db*"))


async def test_the_rehearsed_workspace_and_the_process_folders_are_cleared(
    stage: Stage, tmp_path: Path
) -> None:
    root = await lived(stage)
    folders = tmp_path / "var" / "rehearsal-processes"
    started = Entry(
        seq=9,
        thread="sess-inner",
        author="soul",
        key="sess-inner@8/start#1",
        cause=None,
        closes=(),
        at=1790000000.5,
        event=ProgramStarted(name="wc"),
    )
    work = folders / hashlib.sha256(b"sess-inner@8/start#1 1790000000.5").hexdigest()[:32]
    work.mkdir(parents=True)
    (work / "output").write_text(SECRETS[0])
    (folders / "another").mkdir()
    assert stored(stage, SECRETS[0])
    where = stage.soul.journal.get(f"thread:T0REHEARSAL:{GENERAL}:{root}")
    assert where
    spoken = [one for one in stage.entries("spoken") if one.thread == where.thread]
    gone = ForgottenContent(
        person=ALICE_HERSELF.id,
        all=True,
        until=stage.clock.now() + 60,
        started=[started],
        said=[(GENERAL, one.event.ts) for one in spoken],
    )
    settings: dict[str, Any] = {"soul_home": tmp_path / "var", "anthropic_api_key": "any"}
    rehearsed = RehearsalServers(clock=stage.clock, slack=tmp_path / "any", claude=False)
    for clear in clear_after_forgetting(Settings(**settings), rehearsed, stage.url):
        await clear(gone)
    assert [path.name for path in folders.iterdir()] == ["another"]
    await stage.settled()
    stage.world.workspace.db.execute("pragma wal_checkpoint(truncate)")
    assert not [secret for secret in SECRETS if stored(stage, secret)]
    assert stored(stage, "catamaran")
    thread = await stage.thread(GENERAL, root)
    assert ("Bob", f"{ME} what did she say?") in thread, "what others said stays in its place"
    async with ClientSession() as session:
        refused = await session.post(f"{stage.url}/rehearsal/forget", data=b"[]")
        assert refused.status == 400
