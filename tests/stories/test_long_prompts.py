"""Long conversations: a prefix is named once, and each call stays small."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.event import Entry
from daemon.engine.journal.writer import PendingAppend, Result
from daemon.turn.long_prompts import ENTRIES_PER_CHUNK
from rehearsal.people import BOB as BOB_HIMSELF
from tests.app.forgery import opened
from tests.attention import CountedWriter
from tests.soak import SOAK
from tests.stories.choosing import pressed
from tests.stories.copying import Copying
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged

BOB = f"<@{BOB_HIMSELF.id}>"
LONG = 2 * ENTRIES_PER_CHUNK
ANSWER = "About {}: yes."
SECRET = "I keep forty beehives in Zinnwald"


async def said_around(stage: Stage, root: str, times: int, secret: str = "") -> None:
    before = len(stage.entries("heard"))
    for number in range(times):
        await stage.post("carol", GENERAL, f"{BOB} number {before + number}.", root)
    if secret:
        await stage.post("alice", GENERAL, f"{BOB} {secret}", root)
    await stage.until(lambda: len(stage.entries("heard")) == before + times + bool(secret))


async def asked(stage: Stage, text: str, root: str | None = None) -> tuple[str, Entry[Any]]:
    stage.model.say(reply(ANSWER.format(text)))
    ts = await stage.say("bob", GENERAL, f"{ME} {text}", root)
    return ts, stage.entries("model-call")[-1]


async def shown(stage: Stage, call: Entry[Any]) -> dict[str, Any]:
    async with stage.session.get(f"{stage.soul.url}/console/calls/{call.seq}") as answer:
        told: dict[str, Any] = await answer.json()
    return told


async def test_each_call_of_a_long_thread_is_small_and_shows_all_that_the_model_saw(stage: Stage) -> None:
    root, first = await asked(stage, "the first thing")
    await said_around(stage, root, LONG)
    assert not stage.entries("stretch")
    for number in range(3):
        _, call = await asked(stage, f"thing {number}", root)
        sent = stage.seen()
        assert "number 0." in str(sent)
        told = await shown(stage, call)
        assert (told["agrees"], told["request"]) == (True, sent)
        assert len(call.event.seqs) < len(first.event.seqs) + ENTRIES_PER_CHUNK
        assert list(call.event.stretches) == [entry.seq for entry in stage.entries("stretch")]
    assert [len(entry.event.seqs) for entry in stage.entries("stretch")] == [
        ENTRIES_PER_CHUNK,
        ENTRIES_PER_CHUNK,
    ]
    await said_around(stage, root, ENTRIES_PER_CHUNK)
    await stage.sleep()
    await stage.wake()
    _, call = await asked(stage, "the last thing", root)
    assert (await shown(stage, call))["agrees"]
    assert list(call.event.stretches) == [entry.seq for entry in stage.entries("stretch")]
    assert len(call.event.stretches) == 3
    assert not verify_journal(stage.soul.journal).violations


async def test_what_stands_in_a_stretch_is_forgotten_with_the_calls_that_saw_it_and_no_others(
    stage: Stage,
) -> None:
    root, _ = await asked(stage, "the first thing")
    await said_around(stage, root, LONG)
    _, before = await asked(stage, "what was there before", root)
    await said_around(stage, root, ENTRIES_PER_CHUNK, SECRET)
    _, saw = await asked(stage, "what she said", root)
    await said_around(stage, root, ENTRIES_PER_CHUNK)
    _, later = await asked(stage, "what else", root)
    place = stage.entries("heard")[LONG + ENTRIES_PER_CHUNK].seq
    assert place in stage.soul.journal.entry(saw.event.stretches[-1]).event.seqs or place in saw.event.seqs
    assert place not in later.event.seqs, "it stands in a stretch alone"
    await stage.say("alice", ALICE, "!forget me")
    await pressed(stage, "alice", "Forget it")
    await stage.until(lambda: stage.entries("forget-done") and not stage.pending("to-forget", "forgotten"))
    await stage.settled()
    texts = [stage.soul.journal.entry(call.seq).event.text for call in (before, saw, later)]
    assert [bool(text) for text in texts] == [True, False, False]
    assert (await shown(stage, before))["agrees"]
    _, again = await asked(stage, "are you there", root)
    assert "beehives" not in stage.asked()[-1]
    assert "number 0." in stage.asked()[-1]
    assert (await shown(stage, again))["agrees"]
    kept = [seq for seq in again.event.stretches if seq in before.event.stretches]
    assert kept == list(before.event.stretches), "what it was not in is named as before"
    assert not verify_journal(stage.soul.journal).violations


@SOAK
async def test_what_is_asked_once_in_a_conversation_of_a_dm_needs_no_stretch(stage: Stage) -> None:
    for number in range(ENTRIES_PER_CHUNK // 2 + 1):
        stage.model.say(reply(ANSWER.format(number)))
        ts = await stage.say("alice", ALICE, f"question {number}?")
    assert len(stage.entries("model-call")[-1].event.seqs) > ENTRIES_PER_CHUNK
    assert not stage.entries("stretch")
    stage.model.say(reply(ANSWER.format("that")))
    await stage.say("alice", ALICE, "Are you sure?", ts)
    call = stage.entries("model-call")[-1]
    [stretch] = stage.entries("stretch")
    assert call.event.stretches == (stretch.seq,)
    assert (await shown(stage, call))["agrees"]
    assert not verify_journal(stage.soul.journal).violations


@SOAK
async def test_where_a_stretch_is_damaged_its_entries_are_named_one_by_one(stage: Stage) -> None:
    root, _ = await asked(stage, "the first thing")
    await said_around(stage, root, LONG)
    await asked(stage, "all of it", root)
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(copy.seqs("stretch")[0], body="{")
    await stage.wake()
    _, call = await asked(stage, "all of it again", root)
    assert (call.event.stretches, len(call.event.seqs) > LONG) == ((), True)
    assert (await shown(stage, call))["agrees"]
    assert len(stage.model.requests) == 3, "what was paid for is not asked once more"


class AroundStretches(Copying):
    """Writer that copies the journal around each stretch and after later calls."""

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        kinds = {append.row.kind for append in batch}
        if "stretch" in kinds:
            self.copy()
        results = super().commit(batch)
        if "stretch" in kinds or ("model-call" in kinds and self.copies):
            self.copy()
        return results


@pytest.fixture
async def dying(tmp_path: Path) -> AsyncIterator[Stage]:
    AroundStretches.copies = []
    async with staged(tmp_path) as stage:
        stage.writer = AroundStretches
        await stage.wake()
        yield stage


async def test_a_kill_around_a_stretch_leaves_nothing_double_and_nothing_lost(dying: Stage) -> None:
    root, _ = await asked(dying, "the first thing")
    await said_around(dying, root, LONG)
    await asked(dying, "all of it", root)
    await dying.sleep()
    copies, dying.writer = AroundStretches.copies, CountedWriter
    assert len(copies) == 5, "before and after each of two stretches, and after the call"
    for copy in copies:
        dying.home = copy
        dying.model.say(reply(ANSWER.format("all of it")))
        await dying.wake()
        await dying.settled()
        assert [len(entry.event.seqs) for entry in dying.entries("stretch")] == [
            ENTRIES_PER_CHUNK,
            ENTRIES_PER_CHUNK,
        ]
        call = dying.entries("model-call")[-1]
        assert list(call.event.stretches) == [entry.seq for entry in dying.entries("stretch")]
        assert (await shown(dying, call))["agrees"]
        there = await dying.client("bob").conversations_replies(channel=GENERAL, ts=root, limit=1000)
        assert [one["text"] for one in there["messages"]].count(ANSWER.format("all of it")) == 1
        assert not verify_journal(dying.soul.journal).violations
        assert not dying.undone()
        await dying.sleep()
