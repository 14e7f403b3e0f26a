"""What cannot be read, or not be begun, has an end that is seen: closed, told once, and nobody else waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.stories.stage import ALICE, PATIENCE, Stage

WRONG = "Something in me went wrong"


async def ended(stage: Stage) -> list[str]:
    """Time goes on until nothing is open; how the turns since ended."""
    async with asyncio.timeout(PATIENCE):
        while stage.soul.journal.open("perception", "turn-began") or stage.soul.waker.busy:
            await stage.clock.advance(1)
            stage.soul.waker.sweep()
    return [str(entry.body["outcome"]) for entry in stage.entries("turn-ended")][1:]


async def perceive(stage: Stage, ts: str, body: Mapping[str, Any]) -> None:
    thread = stage.entries("thread")[-1].thread
    key = f"odd:{len(stage.entries())}"
    await stage.soul.journal.append(thread, "perception", body, key=key, author="U0ALICE0001")
    stage.soul.waker.wake(thread)


@pytest.mark.parametrize(
    "body",
    [
        {"rank": "whatever", "text": "Hm", "name": "Alice", "address": "dm", "ts": "1.0"},
        {"rank": ["message"], "text": "Hm"},
        {"text": "Hm", "ts": "1.0"},
        {"rank": "answer", "value": "yes"},
        {"rank": "after"},
        {"rank": "stop"},
        {"carries": 7},
        {},
    ],
)
async def test_a_perception_that_nobody_can_read_is_closed_once(
    stage: Stage, thread: str, body: Mapping[str, Any]
) -> None:
    await perceive(stage, thread, body)
    assert await ended(stage) == ["failed"]
    assert not stage.entries("unbegun", "failure")
    assert [text[: len(WRONG)] for text in (await stage.answers(ALICE, thread))[1:]] == [WRONG]
    await stage.say("alice", ALICE, "And you?", thread)
    assert len(await stage.answers(ALICE, thread)) == 3, "the thread goes on"


async def test_what_was_said_beside_it_is_answered(stage: Stage, thread: str) -> None:
    await stage.post("alice", ALICE, "And you?", thread)
    await stage.until(lambda: stage.soul.journal.open("perception"))
    await perceive(stage, thread, {"rank": "whatever"})
    assert sorted(await ended(stage)) == ["ended", "failed"]


async def test_a_turn_that_cannot_be_loaded_is_given_up_after_three_attempts(
    stage: Stage, thread: str
) -> None:
    """It carries what is not there."""
    await perceive(stage, thread, {"carries": [10**9]})
    assert await ended(stage) == ["failed"]
    assert len(stage.entries("failure")) == 3
    assert [text[: len(WRONG)] for text in (await stage.answers(ALICE, thread))[1:]] == [WRONG]


async def test_a_turn_that_cannot_be_begun_is_given_up_after_three_tries(stage: Stage, thread: str) -> None:
    """The thread's past cannot be read: its last turn kept what is not there."""
    opened = stage.entries("thread")[-1].thread
    bad = {"outcome": "ended", "keep": [10**9], "process": "conversation", "params": {}}
    await stage.soul.journal.append(opened, "turn-ended", bad, key="bad/ended", cause=1)
    await stage.post("alice", ALICE, "And you?", thread)
    await stage.until(lambda: stage.soul.journal.open("perception"))
    assert (await ended(stage))[1:] == ["failed"]
    assert len(stage.entries("unbegun")) == 3
    assert [text[: len(WRONG)] for text in (await stage.answers(ALICE, thread))[1:]] == [WRONG]
