"""A process is changed while one of its turns is half done: what that had begun is brought to an end."""

from __future__ import annotations

import asyncio

import pytest

from daemon.memory import WorkingMemory
from daemon.process import Process, Transition, Turn
from daemon.processes import INITIAL
from daemon.rules import verify
from tests.stories.stage import ALICE, Stage


def deleting(what: str, reached: asyncio.Event, goes_on: bool) -> Process:
    """A process that deletes this, or stands still in the middle of it, and says what it remembers."""

    async def delete() -> str:
        reached.set()
        if not goes_on:
            await asyncio.Event().wait()
        return f"{what} is gone"

    async def process(turn: Turn) -> WorkingMemory:
        log = [memory.content for memory in turn.memory.conversation[1:]]
        done = await turn.effect("Delete", {"what": what}, delete, repeatable=False)
        await turn.say("\n".join([*log, done.event.text]))
        return turn.memory

    return process


async def test_of_what_was_begun_in_the_world_it_is_said_that_nobody_knows(stage: Stage) -> None:
    await stage.sleep()
    reached = asyncio.Event()
    stage.processes = {INITIAL: deleting("X", reached, goes_on=False)}
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Delete it, please.")
    await reached.wait()
    await stage.sleep()
    stage.processes = {INITIAL: deleting("Y", reached, goes_on=True)}
    await stage.wake()
    await stage.settled()
    [said] = await stage.answers(ALICE, ts)
    assert "Delete: outcome unknown" in said
    assert said.endswith("Y is gone")
    assert [entry.event.why for entry in stage.entries("restarted")]
    assert verify(stage.soul.journal).violations == []


async def test_a_process_that_there_is_not_is_named_in_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def process(turn: Turn) -> Transition:
        await turn.say("Here.")
        return Transition(to="conversatoin", memory=turn.memory)

    await stage.sleep()
    stage.processes = {INITIAL: process}
    await stage.wake()
    ts = await stage.say("alice", ALICE, "Hello")
    [said] = [one for one in caplog.messages if "conversatoin" in one]
    assert "there is none of that name: it goes on in conversation. There are conversation" in said
    await stage.say("alice", ALICE, "And now?", ts)
    assert await stage.answers(ALICE, ts) == ["Here.", "Here."]
