"""Stops in all forms end thought, action and cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from rehearsal.people import CAROL
from tests.soak import SOAK, later
from tests.stories.choosing import (
    ASKED,
    ON_IT,
    answers,
    choice,
    deciding,
    ended,
    outcomes,
    stop_button,
    told,
    turning,
)
from tests.stories.midway import POINTS, Point, amid, heard, points
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply
from tests.stories.test_asking import SCHEDULE

DONE = "It is the new timetable."
STOPPED = "Stopped."
PROMPTLY = 0.3
"""CPU seconds until the model connection closes."""


@points
async def test_a_stop(stage: Stage, point: Point) -> None:
    await deciding(stage)
    async with amid(stage, point) as ts:
        await heard(stage, "alice", ALICE, "Stop!", ts)
        before = len(stage.model.requests)
    assert await stage.answers(ALICE, ts) == [ON_IT, STOPPED]
    assert ended(stage) == ["interrupted"]
    assert len(stage.model.requests) == before, "nothing more was asked"
    assert outcomes(stage) == ["completed"], "the stop itself is answered with it"
    assert not stage.pending("input", "action", "speech")
    stage.model.say(reply("Here I am."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[2:] == ["Here I am."]
    assert "Stop!" in stage.asked()[-1]


@SOAK
async def test_what_was_set_aside_can_be_stopped(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, reply("Oslo."))
        await heard(stage, "alice", ALICE, "what is the capital of Norway?", ts)
    before = len(stage.model.requests)
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[3:] == [STOPPED]
    assert len(stage.model.requests) == before
    assert not stage.pending("waiting", "outage", "asked", "input")


@SOAK
async def test_a_stop_at_the_top_of_a_dm_is_for_what_is_at_work_there(stage: Stage) -> None:
    await deciding(stage)
    async with amid(stage, POINTS["before an action"]) as ts:
        await heard(stage, "alice", ALICE, "stop", None)
    assert await stage.answers(ALICE, ts) == [ON_IT, STOPPED]
    assert ended(stage) == ["interrupted"]
    assert len(stage.entries("thread")) == 1, "it began no conversation of its own"


async def test_what_others_say_beside_a_stop_is_answered(stage: Stage) -> None:
    await deciding(stage)
    async with amid(stage, POINTS["before an action"], GENERAL) as ts:
        await heard(stage, "bob", GENERAL, f"{ME} what is the capital of Norway?", ts)
        answers(stage, reply("Oslo, Bob."))
        await heard(stage, "alice", GENERAL, "stop", ts)
    assert await stage.answers(GENERAL, ts) == [ON_IT, STOPPED, "Oslo, Bob."]


Way = Callable[[Stage, str], Awaitable[None]]


async def typed(stage: Stage, root: str) -> None:
    await stage.post("alice", ALICE, "stop", root)


async def signed(stage: Stage, root: str) -> None:
    await stage.client("alice").reactions_add(channel=ALICE, timestamp=root, name="octagonal_sign")


async def pressed(stage: Stage, root: str) -> None:
    await stop_button(stage, "alice", ALICE, root)


ways = pytest.mark.parametrize("way", [typed, later(signed), later(pressed)])
"""Forms of a stop."""


async def closed_promptly(stage: Stage, way: Way, root: str) -> int:
    began = time.process_time()
    await way(stage, root)
    await stage.until(lambda: stage.model.closed)
    assert time.process_time() - began < PROMPTLY
    [closed] = stage.model.closed
    return closed.request


COUNTED = {"before a word": ("<say>", STOPPED), "in the middle": ("One, two,", "One, two, …")}
"""Progress of an answer and final text."""


@ways
@pytest.mark.parametrize(("upto", "read"), COUNTED.values(), ids=COUNTED.keys())
async def test_a_stop_of_an_ordinary_answer_closes_it_too(
    stage: Stage, way: Way, upto: str, read: str
) -> None:
    said = reply("One, two, three, four, five.")
    stage.model.say(said, until=asyncio.Event(), first=said.index(upto) + len(upto))
    ts = await stage.post("alice", ALICE, "Count to five.")
    await stage.until(lambda: stage.entries("speech-started") or (read == STOPPED and stage.model.requests))
    assert await closed_promptly(stage, way, ts) == 1
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [read]
    [call] = stage.entries("model-call")
    assert call.event.outcome == "cancelled"
    assert outcomes(stage) == ["completed"]
    assert not stage.pending("input", "turn-began", "speech")
    stage.model.say(reply("Six."))
    await stage.say("alice", ALICE, "And then?", ts)
    assert await stage.answers(ALICE, ts) == [read, "Six."]
    assert stage.tags.wrapped("say", read) in stage.asked()[-1], "it knows how far it came"
    assert "Private thoughts" not in stage.asked()[-1]


async def test_what_was_said_before_the_stop_of_an_answer_ends_with_it(stage: Stage) -> None:
    said = reply("One, two, three.")
    stage.model.say(said, until=asyncio.Event(), first=said.index("two,") + 4)
    ts = await stage.post("alice", ALICE, "Count to three.")
    await stage.until(lambda: stage.entries("speech-started"))
    await heard(stage, "alice", ALICE, "And what is seven?", ts)
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == ["One, two, …"]
    stage.model.say(reply("Odd."))
    await stage.say("alice", ALICE, "Well?", ts)
    assert "And what is seven?" in stage.asked()[-1]


async def test_a_reminder_that_comes_while_a_run_is_stopped_is_not_lost(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(SCHEDULE, "Respond"), reply("I will be back."))
    ts = await stage.say("alice", ALICE, ASKED)
    await stage.clock.advance(SCHEDULE["args"]["minutes"] * 60 - 5)
    async with amid(stage, POINTS["before a choice"], root=ts):
        await stage.passing(1, lambda: stage.pending("timer"))
        await stage.clock.advance(1)
        stage.model.say(reply("The ferry, again."))
        await heard(stage, "alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[-2:] == [STOPPED, "The ferry, again."]


@pytest.mark.parametrize("way", [later(typed), signed, later(pressed)])
async def test_a_stop_closes_the_connection_to_the_model(stage: Stage, way: Way) -> None:
    await deciding(stage)
    async with amid(stage, POINTS["before a choice"]) as ts:
        assert await closed_promptly(stage, way, ts) == 3
    call = stage.entries("model-call")[-1]
    assert (call.event.name, call.event.outcome) == ("think", "cancelled")
    assert await stage.answers(ALICE, ts) == [ON_IT, STOPPED]
    assert len(stage.model.requests) == 3
    assert ended(stage) == ["interrupted"]
    assert outcomes(stage) == ["completed"]
    assert not stage.pending("input", "turn-began", "speech")


@SOAK
@pytest.mark.parametrize("way", [later(typed), later(signed), pressed])
async def test_a_stop_while_it_speaks_ends_there(stage: Stage, way: Way) -> None:
    await deciding(stage)
    said = reply("One, two, three, four, five.")
    answers(stage, turning(), choice("Respond"))
    stage.model.say(said, until=asyncio.Event(), first=said.index(" three"))
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.entries("speech-started")) == 2)
    assert await closed_promptly(stage, way, ts) == 3
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [ON_IT, "One, two, …"]
    assert ended(stage) == ["interrupted"]
    assert outcomes(stage) == ["completed"]


async def test_dont_stop_does_not_stop(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "more"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, choice("Respond"), reply(DONE))
        await heard(stage, "alice", ALICE, "don't stop", ts)
        assert not stage.model.closed
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "don't stop" in told(stage)


@pytest.mark.parametrize(("name", "stops"), [("alice", True), later("carol", True), ("bob", False)])
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
    assert [entry.kind for entry in stage.entries("input")] == ["message", "stop"]
    assert [entry.event.by for entry in stage.entries("stop")] == ["button"]
    assert ended(stage) == ["interrupted"]


async def test_a_stop_is_heard_while_others_have_the_money_that_is_left(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    bobs = await stage.say("bob", BOB, "Hello")
    others = asyncio.Event()
    stage.soul.budget.daily = 0.13  # enough for one call at a time
    stage.model.say(reply("Hello."), until=others)
    await stage.post("alice", ALICE, "Hello")
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.post("bob", BOB, "And what of the ferry?", bobs)
    await stage.until(lambda: len(stage.pending("turn-began")) == 2)
    await stage.post("bob", BOB, "stop", bobs)
    await stage.until(lambda: len(stage.pending("turn-began")) == 1)
    assert await stage.answers(BOB, bobs) == ["Hello.", STOPPED]
    assert len(stage.model.requests) == 2, "nothing was asked for him"
    others.set()
    await stage.settled()
