"""What comes while a run goes on: a stop, more context, something new; before a choice, an act, an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from daemon.actions.interrupts import SET_ASIDE
from daemon.rehearsal.people import CAROL
from tests.stories.choosing import (
    ASKED,
    ON_IT,
    answers,
    calls,
    choice,
    deciding,
    ended,
    looking,
    outcomes,
    questions,
    stop_button,
    told,
    turning,
)
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

DONE = "It is the new timetable."
STOPPED = "Stopped."
PARKED = "I'll set the other thing aside for a moment."
MORE = "by the way, it is the night ferry"
NEW = "what is the capital of Norway?"
OSLO = "Oslo."
STATUS = "assistant.threads.setStatus"
PROMPTLY = 0.3
"""Real seconds within which a stop has closed the connection to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where in a run something comes: what the model says before it, what is held back, and what it says then.

    It stands before speaking when it has chosen that, and Slack is slow to show that it is about to.
    """

    before: tuple[str, ...]
    held: str
    after: tuple[str, ...] = ()


POINTS = {
    "before a choice": Point(before=(choice("Think"),), held="A thought.", after=(choice("Respond"),)),
    "before an action": Point(
        before=(choice("Think", looking()),), held="A thought.", after=(choice("Respond"),)
    ),
    "before speaking": Point(before=(choice("Think"), "A thought."), held=choice("Respond")),
}
points = pytest.mark.parametrize("point", POINTS.values(), ids=POINTS.keys())


@asynccontextmanager
async def amid(stage: Stage, point: Point, channel: str = ALICE) -> AsyncIterator[str]:
    """While inside, a run stands at this point; the ts of what it answers."""
    held = asyncio.Event()
    answers(stage, turning(), *point.before)
    stage.model.say(point.held, until=held)
    asked = ASKED if channel == ALICE else f"{ME} {ASKED}"
    ts = await stage.post("alice", channel, asked)
    await stage.until(lambda: len(stage.model.requests) == len(point.before) + 2)
    if "Respond" in point.held:
        model, held = held, asyncio.Event()
        stage.wire.held[STATUS] = held
        model.set()
        await stage.until(lambda: "writing" in str(stage.wire.told(STATUS)[-1:]))
    yield ts
    held.set()
    stage.wire.held.clear()
    await stage.settled()


async def heard(stage: Stage, name: str, channel: str, text: str, root: str) -> None:
    """Someone says this, and the soul has heard it."""
    ts = await stage.post(name, channel, text, root)
    await stage.until(lambda: ts in [entry.body["ts"] for entry in stage.entries("perception")])


@points
async def test_a_stop(stage: Stage, point: Point) -> None:
    await deciding(stage)
    async with amid(stage, point) as ts:
        await heard(stage, "alice", ALICE, "Stop!", ts)
        before = len(stage.model.requests)
    assert await stage.answers(ALICE, ts) == [ON_IT, STOPPED]
    assert ended(stage) == ["interrupted"]
    assert len(stage.model.requests) == before, "nothing more was asked"
    assert outcomes(stage) == ["ended"], "the stop itself is answered with it"
    assert not stage.soul.journal.open("perception", "action", "speech")
    stage.model.say(reply("Here I am."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[2:] == ["Here I am."]
    assert "Stop!" in stage.asked()[-1]


@points
async def test_more_context(stage: Stage, point: Point) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "more"}', asks="a new matter that wants")
    async with amid(stage, point) as ts:
        answers(stage, *point.after, reply(DONE))
        await heard(stage, "alice", ALICE, MORE, ts)
        before = len(stage.model.requests)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert ended(stage) == ["finished"]
    judged, following = stage.asked()[before : before + 2]
    assert "a new matter that wants" in judged
    assert MORE in following, "it is in the run's next request"
    assert outcomes(stage) == ["ended"], "and has no turn of its own"
    assert MORE in stage.asked()[-1]
    assert len(stage.entries("observation")) == 0, "what was chosen before it is not done"


@points
async def test_something_new(stage: Stage, point: Point) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, point) as ts:
        answers(stage, reply(OSLO))
        await heard(stage, "alice", ALICE, NEW, ts)
    on_it, parked, oslo = await stage.answers(ALICE, ts)
    assert (on_it, parked[: len(PARKED)], oslo) == (ON_IT, PARKED, OSLO)
    assert outcomes(stage) == ["parked", "ended"]
    assert not ended(stage)
    assert len(questions(stage)) == 1
    paid, recorded = len(stage.model.requests), len(calls(stage))
    answers(stage, *point.after, reply(DONE))
    await stage.say("alice", ALICE, "go on", ts)
    assert (await stage.answers(ALICE, ts))[3:] == [DONE]
    assert ended(stage) == ["finished"]
    assert len(stage.model.requests) - paid == len(point.after) + 1, "no paid call is repeated"
    assert len(calls(stage)) - recorded == len(point.after) + 1
    assert not stage.entries("drift")
    assert not stage.soul.journal.open("watch", "asked", "perception", "turn-began")
    assert OSLO in stage.asked()[-1], "it knows what was said meanwhile"


async def test_what_was_set_aside_comes_back_by_itself(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, reply(OSLO))
        await heard(stage, "alice", ALICE, NEW, ts)
    answers(stage, choice("Respond"), reply(DONE))
    await stage.clock.advance(SET_ASIDE - 60)
    stage.soul.waker.sweep()
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 3
    await stage.clock.advance(61)
    stage.soul.waker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[3:] == [DONE]
    assert ended(stage) == ["finished"]
    assert not stage.soul.journal.open("watch", "asked")


async def test_what_was_set_aside_can_be_stopped(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, reply(OSLO))
        await heard(stage, "alice", ALICE, NEW, ts)
    before = len(stage.model.requests)
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[3:] == [STOPPED]
    assert len(stage.model.requests) == before
    assert not stage.soul.journal.open("watch", "asked", "perception")


async def test_a_stop_closes_the_connection_to_the_model(stage: Stage) -> None:
    await deciding(stage)
    async with amid(stage, POINTS["before a choice"]) as ts:
        began = time.monotonic()
        await stage.post("alice", ALICE, "stop", ts)
        await stage.until(lambda: stage.model.closed)
        [closed] = stage.model.closed
    assert closed.at - began < PROMPTLY
    assert closed.request == 3
    call = stage.entries("model-call")[-1]
    assert (call.body["name"], call.body["outcome"]) == ("think", "cancelled")


async def test_a_stop_while_it_speaks_ends_there(stage: Stage) -> None:
    await deciding(stage)
    said = reply("One, two, three, four, five.")
    answers(stage, turning(), choice("Respond"))
    stage.model.say(said, until=asyncio.Event(), first=said.index(" three"))
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.entries("speech-started")) == 2)
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == [ON_IT, "One, two, …"]
    assert ended(stage) == ["interrupted"]
    assert outcomes(stage) == ["ended"]


async def test_dont_stop_does_not_stop(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "more"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, choice("Respond"), reply(DONE))
        await heard(stage, "alice", ALICE, "don't stop", ts)
        assert not stage.model.closed
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "don't stop" in told(stage)


@pytest.mark.parametrize(("name", "stops"), [("alice", True), ("carol", True), ("bob", False)])
async def test_a_sign_stops_for_whoever_began_it_or_an_owner(stage: Stage, name: str, stops: bool) -> None:
    await deciding(stage, owner_user_ids=frozenset({CAROL.id}))
    async with amid(stage, POINTS["before a choice"], GENERAL) as ts:
        answers(stage, choice("Respond"), reply(DONE))
        await stage.client(name).reactions_add(channel=GENERAL, timestamp=ts, name="octagonal_sign")
        if stops:
            await stage.until(lambda: stage.model.closed)
    assert await stage.answers(GENERAL, ts) == [ON_IT, STOPPED if stops else DONE]
    assert ended(stage) == ["interrupted" if stops else "finished"]


async def test_slacks_own_button_stops(stage: Stage) -> None:
    await deciding(stage)
    async with amid(stage, POINTS["before a choice"]) as ts:
        await stop_button(stage, "alice", ALICE, ts)
        await stage.until(lambda: stage.model.closed)
    assert await stage.answers(ALICE, ts) == [ON_IT, STOPPED]
    assert [entry.body.get("by") for entry in stage.entries("perception")] == [None, "button"]
    assert ended(stage) == ["interrupted"]
