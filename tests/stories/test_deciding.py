"""ISM runs, from message to answer, and prompts of the chooser."""

from __future__ import annotations

import pytest

from daemon.ism import FinishRun
from daemon.prompts.chooser import ISMResult
from rehearsal.people import CAROL
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
    coming_to,
    deciding,
    ended,
    looking,
    models,
    offering,
    raising,
    told,
    turning,
)
from tests.stories.stage import ALICE, Stage, reply

DONE = "It is the new timetable."


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def test_without_the_ism_nothing_is_chosen(stage: Stage) -> None:
    await stage.wake()
    stage.model.say(turning("Let me think about that."))
    stage.model.say(reply("It is the timetable."))
    ts = await stage.say("alice", ALICE, ASKED)
    await stage.say("alice", ALICE, "And?", ts)
    assert await stage.answers(ALICE, ts) == ["Let me think about that.", "It is the timetable."]
    assert calls(stage) == ["pipeline", "pipeline"]
    assert not stage.entries("ism", "ism-ended")
    assert stage.entries("turn-began")[-1].event.process == "problem_solving", "in fixed steps"
    assert set(models(stage)) == {SPEAK}


async def test_a_run_of_three_rounds_with_two_actions_in_one_choice(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", looking()), "The timetable changed, I believe.")
    answers(stage, choice("Think"), "Nobody told me otherwise.", choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert calls(stage) == ["pipeline", "choose", "think", "choose", "think", "choose", "pipeline"]
    assert models(stage) == [SPEAK, FAST, SPEAK, FAST, SPEAK, FAST, SPEAK]
    [run] = stage.entries("ism-ended")
    assert (run.event.reason, run.event.loops, run.event.calls) == ("finished", 3, 3)
    assert [entry.event.name for entry in stage.entries("action")] == ["SearchMemory"]
    assert "The timetable changed, I believe." in told(stage, 1)
    assert r"<result of=\"SearchMemory\">\nnothing found" in told(stage, 1)
    assert "Nobody told me otherwise." in stage.asked()[-1]
    assert [entry.event.to for entry in stage.entries("transition")][-2:] == [
        "problem_solving",
        "conversation",
    ]


@SOAK
async def test_the_next_message_is_a_conversation_again(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Respond"), reply(DONE), reply("You are welcome."))
    ts = await stage.say("alice", ALICE, ASKED)
    await stage.say("alice", ALICE, "Thank you!", ts)
    assert (await stage.answers(ALICE, ts))[2:] == ["You are welcome."]
    assert calls(stage)[-1] == "pipeline"
    assert DONE in stage.asked()[-1]
    assert "Available Actions" not in stage.asked()[-1], "the run is in nobody's way"


async def test_it_goes_over_into_another_process_at_once(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", "To_closing", "Think"), "It is solved.", reply("Farewell."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "Farewell."]
    assert ended(stage) == ["transition"]
    went = [(entry.event.to, entry.event.now) for entry in stage.entries("transition")]
    assert went[-2:] == [("closing", True), ("conversation", False)]
    assert len(stage.entries("turn-ended")) == 1
    assert calls(stage) == ["pipeline", "choose", "think", "pipeline"], "what was chosen after it is not done"


async def test_what_is_beyond_it_goes_to_the_expert(stage: Stage) -> None:
    await deciding(stage, claude_model_expert=EXPERT)
    answers(stage, turning(), choice("Escalate"))
    for text in (choice("Think"), "It is the tide.", choice("Respond"), reply("The tide was low.")):
        stage.model.say(text, model=EXPERT)
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "The tide was low."]
    assert ended(stage) == ["transition", "finished"]
    assert models(stage) == [SPEAK, FAST, EXPERT, EXPERT, EXPERT, EXPERT]
    assert "expert" in [entry.event.to for entry in stage.entries("transition")]


@SOAK
@pytest.mark.parametrize("owners", [{CAROL.id}, later(set())])
async def test_without_an_expert_it_says_one_sentence(stage: Stage, owners: set[str]) -> None:
    await deciding(stage, owner_user_ids=frozenset(owners))
    answers(stage, turning(), choice("Escalate"))
    ts = await stage.say("alice", ALICE, ASKED)
    _, sentence = await stage.answers(ALICE, ts)
    assert sentence.startswith("This is more than I can settle by myself")
    assert ("<@" in sentence) == (f"<@{CAROL.id}>" in sentence) == bool(owners)
    assert ended(stage) == ["finished"]
    assert calls(stage) == ["pipeline", "choose"], "a sentence of the owner's costs nothing"


async def test_what_cannot_be_read_is_asked_for_again(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), "Well, I'd say…", '{"actions": [', choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    [run] = stage.entries("ism-ended")
    assert (run.event.reason, run.event.loops, run.event.calls) == ("finished", 1, 3)
    assert told(stage).count("Your answer could not be read") == 2
    assert "Well, I'd say…" in told(stage), "and it sees what it said"


@SOAK
async def test_four_times_unreadable_is_too_often_and_said_honestly(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), *["Hm."] * 4, reply("I could not get to work on it."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "I could not get to work on it."]
    assert ended(stage) == ["failed"]
    assert "You have to stop here, before you are done." in stage.asked()[-1]


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ("Fly", "Fly was not run: there is no such action; there are "),
        ({"name": "Schedule", "args": {"minutes": 0, "text": "Tea"}}, "its arguments are wrong: minutes"),
        later("Schedule", "its arguments are wrong"),
    ],
)
async def test_what_it_cannot_do_it_is_told(stage: Stage, chosen: object, why: str) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(chosen), choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert why in told(stage)
    assert not stage.entries("waiting", "outage", "action")


@pytest.mark.parametrize("effect", [True, False])
async def test_what_goes_wrong_in_an_action_the_chooser_is_told(stage: Stage, effect: bool) -> None:
    offering(stage, raising(effect=effect))
    await deciding(stage)
    answers(stage, turning(), choice("Break"), choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "OSError: the bridge is up" in told(stage)
    assert not stage.entries("attempt-failed"), "the turn is well"
    assert not stage.pending("action")


@pytest.mark.parametrize("outcome", [FinishRun("The bridge is up."), ISMResult("The bridge is up.")])
async def test_what_an_action_answers_reaches_who_speaks(
    stage: Stage, outcome: FinishRun | ISMResult
) -> None:
    offering(stage, coming_to(outcome))
    await deciding(stage)
    answers(stage, turning(), choice("Look"), choice("DONE"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "The bridge is up." in stage.asked()[-1]


@pytest.mark.parametrize("thought", ["", later(" "), later(None)], ids=["nothing", "blank", "refused"])
async def test_where_no_thought_came_it_is_told_so(stage: Stage, thought: str | None) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think"))
    if thought is None:
        stage.model.refuse(asks="Think about this by yourself")
        stage.model.refuse(asks="Think about this by yourself")
    else:
        answers(stage, thought)
    answers(stage, choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "no thought came of it" in told(stage)
    assert "It is done." not in told(stage)
