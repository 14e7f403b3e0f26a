"""Backoff of a failing model, while notes arrive."""

from __future__ import annotations

import pytest

from daemon.claude.availability import FEWER_TRIES
from tests.app.forgery import opened
from tests.soak import SOAK, later
from tests.stories.stage import GENERAL, Stage
from tests.stories.ticking import PAUSE, did, do, lines, live, note_of, passes, shown, thinks, tick, unlike

HOUR = 3_600.0


async def falls_silent(stage: Stage, fault: str = "overloaded") -> None:
    stage.model.faults.switch(fault)
    await stage.clock.advance(PAUSE)
    await stage.passing(1, lambda: stage.entries("outage"))


async def goes_by(stage: Stage, seconds: float) -> None:
    end = stage.clock.now() + seconds
    await stage.passing(60, lambda: stage.clock.now() >= end)


AN_HOUR = {"overloaded": 2 * 4, "unauthorized": 12}
"""Tries an hour: two times four, or one each five minutes for an account fault."""


@pytest.mark.parametrize("fault", ["overloaded", later("unauthorized")])
async def test_it_asks_less_and_less_often_and_goes_on(alive: Stage, fault: str) -> None:
    stage = alive
    await did(stage, do("llm_memory.add", text="Look at the lift."))
    await falls_silent(stage, fault)
    await goes_by(stage, HOUR)
    first = len(stage.model.requests)
    await goes_by(stage, 2 * HOUR)
    assert len(stage.model.requests) - first <= 2 * AN_HOUR[fault]
    assert lines(stage)[1:] == ["thought"], "the tick is not over"
    stage.model.faults.all_off()
    stage.model.say("I can think again.")
    await stage.passing(60, lambda: len(lines(stage)) == 3)
    assert lines(stage)[1:] == ["thought"] * 2
    thinks(stage, unlike(9))
    asked = await tick(stage)
    assert "I can think again." in asked.context(1)


@SOAK
async def test_notes_come_in_meanwhile(alive: Stage) -> None:
    stage = alive
    await did(stage)
    await falls_silent(stage)
    await stage.post("bob", GENERAL, "The lift is stuck.")
    await goes_by(stage, HOUR)
    assert note_of(stage, "lift is stuck")
    stage.model.faults.all_off()
    stage.model.say("I can think again.")
    await stage.passing(60, lambda: len(lines(stage)) == 3)
    thinks(stage, unlike(9))
    asked = await tick(stage)
    assert f"note {note_of(stage, 'lift is stuck')}, normal" in asked.context(4)


@SOAK
async def test_people_are_not_told_and_the_journal_says_once_that_it_waits(alive: Stage) -> None:
    stage = alive
    await did(stage)
    await falls_silent(stage)
    await goes_by(stage, HOUR)
    assert not stage.entries("speech"), "nobody waits for an answer"
    assert [entry.event.reason for entry in stage.pending("outage")] == ["overloaded"]
    assert lines(stage)[1:] == ["thought"]


async def test_a_tick_that_is_given_up_is_a_line_and_loses_nothing(alive: Stage) -> None:
    stage = alive
    await did(stage, do("diary.add", text="Spring has come."), do("nonsense"))
    for _ in range(FEWER_TRIES["bad-request"] + 1):
        stage.model.fail(400, "invalid_request_error", model="claude-sonnet*")
    await stage.clock.advance(PAUSE)
    await stage.passing(60, lambda: lines(stage)[-1] == "failed")
    given_up = len(shown(stage))
    thinks(stage, unlike(9))
    await stage.passing(60, lambda: lines(stage)[-1] == "thought")
    [asked] = shown(stage)[given_up:]
    assert asked.results["diary.add"][0] == "yes"
    assert 'There is no command "nonsense"' in asked.context(2)
    assert asked.setting("why you think now") == "a tick failed"


async def test_a_reply_of_its_own_that_is_damaged_is_done_without(alive: Stage) -> None:
    stage = alive
    await did(stage, do("diary.add", text="one"), words="The first thought.")
    await did(stage, do("diary.add", text="two"), words="The second thought.")
    answer = stage.entries("tick")[-1].event.answer
    await stage.sleep()
    with opened(stage.home / "journal.db") as copy:
        copy.change(answer, body="{")
    await live(stage)
    thinks(stage, unlike(9))
    asked = await tick(stage)
    assert "The first thought." in asked.context(1)
    assert "The second thought." not in asked.context(1)
    assert asked.results["diary.add"][0] == "yes"


async def test_what_a_model_refuses_costs_nothing_that_it_was_to_see(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The lift is stuck.")
    await did(stage, do("notes.read", ids=[note_of(stage, "lift is stuck")]))
    stage.model.refuse(model="claude-sonnet*")
    stage.model.refuse(model="claude-sonnet*")
    await passes(stage, PAUSE)
    assert lines(stage)[-1] == "refused"
    thinks(stage, unlike(9))
    asked = await tick(stage, 5 * PAUSE)
    assert "The lift is stuck." in asked.context(4)
    assert asked.setting("in view").startswith("#general (")


async def test_a_refusal_is_tried_by_the_other_model(asleep: Stage) -> None:
    stage = asleep
    await live(stage, claude_model_fallback="claude-opus-5-5")
    stage.model.refuse(model="claude-sonnet*")
    stage.model.say("I can think of that.", model="claude-opus*")
    await passes(stage, PAUSE)
    assert lines(stage)[-1] == "thought"
    assert [one.model for one in shown(stage)] == ["claude-sonnet-5-5", "claude-opus-5-5"]


@SOAK
async def test_what_both_refuse_is_over_and_the_next_tick_comes(asleep: Stage) -> None:
    stage = asleep
    await live(stage)
    stage.model.refuse(model="claude-sonnet*")
    stage.model.refuse(model="claude-sonnet*")
    await passes(stage, PAUSE)
    assert lines(stage)[-1] == "refused"
    thinks(stage, unlike(9))
    asked = await tick(stage, 5 * PAUSE)
    assert asked.context(1) == "none"
