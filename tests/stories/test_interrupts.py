"""Messages during a run: additions and new matters."""

from __future__ import annotations

import pytest

from daemon.mind.interruptions import SET_ASIDE
from tests.soak import later
from tests.stories.choosing import ON_IT, answers, calls, choice, deciding, ended, outcomes, questions, told
from tests.stories.midway import POINTS, Point, amid, heard, points
from tests.stories.stage import ALICE, Stage, reply

DONE = "It is the new timetable."
PARKED = "I'll set the other thing aside for a moment."
MORE = "by the way, it is the night ferry"
NEW = "what is the capital of Norway?"
OSLO = "Oslo."


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


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
    assert outcomes(stage) == ["completed"], "and has no turn of its own"
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
    assert outcomes(stage) == ["suspended", "completed"]
    assert not ended(stage)
    assert len(questions(stage)) == 1
    paid, recorded = len(stage.model.requests), len(calls(stage))
    answers(stage, *point.after, reply(DONE))
    await stage.say("alice", ALICE, "go on", ts)
    assert (await stage.answers(ALICE, ts))[3:] == [DONE]
    assert ended(stage) == ["finished"]
    assert len(stage.model.requests) - paid == len(point.after) + 1, "no paid call is repeated"
    assert len(calls(stage)) - recorded == len(point.after) + 1
    assert not stage.entries("restarted")
    assert not stage.pending("waiting", "outage", "asked", "input", "turn-began")
    assert OSLO in stage.asked()[-1], "it knows what was said meanwhile"


@pytest.mark.parametrize("judged", ["Who knows?", later(None)], ids=["unsure", "away"])
async def test_what_cannot_be_told_apart_goes_on_with_the_run(stage: Stage, judged: str | None) -> None:
    await deciding(stage)
    if judged:
        stage.model.say(judged, asks="a new matter that wants")
    else:
        stage.model.fail(429, "rate_limit_error", wait=60, asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, choice("Respond"), reply(DONE))
        await heard(stage, "alice", ALICE, MORE, ts)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert MORE in told(stage)


async def test_what_was_set_aside_comes_back_by_itself(stage: Stage) -> None:
    await deciding(stage)
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, POINTS["before a choice"]) as ts:
        answers(stage, reply(OSLO))
        await heard(stage, "alice", ALICE, NEW, ts)
    answers(stage, choice("Respond"), reply(DONE))
    await stage.clock.advance(SET_ASIDE - 60)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 3
    await stage.clock.advance(61)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[3:] == [DONE]
    assert ended(stage) == ["finished"]
    assert not stage.pending("waiting", "outage", "asked")
