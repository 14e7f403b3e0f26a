"""Changed or missing process with turns in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.kinds import BackgroundTask
from daemon.memory import WorkingMemory
from daemon.ports import Button
from daemon.process import MentalProcess, Question, Transition, Turn
from daemon.turn.branches import send_to_self
from daemon.turn.input_policy import INITIAL_PROCESS
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.soak import later
from tests.stories.choosing import pressed, shown, turning, whispers
from tests.stories.stage import ALICE, Stage, reply


def deleting(what: str, reached: asyncio.Event, goes_on: bool) -> Process:
    async def delete() -> str:
        reached.set()
        if not goes_on:
            await asyncio.Event().wait()
        return f"{what} is gone"

    async def process(turn: Turn) -> WorkingMemory:
        log = [memory.content for memory in turn.memory.conversation[1:]]
        done = await turn.effect("Delete", {"what": what}, delete, repeatable=False)
        await say(turn, "\n".join([*log, done.event.text]))
        return turn.memory

    return process


async def test_of_what_was_begun_in_the_world_it_is_said_that_nobody_knows(stage: Stage) -> None:
    await stage.sleep()
    reached = asyncio.Event()
    stage.processes = {INITIAL_PROCESS: deleting("X", reached, goes_on=False)}
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Delete it, please.")
    await reached.wait()
    await stage.sleep()
    stage.processes = {INITIAL_PROCESS: deleting("Y", reached, goes_on=True)}
    await stage.wake()
    await stage.settled()
    [said] = await stage.answers(ALICE, ts)
    assert "Delete: outcome unknown" in said
    assert said.endswith("Y is gone")
    assert [entry.event.why for entry in stage.entries("restarted")]
    assert verify_journal(stage.soul.journal).violations == []


async def test_a_process_that_there_is_not_is_named_in_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def process(turn: Turn) -> Transition:
        await say(turn, "Here.")
        return Transition(to="conversatoin", memory=turn.memory)

    await stage.sleep()
    stage.processes = {INITIAL_PROCESS: process}
    await stage.wake()
    ts = await stage.say("alice", ALICE, "Hello")
    [said] = [one for one in caplog.messages if "conversatoin" in one]
    assert "which does not exist: the thread goes on in conversation. There are conversation" in said
    await stage.say("alice", ALICE, "And now?", ts)
    assert await stage.answers(ALICE, ts) == ["Here.", "Here."]


# Deleted or renamed files


async def going_on(stage: Stage, travel: Process | None = None) -> None:
    await stage.sleep()
    stage.processes = PROCESSES
    if travel:
        named = MentalProcess(name="travel", run=travel, when="they want to go somewhere.")
        stage.processes = {**PROCESSES, "travel": named}
    await stage.wake()


async def travelled(stage: Stage, travel: Process) -> str:
    await going_on(stage, travel)
    stage.model.say(turning("Off!", "travel"))
    ts = await stage.say("alice", ALICE, "I want to get away from here")
    await stage.post("alice", ALICE, "So what do you think?", ts)
    await stage.until(lambda: stage.entries("turn-ended")[1:])
    await going_on(stage)
    assert (await stage.answers(ALICE, ts))[1:] == ["Where to?"]
    return ts


async def test_a_thread_whose_process_is_gone_goes_on_in_the_initial_one(stage: Stage) -> None:
    async def travel(turn: Turn) -> WorkingMemory:
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Where to?")))

    ts = await travelled(stage, travel)
    stage.model.say(reply("Oslo is cold."))
    await stage.say("alice", ALICE, "To Oslo", ts)
    assert (await stage.answers(ALICE, ts))[2:] == ["Oslo is cold."]
    assert "Where to?" in str(stage.prompt()), "it knows what was said there"
    await going_on(stage, travel)
    stage.model.say(reply("You are welcome."))
    await stage.say("alice", ALICE, "Thank you", ts)
    assert (await stage.answers(ALICE, ts))[3:] == ["You are welcome."], "it is out of there for good"
    assert not stage.entries("attempt-failed", "restarted")
    assert verify_journal(stage.soul.journal).violations == []


async def test_an_afterthought_of_a_process_that_is_gone_is_let_go(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def travel(turn: Turn) -> WorkingMemory:
        if not turn.answers:
            await asyncio.Event().wait()
        await send_to_self(turn, "later", BackgroundTask(process="travel"))
        return turn.memory.with_memory(*map(entry_as_memory, await say(turn, "Where to?")))

    ts = await travelled(stage, travel)
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[1:] == ["Where to?"], "nobody speaks in its place"
    assert [entry.event.outcome for entry in stage.entries("turn-ended")][-1] == "completed"
    assert "Dropped a background task: the process travel does not exist any more." in caplog.messages
    assert not stage.pending("input", "turn-began")


@pytest.mark.parametrize("how", ["words", "button", later("go on")])
async def test_what_waits_in_a_process_that_is_gone_begins_again_in_the_initial_one(
    stage: Stage, how: str
) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "words": {},
        "button": {"choices": (Button(label="Away", value="away"),)},
        "go on": {"resumes": True},
    }

    async def travel(turn: Turn) -> WorkingMemory:
        answered = await ask(turn, "where", Question(text="Where to?", to=turn.people, **kinds[how]))
        await say(turn, f"Off to {answered.value}.")
        return turn.memory

    ts = await travelled(stage, travel)
    stage.model.say(reply("I am still here."))
    if how == "button":
        await pressed(stage, "alice", "Away")
    else:
        await stage.say("alice", ALICE, "go on" if how == "go on" else "To Oslo", ts)
    assert not any(buttons for _, buttons in await shown(stage, ALICE, ts))
    assert (await stage.answers(ALICE, ts))[2:] == ["I am still here."]
    assert "said: Where to?" in str(stage.prompt()), "its log"
    assert len(whispers(stage)) == (how == "button"), "that press counts for nothing"
    assert len(stage.entries("restarted")) == 1
    assert not stage.pending("asked", "input", "turn-began")
    assert not stage.entries("attempt-failed", "answered")
    assert verify_journal(stage.soul.journal).violations == []
