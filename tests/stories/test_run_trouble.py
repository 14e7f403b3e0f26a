"""Model failures within a run, without repeated payment."""

from __future__ import annotations

import pytest

from tests.soak import SOAK, later
from tests.stories.choosing import (
    ASKED,
    EXPERT,
    FAST,
    ON_IT,
    SPEAK,
    answers,
    calls,
    choice,
    deciding,
    ended,
    models,
    outcomes,
    told,
    turning,
)
from tests.stories.outage import AWAY
from tests.stories.stage import ALICE, Stage, reply

DONE = "It is the new timetable."
SCRIPT = (turning(), choice("Think"), "A thought.", choice("Respond"), reply(DONE))
NAMES = ["pipeline", "choose", "think", "choose", "pipeline"]
LATER = 6 * 60.0
"""Seconds until retries are over."""


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


@pytest.mark.parametrize("at", [later(1), 2, later(3), 4], ids=["choose", "think", "choose again", "respond"])
@pytest.mark.parametrize("times", [later(1), 2])
async def test_an_outage_is_told_once_and_the_run_goes_on(stage: Stage, at: int, times: int) -> None:
    await deciding(stage)
    answers(stage, *SCRIPT[:at])
    for _ in range(times):
        stage.model.fail(429, "rate_limit_error", wait=60)
    ts = await stage.say("alice", ALICE, ASKED)
    on_it, away = await stage.answers(ALICE, ts)
    assert (on_it, away[: len(AWAY)]) == (ON_IT, AWAY)
    answers(stage, *SCRIPT[at:])
    await stage.sleep()
    await stage.wake()  # each start begins with a try
    await stage.settled()
    if times > 1:
        assert await stage.answers(ALICE, ts) == [ON_IT, away]
        await stage.clock.advance(LATER)
        await stage.settled()
    assert await stage.answers(ALICE, ts) == [ON_IT, away, DONE]
    assert len(stage.model.requests) == len(SCRIPT) + times, "nothing is paid again"
    assert calls(stage) == [*NAMES[:at], *NAMES[at : at + 1] * times, *NAMES[at:]]
    assert ended(stage) == ["finished"]
    assert outcomes(stage) == ["completed"]
    assert not stage.entries("restarted", "attempt-failed")
    assert not stage.pending("waiting", "outage", "asked", "input", "turn-began", "speech")


async def test_a_message_during_an_outage_of_a_run(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, *SCRIPT[:1])
    stage.model.fail(429, "rate_limit_error", wait=60)
    ts = await stage.say("alice", ALICE, ASKED)
    stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert len(await stage.answers(ALICE, ts)) == 2, "they are told once"
    answers(stage, *SCRIPT[1:])
    await stage.say("alice", ALICE, "Hello?", ts)
    assert (await stage.answers(ALICE, ts))[2:] == [DONE], "it is tried again at once"
    assert "Are you there?" in told(stage, 2)
    assert "Hello?" in stage.asked()[-1]
    assert outcomes(stage) == ["completed"]
    assert not stage.entries("restarted")


async def test_a_chooser_that_refuses_is_stood_in_for(stage: Stage) -> None:
    await deciding(stage, claude_model_fallback="claude-opus-5-5")
    answers(stage, turning())
    stage.model.refuse(model=FAST)
    stage.model.say(choice("Respond"), model="claude-opus-5-5")
    answers(stage, reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert models(stage) == [SPEAK, FAST, "claude-opus-5-5", SPEAK]
    assert ended(stage) == ["finished"]


@pytest.mark.parametrize("fallback", ["", later(EXPERT)])
async def test_a_chooser_that_refuses_to_the_end_is_asked_twice_and_the_run_says_so_honestly(
    stage: Stage, fallback: str
) -> None:
    await deciding(stage, claude_model_fallback=fallback)
    answers(stage, turning())
    stage.model.refuse(model=FAST)
    stage.model.refuse(model=fallback or SPEAK)
    answers(stage, reply("I cannot work on that."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "I cannot work on that."]
    assert calls(stage) == ["pipeline", "choose", "choose", "pipeline"]
    assert ended(stage) == ["refused"]


@SOAK
async def test_where_whoever_speaks_refuses_too_it_is_not_asked_again(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning())
    for _ in range(4):
        stage.model.refuse()
    ts = await stage.say("alice", ALICE, ASKED)
    _, sorry = await stage.answers(ALICE, ts)
    assert sorry.startswith("Forgive me, the words wouldn't come.")
    assert len(stage.model.requests) == 5
    answers(stage, reply("A fine day."))
    await stage.say("alice", ALICE, "Never mind. How are you?", ts)
    assert ASKED not in stage.asked()[-1], "what was refused is not asked again"


@SOAK
async def test_a_choice_that_was_cut_is_asked_for_again(stage: Stage) -> None:
    await deciding(stage)
    long = choice("Respond", why="because " * 2_000)
    answers(stage, turning(), long, choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert [call.event.outcome for call in stage.entries("model-call")] == ["ok", "cut", "ok", "ok"]
    assert "Your answer could not be read" in told(stage)


async def test_an_answer_that_was_cut_says_so(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Respond"))
    stage.model.say(reply("word " * 8_000), chunk=4_000)
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1].endswith("Say “go on” and I'll continue.")
