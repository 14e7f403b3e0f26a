"""Answers without end, cut and reported."""

from __future__ import annotations

import pytest

from daemon.prompts.elements import UNSUFFIXED_TAGS
from tests.soak import later
from tests.stories.choosing import ASKED as GOAL
from tests.stories.choosing import ON_IT, answers, choice, deciding, turning
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_learning import ASKED, people
from tests.stories.test_model_away import LOCAL, details
from tests.stories.test_open_thought import final, sentence, thinks

ONE = (
    "<aside>Hm.</aside><next>conversation</next><say>Hello, Alice.</say><mood>neutral</mood>"
    "<learned>no</learned>"
)


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    await dormant.wake(claude_model=LOCAL, claude_model_fast=LOCAL)
    return dormant


async def sentences(stage: Stage) -> str:
    return " ".join(report["sentence"] for report in (await details(stage))["reports"])


@pytest.mark.parametrize("chunk", [later(1), 3, later(50), 10_000])
@pytest.mark.parametrize("marked", [True, False])
async def test_an_answer_that_begins_again_is_said_once(stage: Stage, chunk: int, marked: bool) -> None:
    stage.model.faults.switch("unbounded")
    tags = stage.tags if marked else UNSUFFIXED_TAGS
    stage.model.say(tags.marked(ONE.replace("Hello", "Good day") + ONE * 20), chunk=chunk)
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Good day, Alice."]
    assert "goes on after the end that it is asked for" in await sentences(stage)
    await stage.say("alice", ALICE, "And you?", ts)
    seen = str(stage.model.requests[-1]["messages"])
    assert seen.count(stage.tags.wrapped("say", "Good day, Alice.")) == 1
    assert stage.tags.wrapped("learned", "no") in seen, "what is remembered is closed"
    assert "Hello, Alice" not in seen


@pytest.mark.parametrize("closed", ["</say>", ""])
async def test_a_second_spoken_section_is_not_said_where_the_last_one_never_comes(
    stage: Stage, closed: str
) -> None:
    stage.model.faults.switch("unbounded")
    stage.model.say("".join(f"<aside>Hm.</aside><say>Part {n}.{closed}<mood>calm</mood>" for n in range(300)))
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Part 0."]
    [call] = stage.entries("model-call")
    assert call.event.text.count("<say>") <= 2, "the stream was closed"
    await stage.say("alice", ALICE, "And you?", ts)
    assert "Part 1" not in str(stage.model.requests[-1]["messages"])


async def test_a_second_final_answer_is_not_said(stage: Stage) -> None:
    stage.model.faults.switch("unbounded")
    thinks(stage, "".join(final(f"It is {n}.") for n in range(300)))
    ts = await stage.say("alice", ALICE, "Think it through.")
    assert await stage.answers(ALICE, ts) == ["It is 0."]
    assert "It is 9." not in stage.entries("model-call")[-1].event.text


@pytest.mark.parametrize("word", ["word ", "yes\n", "no, "])
async def test_a_model_that_repeats_one_word_is_asked_once_more(stage: Stage, word: str) -> None:
    stage.model.faults.switch("unbounded")
    stage.model.say(f"<aside>Hm.</aside><say>{word * 9_000}")
    stage.model.say("<say>Good morning.</say>")
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Good morning."]
    assert all(len(call.event.text) < 2_000 for call in stage.entries("model-call"))
    assert "writes the same again and again" in await sentences(stage)


async def test_and_where_it_does_so_again_there_is_an_apology(stage: Stage) -> None:
    stage.model.faults.switch("unbounded")
    stage.model.say(f"<say>{'word ' * 9_000}")
    stage.model.say("word " * 9_000)
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == [sentence(stage, "lost_words")]
    stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hello?", ts)
    assert "word word" not in str(stage.model.requests[-1]["messages"])


