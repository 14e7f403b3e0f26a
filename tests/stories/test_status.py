"""What Slack shows of the soul's work, and that at rest no thread anywhere shows any: over the real wire."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from daemon.memory import WorkingMemory
from daemon.ports import Choice
from daemon.process import Question, Turn
from daemon.processes import PROCESSES
from tests.stories.process import ended, into, running, visit
from tests.stories.stage import ALICE, PATIENCE, Stage, reply

SESSION = "agents.sessions.setStatus"


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
async def test_ended_in_the_middle_of_an_answer_nothing_stays_at_work(
    tmp_path: Path, blow: signal.Signals
) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, world), visit(world) as alice:
        async with running(tmp_path / "soul", **into(world)) as (process, _):
            await alice.cue(reply("Too slow to be read."), delay=60)
            ts = await alice.say("Hello?")
            async with asyncio.timeout(PATIENCE):
                while len(await alice.working()) < 2 or not await alice.asked():
                    pass
            process.send_signal(blow)
            if blow == signal.SIGTERM:
                assert await ended(process) == (0, "")
                assert await alice.working() == [], "it takes away what it has shown"
            else:
                await process.wait()
                assert await alice.working() == [ts, ts]
        async with running(tmp_path / "soul", **into(world)), asyncio.timeout(PATIENCE):
            while not await alice.answers(ts) or await alice.working():
                pass
        assert len(await alice.answers(ts)) == 1


async def test_killed_when_the_answer_stood_its_sign_is_taken_away_by_the_next_life(tmp_path: Path) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, world), visit(world) as alice:
        async with running(tmp_path / "soul", **into(world)) as (process, _):
            await alice.cue(reply("Hi, Alice."), delay=3)
            ts = await alice.say("Hello?")
            async with asyncio.timeout(PATIENCE):
                while len(await alice.working()) < 2:  # the words, and the session's own sign
                    pass
            await alice.switch("broken", method=SESSION)
            async with asyncio.timeout(PATIENCE):
                while not await alice.answers(ts):
                    pass
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert await alice.working(), "nobody could take it away"
        await alice.switch("broken", method="none.such")
        async with running(tmp_path / "soul", **into(world)), asyncio.timeout(PATIENCE):
            while await alice.working():
                pass
        assert len(await alice.answers(ts)) == 1


FAULTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "429": ("rate-limit", {"seconds": 5.0}),
    "500": ("broken", {"answer": "500"}),
    "reset": ("broken", {"answer": "none"}),
    "answer lost": ("answer-lost", {}),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_slack_does_not_take_it_it_is_told_until_it_does(stage: Stage, fault: str) -> None:
    held = asyncio.Event()
    stage.model.say(reply("Hi, Alice."), until=held)
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: working(stage) == 2)
    name, how = FAULTS[fault]
    stage.world.faults.switch(name, True, method="a*.setStatus", **how)
    held.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hi, Alice."]
    assert fault == "answer lost" or working(stage)
    await passing(stage, 120)
    assert fault == "answer lost" or working(stage)
    stage.world.faults.all_off()
    await passing(stage, 60)
    assert working(stage) == 0


async def test_while_a_question_waits_nobody_is_at_work(stage: Stage) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": asks}
    await stage.wake()
    ts = await stage.say("alice", ALICE, "May I?")
    assert len(await stage.answers(ALICE, ts)) == 1
    assert working(stage) == 0


async def test_a_turn_that_fails_shows_nothing_while_it_waits_and_nothing_in_the_end(stage: Stage) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": fails}
    await stage.wake()
    await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: stage.entries("failure"))
    await stage.until(lambda: not stage.soul.slack.speaker.busy)
    assert working(stage) == 0
    await stage.passing(5, lambda: stage.entries("turn-ended"))
    assert [entry.body["outcome"] for entry in stage.entries("turn-ended")] == ["failed"]
    await stage.until(lambda: not stage.soul.slack.speaker.busy)
    assert working(stage) == 0


async def test_while_claude_is_away_nobody_is_at_work(stage: Stage) -> None:
    stage.model.faults.switch("overloaded")
    await stage.post("alice", ALICE, "Hello?")
    async with asyncio.timeout(PATIENCE):
        while not stage.entries("watch"):
            await stage.clock.advance(0.1)
    await stage.settled()
    assert working(stage) == 0


async def test_no_turn_waits_until_slack_has_taken_a_status(stage: Stage) -> None:
    for method in (SESSION, "assistant.threads.setStatus"):
        stage.wire.held[method] = asyncio.Event()
    stage.model.say(reply("Hi, Alice."))
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: stage.entries("turn-ended"))
    assert await stage.answers(ALICE, ts) == ["Hi, Alice."]
    for held in stage.wire.held.values():
        held.set()
    await stage.settled()
    assert working(stage) == 0


def working(stage: Stage) -> int:
    """How many signs of work stand in Slack."""
    statuses = stage.world.workspace.statuses
    return len(statuses.sessions()) + len(statuses.all())


async def passing(stage: Stage, seconds: int) -> None:
    """So much time goes by, and Slack answers what it is asked meanwhile."""
    for _ in range(30):
        await stage.clock.advance(seconds / 30)
        stage.soul.waker.sweep()
        await stage.until(lambda: not stage.soul.slack.speaker.busy)


async def asks(turn: Turn) -> WorkingMemory:
    """It shows something, and asks."""
    turn.show("is wondering…")
    yes = Choice(label="Yes", value="yes")
    await turn.ask("may", Question(text="May I?", to=(turn.answers[0].author,), choices=(yes,)))
    return turn.memory


async def fails(turn: Turn) -> WorkingMemory:
    """It shows something, and fails."""
    turn.show("is failing…")
    raise RuntimeError("always")
