"""Status in Slack, cleared at rest."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.ports import Button
from daemon.process import Question, Turn
from daemon.slack.status import MOMENT
from daemon.turn.questions import ask
from daemon.turn.speech import show_status
from tests.attention import until
from tests.soak import SOAK, later
from tests.stories.process import around, ended, into, running
from tests.stories.stage import ALICE, PATIENCE, Stage, reply

SESSION = "agents.sessions.setStatus"


@SOAK
@pytest.mark.parametrize("blow", [signal.SIGKILL, later(signal.SIGTERM)])  # ten seconds for a last message
async def test_ended_in_the_middle_of_an_answer_nothing_stays_at_work(
    tmp_path: Path, blow: signal.Signals
) -> None:
    async with around(tmp_path) as place:
        async with running(tmp_path / "soul", **into(place.url)) as (process, _):
            place.model.say(reply("Too slow to be read."), until=asyncio.Event())
            ts = await place.say("Hello?")
            await until(lambda: len(place.working) == 2 and place.model.requests)
            process.send_signal(blow)
            if blow == signal.SIGTERM:
                assert await ended(process) == (0, "")
                assert place.working == [], "it takes away what it has shown"
            else:
                await process.wait()
                assert place.working == [ts, ts]
        async with running(tmp_path / "soul", **into(place.url)):
            await until(lambda: place.answers(ts) and not place.working)
        assert len(place.answers(ts)) == 1


@SOAK
async def test_told_to_stop_before_it_has_answered_it_takes_away_what_it_has_shown(stage: Stage) -> None:
    stage.model.say(reply("Too slow to be read."), until=asyncio.Event())
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.passing(MOMENT, lambda: working(stage) == 2)
    await stage.sleep()
    assert working(stage) == 0
    await stage.wake()
    await stage.settled()
    assert (len(await stage.answers(ALICE, ts)), working(stage)) == (1, 0)


@SOAK
async def test_killed_when_the_answer_stood_its_sign_is_taken_away_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with around(tmp_path) as place:
        async with running(tmp_path / "soul", **into(place.url)) as (process, _):
            held = asyncio.Event()
            place.model.say(reply("Hi, Alice."), until=held)
            ts = await place.say("Hello?")
            await until(lambda: len(place.working) == 2)  # text and session status
            place.world.faults.switch("broken", True, method=SESSION)
            held.set()
            await until(lambda: place.answers(ts))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert place.working, "nobody could take it away"
        place.world.faults.switch("broken", False)
        async with running(tmp_path / "soul", **into(place.url)):
            await until(lambda: not place.working)
        assert len(place.answers(ts)) == 1


FAULTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "429": ("rate-limit", {"seconds": 5.0}),
    "500": ("broken", {"answer": "500"}),
    "reset": ("broken", {"answer": "none"}),
    "answer lost": ("answer-lost", {}),
}


@pytest.mark.parametrize("fault", [name if name == "500" else later(name) for name in FAULTS])
async def test_where_slack_does_not_take_it_it_is_told_until_it_does(stage: Stage, fault: str) -> None:
    held = asyncio.Event()
    stage.model.say(reply("Hi, Alice."), until=held)
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.passing(MOMENT, lambda: working(stage) == 2)
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
    await passing(stage, 1)  # a pending status would show by now
    assert len(await stage.answers(ALICE, ts)) == 1
    assert working(stage) == 0


async def test_a_turn_that_fails_shows_nothing_while_it_waits_and_nothing_in_the_end(stage: Stage) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": fails}
    await stage.wake()
    await stage.post("alice", ALICE, "Hello?")
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.until(lambda: not stage.soul.slack.speaker.busy)
    assert working(stage) == 0
    await stage.passing(5, lambda: stage.entries("turn-ended"))
    assert [entry.event.outcome for entry in stage.entries("turn-ended")] == ["failed"]
    await stage.until(lambda: not stage.soul.slack.speaker.busy)
    assert working(stage) == 0


async def test_while_claude_is_away_nobody_is_at_work(stage: Stage) -> None:
    stage.model.faults.switch("overloaded")
    await stage.post("alice", ALICE, "Hello?")
    async with asyncio.timeout(PATIENCE):
        while not stage.entries("waiting", "outage"):
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
    statuses = stage.world.workspace.statuses
    return len(statuses.sessions()) + len(statuses.all())


async def passing(stage: Stage, seconds: int) -> None:
    for _ in range(30):
        await stage.clock.advance(seconds / 30)
        await stage.soul.worker.sweep()
        await stage.until(lambda: not stage.soul.slack.speaker.busy)


async def asks(turn: Turn) -> WorkingMemory:
    show_status(turn, "is wondering…")
    yes = Button(label="Yes", value="yes")
    await ask(turn, "may", Question(text="May I?", to=(turn.answers[0].author,), choices=(yes,)))
    return turn.memory


async def fails(turn: Turn) -> WorkingMemory:
    show_status(turn, "is failing…")
    raise RuntimeError("always")
