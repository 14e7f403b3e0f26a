"""Final answer that turns out to be none."""

from __future__ import annotations

from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_thought import OVER, final, sentence, thinks

PLAN = '<todo-until condition="all counted"><step>pears</step></todo-until>'
ONE = "<claudius-response>The answer is, of cour"


async def test_a_final_answer_below_a_plan_with_open_steps_is_not_read_before_it_is_said(
    stage: Stage,
) -> None:
    thinks(stage, PLAN + final("Three."), final("Three; I left out the pears."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["0/1 all counted", "Three; I left out the pears."]
    assert len(stage.entries("speech")) == 1, "nothing was begun to be said before"


async def test_a_final_answer_above_a_plan_with_open_steps_stays_as_it_stands(stage: Stage) -> None:
    thinks(stage, final("Three.") + PLAN, final("Three; I left out the pears."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["Three. …", "0/1 all counted", "Three; I left out the pears."]
    assert not stage.pending("speech")


async def test_where_money_runs_out_what_was_begun_stays_as_it_stands(stage: Stage) -> None:
    stage.model.say(OVER)
    stage.soul.budget.daily = 0.13
    stage.model.cut(after=f"{'They ask much. ' * 1_000}{ONE}")
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["The answer is, of cour …", sentence(stage, "over_budget")]
    assert not stage.pending("speech")


async def test_of_what_is_refused_in_the_middle_nothing_stays(stage: Stage) -> None:
    stage.model.say(OVER)
    stage.model.refuse(after=ONE)
    stage.model.refuse()
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == [sentence(stage, "lost_words")]
    assert not stage.pending("speech")


async def test_a_final_answer_for_which_there_is_no_room_says_so(stage: Stage) -> None:
    thinks(stage, final("word " * 5_000))
    ts = await stage.say("alice", ALICE, "Count all words.")
    assert [call.event.outcome for call in stage.entries("model-call")] == ["ok", "cut"]
    assert (await stage.answers(ALICE, ts))[-1].endswith(sentence(stage, "cut"))