async def test_a_mood_that_goes_in_circles_does_not_take_the_words_back(stage: Stage) -> None:
    stage.model.faults.switch("unbounded")
    stage.model.say(f"<aside>Hm.</aside><say>Hello.</say><mood>{'calm ' * 9_000}")
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Hello."]
    assert len(stage.model.requests) == 1


async def test_one_endless_line_ends_at_its_bound_and_is_said_as_far_as_it_came(stage: Stage) -> None:
    stage.model.faults.switch("unbounded")
    line = " ".join(f"{number}" for number in range(40_000))
    stage.model.say(f"<aside>Hm.</aside><say>{line}")
    ts = await stage.say("alice", ALICE, "Count.")
    said = await stage.answers(ALICE, ts)
    assert said[0].startswith("0 1 2 3")
    assert sentence(stage, "cut") in said[-1]
    [call] = stage.entries("model-call")
    assert (call.event.outcome, call.event.stop_reason) == ("cut", "max_tokens")
    assert "writes more than it is asked for" in await sentences(stage)


@pytest.mark.parametrize("said", ["", "<say></say>", "<say> \n</say>"])
async def test_an_answer_without_words_is_asked_for_once_more_and_health_tells(
    stage: Stage, said: str
) -> None:
    stage.model.say(f"<aside>I say nothing.</aside>{said}")
    stage.model.say("<say>Here I am.</say>")
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Here I am."]
    assert "gave an answer without words that can be said" in await sentences(stage)


async def test_notes_are_eight_short_lines_whatever_the_model_writes(stage: Stage) -> None:
    stage.model.faults.switch("unbounded")
    stage.model.say(ONE.replace("no</learned>", "yes</learned>"))
    notes = "Here are the notes:\n* keeps bees\n- keeps bees\n" + "".join(f"- note {n}\n" for n in range(600))
    stage.model.say(notes, asks=ASKED)
    await stage.say("alice", ALICE, "I keep bees.")
    [learned] = people(stage)
    assert learned.event.text.splitlines() == ["- keeps bees", *(f"- note {n}" for n in range(7))]
    assert stage.model.requests[-1]["max_tokens"] == 400
    assert len(stage.entries("model-call")[-1].event.text) < 400 * 9


async def test_notes_in_prose_change_nothing(stage: Stage) -> None:
    stage.model.say(ONE.replace("no</learned>", "yes</learned>"))
    stage.model.say("They are not being spoken to. " * 200, asks=ASKED)
    await stage.say("alice", ALICE, "I keep bees.")
    assert not people(stage)


async def test_each_kind_of_call_is_bounded_by_its_name(stage: Stage) -> None:
    await stage.sleep()
    await deciding(stage)
    answers(stage, turning(), choice("Think"), "Hm.", choice("Respond"), reply("Done."))
    ts = await stage.say("alice", ALICE, GOAL)
    assert await stage.answers(ALICE, ts) == [ON_IT, "Done."]
    sent = [(call.event.name, call.event.outcome) for call in stage.entries("model-call")]
    assert [name for name, _ in sent] == ["pipeline", "choose", "think", "choose", "pipeline"]
    bounds = [(request["max_tokens"], request.get("stop_sequences")) for request in stage.model.requests]
    assert bounds == [
        (8_000, [stage.tags.closing("learned")]),
        (800, None),
        (600, None),
        (800, None),
        (8_000, [stage.tags.closing("mood")]),
    ]


async def test_what_ends_at_a_mark_is_closed_where_it_is_remembered(stage: Stage) -> None:
    one = stage.tags.marked(ONE)
    stage.model.say(one)
    ts = await stage.say("alice", ALICE, "Hello")
    [call] = stage.entries("model-call")
    assert (call.event.stop_reason, call.event.text) == ("stop_sequence", one)
    assert not stage.model.closed, "the server ended it"
    await stage.say("alice", ALICE, "And you?", ts)
    assert one in str(stage.model.requests[-1]["messages"])
