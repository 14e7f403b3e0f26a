"""Threads that rest after a failure: stops and messages still work."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise

import pytest

from daemon.engine.exceptions import JournalError
from daemon.memory import WorkingMemory
from daemon.process import Turn
from daemon.turn.model_calls import call_model
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from tests.soak import SOAK
from tests.stories.stage import ALICE, PATIENCE, Stage

POISON = "poison"


async def conversation(turn: Turn) -> WorkingMemory:
    await call_model(turn, "think", turn.memory, "fast")
    if any(POISON in entry.event.text for entry in turn.answers):
        raise LookupError(POISON)
    return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Well.")))


@pytest.fixture(name="failing")
async def _failing(stage: Stage) -> str:
    await stage.sleep()
    stage.processes = {"conversation": conversation}
    await stage.wake()
    ts = await stage.post("alice", ALICE, POISON)
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.until(lambda: not stage.soul.worker.is_busy)
    return ts


async def test_a_turn_that_rests_holds_nothing(stage: Stage, failing: str) -> None:
    assert stage.pending("turn-began")
    await stage.clock.advance(1.9)
    assert len(stage.entries("attempt-failed")) == 1
    await stage.clock.advance(0.2)
    await stage.until(lambda: len(stage.entries("attempt-failed")) == 2)


async def test_a_stop_ends_it_at_once_and_nothing_of_it_runs_again(stage: Stage, failing: str) -> None:
    asked = len(stage.model.requests)
    await stage.post("alice", ALICE, "stop", failing)
    await stage.settled()
    assert [e.event.outcome for e in stage.entries("turn-ended")] == ["stopped"]
    assert len(stage.entries("attempt-failed")) == 1
    assert len(stage.model.requests) == asked
    assert await stage.answers(ALICE, failing) == ["Stopped."]
    await stage.say("alice", ALICE, "Hello again", failing)
    assert await stage.answers(ALICE, failing) == ["Stopped.", "Well."]


async def test_a_message_is_heard_at_once_and_a_flood_hammers_nothing(stage: Stage, failing: str) -> None:
    began = stage.clock.now()
    await stage.post("alice", ALICE, "Are you there?", failing)
    await stage.until(lambda: len(stage.entries("attempt-failed")) == 2)
    assert stage.clock.now() == began, "the first one is not kept waiting"
    for number in range(8):
        await stage.post("alice", ALICE, f"Hello? {number}", failing)
        await stage.clock.advance(0.1)
    assert len(stage.entries("attempt-failed")) == 2
    async with asyncio.timeout(PATIENCE):
        while len(await stage.answers(ALICE, failing)) < 2:
            await stage.clock.advance(1)
    await stage.settled()
    apology, answer = await stage.answers(ALICE, failing)
    assert apology.startswith("Something in me went wrong")
    assert answer == "Well.", "all that was said meanwhile is answered together"
    assert not stage.pending("input")


@SOAK
async def test_what_is_said_cuts_no_two_pauses_in_a_row(stage: Stage, failing: str) -> None:
    for number in range(60):
        await stage.post("alice", ALICE, "Hello?", failing)
        await stage.until(partial(_came, stage, number + 2))
        await stage.clock.advance(0.1)
    failed = [entry.at for entry in stage.entries("attempt-failed")]
    waited = [after - before for before, after in pairwise(failed)]
    assert waited[0] < 1
    assert waited[1] >= 4, waited


def _came(stage: Stage, count: int) -> bool:
    return len(stage.entries("input")) == count


async def test_what_the_disk_ended_counts_against_nobody_after_a_restart_neither(stage: Stage) -> None:
    full = True

    async def conversation(turn: Turn) -> WorkingMemory:
        if full:
            raise JournalError("the disk is full")
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Well.")))

    await stage.sleep()
    stage.processes = {"conversation": conversation}
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Hello")
    async with asyncio.timeout(PATIENCE):
        while len(stage.entries("turn-resumed")) < 8:
            await stage.soul.worker.sweep()
            await stage.clock.advance(1)
    await stage.sleep()
    full = False
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Well."]


async def test_a_clock_that_was_set_back_keeps_nobody_waiting(stage: Stage, failing: str) -> None:
    [failed] = stage.entries("attempt-failed")
    stage.clock._now = failed.at - 86_400
    await stage.soul.worker.sweep()
    await stage.until(lambda: len(stage.entries("attempt-failed")) == 2)


async def test_where_slack_does_not_take_its_last_words_it_ends_without(stage: Stage, failing: str) -> None:
    await stage.client("alice").chat_delete(channel=ALICE, ts=failing)
    await stage.passing(1, lambda: stage.entries("turn-ended"))
    assert [entry.event.outcome for entry in stage.entries("turn-ended")] == ["abandoned"]
    errors = [entry.event.error for entry in stage.entries("attempt-failed")]
    assert errors == ["LookupError"] * 3 + ["SpeechRefused"] * 2, "it was not told otherwise the second time"
