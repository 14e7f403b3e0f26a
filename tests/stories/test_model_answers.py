"""Invalid model answers: long, refused, empty, malformed."""

from __future__ import annotations

import pytest

from daemon.claude.models import SPOKEN
from rehearsal.claude.prompt import CHARACTERS
from tests.soak import SOAK, later
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

TOO_LONG = "What I want to say. " * SPOKEN
TOO_MUCH_CODE = "print('more')\n" * 100
SECRET = "They must not know this. "
CUT = "I ran out of room there and stopped in the middle. Say “go on” and I'll continue."
SORRY = "Forgive me"


async def test_a_long_answer_is_said_as_far_as_it_came_and_can_be_gone_on_with(stage: Stage) -> None:
    stage.model.say(reply(TOO_LONG), chunk=1_000)
    ts = await stage.say("alice", ALICE, "Tell me everything.")
    said = await stage.answers(ALICE, ts)
    assert len(said) > 1, "several messages"
    assert said[-1].endswith(f"\n\n{CUT}")
    assert str(said).count(CUT) == 1
    assert str(said).count("What I want to say.") > SPOKEN / 10
    stage.model.say(reply("The end."))
    await stage.say("alice", ALICE, "go on", ts)
    assert (await stage.answers(ALICE, ts))[len(said) :] == ["The end."]
    assert "What I want to say." in stage.asked()[-1]


@SOAK
async def test_a_cut_code_block_is_closed_before_the_sentence(stage: Stage) -> None:
    room = " " * (CHARACTERS * SPOKEN - 300)
    stage.model.say(reply(f"Look:\n```\n{TOO_MUCH_CODE}", aside=room), chunk=1_000)
    ts = await stage.say("alice", ALICE, "Write it.")
    [said] = await stage.answers(ALICE, ts)
    assert said.count("```") == 2
    assert said.rpartition("```")[2].strip() == CUT


@pytest.mark.parametrize("begun", [later(""), "<say>"], ids=["unspoken", "begun"])
async def test_cut_before_its_dialogue_it_is_asked_again_and_nothing_leaks(stage: Stage, begun: str) -> None:
    stage.model.say(f"{begun}<aside>{SECRET * SPOKEN}", chunk=1_000)
    stage.model.say("<say>In short: yes.</say>")
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["In short: yes."]
    assert [call.event.outcome for call in stage.entries("model-call")] == ["cut", "ok"]


async def test_a_cut_is_no_chosen_silence(stage: Stage) -> None:
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    stage.model.say(f"<say><aside>{SECRET * SPOKEN}", chunk=1_000)
    stage.model.say("<say>In short: yes.</say>")
    await stage.say("alice", GENERAL, "And what do you say?", ts)
    assert (await stage.answers(GENERAL, ts))[1:] == ["In short: yes."]


@SOAK
async def test_cut_after_its_dialogue_it_is_whole(stage: Stage) -> None:
    stage.model.say(f"<say>All of it.</say><aside>{SECRET * SPOKEN}", chunk=1_000)
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["All of it."]


async def test_where_the_model_refuses_another_one_is_asked(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(claude_model_fallback="claude-opus-5-5")
    stage.model.faults.switch("refusal", model="claude-sonnet-*", times=1)
    stage.model.say("<say>A plain answer.</say>")
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["A plain answer."]
    first, second = stage.entries("model-call")
    assert (first.event.role, first.event.model) == ("speak", "claude-sonnet-5-5")
    assert (second.event.role, second.event.model) == ("fallback", "claude-opus-5-5")
    assert second.event.cost > first.event.cost > 0
    assert "<aside" not in stage.asked()[1].rpartition("Answer in")[2]
    await stage.say("alice", ALICE, "And now?", ts)
    assert stage.model.requests[-1]["model"] == "claude-sonnet-5-5"


@SOAK
async def test_without_another_model_the_same_one_is_asked_once_more(stage: Stage) -> None:
    stage.model.refuse(after="<aside>hm</aside><say>I was abo")
    stage.model.say("<say>A plain answer.</say>")
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["A plain answer."]
    assert [call.event.outcome for call in stage.entries("model-call")] == ["refused", "ok"]
    await stage.say("alice", ALICE, "And now?", ts)
    assert "I was abo" not in stage.asked()[-1], "what was refused is in nobody's memory"
    assert {request["model"] for request in stage.model.requests} == {"claude-sonnet-5-5"}


@SOAK
async def test_what_was_refused_to_the_end_is_not_asked_again_with_the_next_message(stage: Stage) -> None:
    stage.model.refuse(after="<say>I was abo")
    stage.model.refuse()
    ts = await stage.say("alice", ALICE, "How do I build the thing?")
    [said] = await stage.answers(ALICE, ts)
    assert said.startswith(SORRY)
    await stage.say("alice", ALICE, "What a pity.", ts)
    assert "build the thing" not in stage.asked()[-1]
    assert SORRY in stage.asked()[-1]
    assert len(await stage.answers(ALICE, ts)) == 2


@pytest.mark.parametrize(
    "raw", ["", later(" \n "), later("<say></say>"), later("<say>"), "<mood>engaged</mood>"]
)
async def test_with_nothing_to_say_twice_it_asks_for_other_words(stage: Stage, raw: str) -> None:
    stage.model.say(raw)
    stage.model.say(raw)
    ts = await stage.say("alice", ALICE, "Well?")
    [said] = await stage.answers(ALICE, ts)
    assert said.startswith(SORRY)
    assert not stage.pending("input", "speech", "turn-began")


@SOAK
async def test_an_answer_in_another_form_is_asked_for_again(stage: Stage) -> None:
    stage.model.say('{"aside": "They must not know this.", "say": "Hello."}')
    stage.model.say("<say>Hello.</say>")
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["Hello."]


async def test_without_its_tags_an_answer_is_not_said_before_it_is_asked_for_plainly(stage: Stage) -> None:
    stage.model.faults.switch("malformed", times=2)
    stage.model.say(reply("Hello.", aside=SECRET))
    stage.model.say("<say>Hello, plainly.</say>")
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["Hello, plainly."]
