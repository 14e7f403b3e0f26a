"""Split between cached system text and notes of calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from daemon.answers.speech_gate import split_sections
from daemon.prompts.elements import PRIVATE_TAGS, SECTION_NAMES, parse_moods
from daemon.prompts.prompt_catalogue import MOODS_TEXT
from rehearsal.claude.prompt import texts, tokens
from tests.source import ROOT
from tests.stories.choosing import ASKED, SPEAK, answers, calls, choice, deciding, ended, looking, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_own_action import LOOKS

UNCACHED = 120
"""Most uncached tokens of an ordinary message, at three characters each as in the rehearsed model."""
NOTE, CHOOSER = 80, 1_300
"""Most tokens of a note and of a chooser prompt before its playbook."""
CHARACTERS = 3.6
"""Characters a token in these limits."""
OLD_PIPELINE = """Answer as $name, with exactly these sections in this order and nothing outside them:

$sections

$guidance
"""
OLD_STEPS = {
    "external_dialogue": "<$tag>…</$tag> what $name $verb to them: the only section that the others read.",
    "next_process": "<$tag>…</$tag> what $name turns to now, one of: $processes. $reasons",
}


def system(request: Mapping[str, Any]) -> str:
    return "\n\n".join(texts(request["system"]))


def note(request: Mapping[str, Any]) -> str:
    return texts(request["messages"][-1]["content"])[-1]


SUFFIX = re.compile(r"(?<=[a-z])-[a-z][0-9](?=>)")


def bare(text: str) -> str:
    return SUFFIX.sub("", text)


def spoken(stage: Stage) -> list[dict[str, Any]]:
    return [request for request in stage.model.requests if request["model"] == SPEAK]


def named(text: str) -> list[str]:
    return re.findall(r"<(\w+)>(?!:)", bare(text).partition("\n\nNobody")[0].partition("\n\nYou have")[0])


def allowed(text: str) -> list[str]:
    [words] = re.findall(r"one word of: ([\w, ]+)\.", text)
    return str(words).split(", ")


async def test_the_form_is_the_same_in_every_process_and_names_each_process_once(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, reply("Hello."), turning(), choice("Think"), "A thought.", choice("Respond"))
    ts = await stage.say("alice", ALICE, "Hello")
    await stage.say("alice", ALICE, ASKED, ts)
    stage.model.say("<aside>Off.</aside><next>closing</next><say>Bye!</say><mood>neutral</mood>")
    await stage.say("alice", ALICE, "Bye!", ts)
    await stage.say("alice", ALICE, "Still there?", ts)
    told = {system(request) for request in spoken(stage)}
    assert len(spoken(stage)) == 6
    assert len(told) == 1
    [form] = told
    for process in allowed(note(stage.model.requests[0])):
        assert len(re.findall(rf"^- {process}: \w", form, re.M)) == 1, process
    assert "next section" not in form


async def test_the_note_names_the_sections_of_each_call_in_their_order(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, reply("Hello."), turning(), choice("Think"), "A thought.", choice("Respond"))
    ts = await stage.say("alice", ALICE, "Hello")
    await stage.say("alice", ALICE, ASKED, ts)
    asked = [named(note(request)) for request in spoken(stage)]
    whole = ["aside", "next", "say", "mood", "learned"]
    assert asked == [whole, whole, [], ["say", "mood"]], "a thought is asked for in no section"


async def test_a_note_says_which_processes_are_allowed_only_where_one_turns_to_them(stage: Stage) -> None:
    answers(
        stage, "<aside>Off.</aside><next>closing</next><say>Bye!</say><mood>neutral</mood>", reply("Bye.")
    )
    ts = await stage.say("alice", ALICE, "Bye!")
    await stage.say("alice", ALICE, "Bye now", ts)
    first, second = [bare(note(request)) for request in spoken(stage)]
    assert "<next>: one word of: conversation, closing, deep_reading, deliberation, problem_solving." in first
    assert named(second) == ["aside", "say", "mood"]
    assert "deliberation" not in second


async def test_an_ordinary_message_has_few_uncached_tokens_and_takes_one_bounded_call(stage: Stage) -> None:
    answers(stage, *[reply("Yes.")] * 4)
    ts = await stage.say("alice", ALICE, "Good morning")
    for words in ("and how are you today?", "Does the ferry go on Sundays?", "Thank you, that helps a lot."):
        before = len(stage.model.requests)
        await stage.say("alice", ALICE, words, ts)
        [request] = list(stage.model.requests)[before:]
        said, trailing = texts(request["messages"][-1]["content"])
        assert words in said
        assert len(trailing) / CHARACTERS <= NOTE
        assert tokens(said) + tokens(trailing) <= UNCACHED
        assert 0 < request["max_tokens"] <= 8_000
    for before, after in zip(usages(stage), usages(stage)[1:], strict=False):
        assert after.cache_read == before.cache_read + before.cache_write
        assert after.input <= UNCACHED, "all else is cached for the next call"


def usages(stage: Stage) -> list[Any]:
    return [call.event.usage for call in stage.entries("model-call")]


async def test_a_chooser_is_shown_no_more_than_its_goal_playbook_and_actions(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("DONE"), reply("It is late."))
    await stage.say("alice", ALICE, ASKED)
    [request] = [one for one in stage.model.requests if "why" in str(one.get("output_config"))]
    [head] = [text for one in request["messages"] for text in texts(one["content"]) if "## Goal" in text]
    goal, rest = head.split("## Playbook")
    _, actions = rest.split("## Available Actions")
    assert len(system(request) + goal + actions) / CHARACTERS <= CHOOSER
    assert "How you answer" not in system(request)
    assert "What you can do here" not in system(request)


async def test_what_is_held_to_a_schema_is_not_told_of_sections(stage: Stage) -> None:
    stage.model.say("<aside>Hm.</aside><next>deep_reading</next><say>I read it.</say><mood>neutral</mood>")
    await stage.say("alice", ALICE, "Read the whole thread, please")
    held = [one for one in stage.model.requests if "format" in one.get("output_config", {})]
    assert held
    assert not [one for one in held if "How you answer" in system(one)]


async def test_a_chooser_sees_each_schema_once_and_which_actions_stand_alone(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("DONE"), reply("It is late."))
    await stage.say("alice", ALICE, ASKED)
    [request] = [one for one in stage.model.requests if "why" in str(one.get("output_config"))]
    prompt, schema = str(request["messages"]), str(request["output_config"])
    assert "args: query: a few words that may have been said" in prompt
    assert "a few words that may have been said" not in schema
    assert "'title'" not in schema
    assert '"title"' not in prompt
    alone = re.findall(r"\*\*(\w+)\*\*: [^\\]*Choose it alone\.", prompt)
    assert alone == ["AskPerson"]


async def test_done_ends_a_run_without_a_word_where_nobody_waits(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, reply("Hello all."), turning(say=""), choice("DONE"))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    await stage.say("alice", GENERAL, "The ferry is late again, it seems", ts)
    assert ended(stage) == ["done"]
    assert await stage.answers(GENERAL, ts) == ["Hello all."]
    assert calls(stage)[-1] == "choose"


@pytest.mark.parametrize("say", ["Let me look.", ""])
async def test_whoever_waits_is_answered_though_the_chooser_is_done(stage: Stage, say: str) -> None:
    await deciding(stage)
    answers(stage, reply("Hello all."), turning(say=say), choice("DONE"), reply("It is late."))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    call = f"{ME} " if not say else ""
    await stage.say("alice", GENERAL, f"{call}why is the ferry late?", ts)
    assert ended(stage) == ["done"]
    assert (await stage.answers(GENERAL, ts))[-1] == "It is late."


async def test_the_mood_of_a_first_call_holds_for_the_second_of_its_turn(stage: Stage) -> None:
    await deciding(stage)
    answers(
        stage, reply("Hm.", mood="sardonic"), turning(), choice(looking()), choice("Respond"), reply("So.")
    )
    ts = await stage.say("alice", ALICE, "Print the wiki")
    await stage.say("alice", ALICE, ASKED, ts)
    felt = [re.findall(r"Mood: (\w+)", note(request)) for request in spoken(stage)]
    assert felt == [["neutral"], ["sardonic"], ["focused"]]
    assert [entry.event.mood for entry in stage.entries("mood")] == ["sardonic", "focused", "neutral"]


async def test_a_greeting_says_what_becomes_of_it_where_nothing_else_is_to_be_said(stage: Stage) -> None:
    await stage.say("alice", GENERAL, f"{ME} hello")
    asked = bare(note(spoken(stage)[0]))
    assert "begin <say> with a brief greeting in your own way, also where nothing else is to be said" in asked
    assert "then say nothing in <say> but a greeting that is due" in bare(system(spoken(stage)[0]))
    ts = await stage.say("bob", GENERAL, f"{ME} hello")
    await stage.say("carol", GENERAL, "I was here first", ts)
    unasked = bare(note(spoken(stage)[-1]))
    assert "leave <say> empty, without a word or a greeting" in unasked


def example(form: str) -> str:
    [shown] = re.findall(r"looks like this:\n\n(.*?)\n\n", form, re.S)
    return str(shown)


async def test_the_form_shows_one_whole_answer_whose_words_stand_nowhere_else(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    shown = split_sections(example(system(spoken(stage)[0])), SECTION_NAMES, PRIVATE_TAGS, stage.tags)
    assert shown.is_marked
    assert [*shown.text] == ["aside", "next", "say", "mood", "learned"]
    assert shown.text["next"] in allowed(note(spoken(stage)[0]))
    assert shown.text["mood"] in parse_moods((stage.words / f"{MOODS_TEXT}.md").read_text())
    assert "$" not in example(system(spoken(stage)[0]))
    others = [
        path for path in (*ROOT.glob("prompts/**/*.md"), *ROOT.glob("playbooks/*.md"), ROOT / "soul.md")
    ]
    assert [path.name for path in others if "Ottoline" in path.read_text()] == ["form.md"]


async def test_the_example_fits_the_owners_moods(stage: Stage) -> None:
    await stage.sleep()
    (stage.words / f"{MOODS_TEXT}.md").write_text("- calm: thinks | says | is thinking…\n")
    await stage.wake()
    await stage.say("alice", ALICE, "Hello")
    assert stage.tags.wrapped("mood", "calm") in example(system(spoken(stage)[0]))


SEARCHES = "You search the folders that your owner has opened to you."
REMINDS = "You set reminders"
WORKS = "You work a problem out by yourself"
ALWAYS_TRUE = ("`!memory` shows them", "stops you at once", "nothing of any direct message", "Write no HTML")


async def test_who_asks_what_it_can_do_is_answered_by_what_is_configured(
    dormant: Stage, tmp_path: Path
) -> None:
    stage = dormant
    await stage.wake()
    await stage.say("alice", ALICE, "Who are you, and what can you do?")
    told = system(spoken(stage)[-1])
    for sentence in ALWAYS_TRUE:
        assert sentence in told
    assert "You think something through in the open" in told
    for sentence in (SEARCHES, REMINDS, WORKS, "actions besides"):
        assert sentence not in told
    await stage.sleep()
    folder = tmp_path / "folder"
    folder.mkdir()
    (stage.words / "actions").mkdir(exist_ok=True)
    (stage.words / "actions" / "deploys.py").write_text(LOOKS)
    await stage.wake(ism_enabled=True, knowledge_dirs=(folder,))
    await stage.say("alice", ALICE, "Who are you, and what can you do?")
    told = system(spoken(stage)[-1])
    for sentence in (*ALWAYS_TRUE, SEARCHES, REMINDS, WORKS, "actions besides: LookUpDeploys."):
        assert sentence in told
    assert not re.search(r"^- \[", told, re.M), "conditions are not told"


async def test_what_it_can_do_is_the_owners_text(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    path = stage.words / "prompts" / "abilities.md"
    path.write_text(
        "## $name\n\n- You sing.\n- [deliberation] You count.\n- [Research] You dig.\n- $actions\n"
    )
    await stage.say("alice", ALICE, "And now?", ts)
    assert "## Claudius\n\n- You sing.\n- You count.\n\n" in system(spoken(stage)[-1])


async def test_an_action_that_no_playbook_offers_any_more_is_not_told_of(stage: Stage) -> None:
    await deciding(stage)
    ts = await stage.say("alice", ALICE, "Hello")
    assert REMINDS in system(spoken(stage)[-1])
    for name in ("problem_solving", "expert"):
        book = stage.words / "playbooks" / f"{name}.md"
        book.write_text(book.read_text().replace("Schedule, ", ""))
    await stage.say("alice", ALICE, "And now?", ts)
    assert REMINDS not in system(spoken(stage)[-1])


async def test_files_from_before_explain_the_sections_themselves(stage: Stage) -> None:
    await stage.sleep()
    (stage.words / "prompts" / "pipeline.md").write_text(OLD_PIPELINE)
    for name, text in OLD_STEPS.items():
        (stage.words / "prompts" / "steps" / f"{name}.md").write_text(text)
    await stage.wake()
    answers(stage, reply("Hm.", mood="sardonic"))
    ts = await stage.say("alice", ALICE, "Print the wiki")
    await stage.say("alice", ALICE, "and what is a ferry?", ts)
    asked = bare(note(spoken(stage)[-1]))
    assert "<say>…</say> what Claudius quips to them: the only section that the others read." in asked
    assert "what Claudius turns to now, one of: conversation, closing, " in asked
    assert "closing: they are saying goodbye." in asked
    assert (await stage.answers(ALICE, ts))[-1].startswith("A good question, Alice")


async def test_a_form_that_asks_for_nothing_is_named(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    (stage.words / "prompts" / "pipeline.md").write_text("Answer. $guidance\n")
    await stage.say("alice", ALICE, "Again", ts)
    [fault] = stage.entries("fault")
    assert "it lacks $tags or $sections" in fault.event.text
    assert named(note(spoken(stage)[-1]))[0] == "aside", "the last good one stays in use"


async def test_an_execution_keeps_the_system_text_of_its_begin(stage: Stage) -> None:
    answers(stage, reply("Hello."))
    ts = await stage.say("alice", ALICE, "Hello")
    path = stage.words / "prompts" / "form.md"
    path.write_text(path.read_text().replace("## How you answer", "## How an answer looks"))
    await stage.say("alice", ALICE, "Again", ts)
    first, second = map(system, spoken(stage))
    assert "## How you answer" in first
    assert "## How an answer looks" in second
    made = [entry.event.name for entry in stage.entries("text")]
    assert made.count("made/prompts/form") == 2, "each is recorded once"


THIRD = re.compile(r"\b(Claudius|\$name\b(?! was not run|\*\*))")


def test_every_text_speaks_to_the_soul_and_of_sections_by_their_tags() -> None:
    files = [*ROOT.glob("prompts/*.md"), *ROOT.glob("prompts/steps/*.md")]
    wrong = [
        path.name for path in files if THIRD.search(path.read_text()) or "next section" in path.read_text()
    ]
    assert [name for name in wrong if name != "choosing.md"] == []
    soul = (ROOT / "soul.md").read_text().partition("\n")[2]
    assert not re.search(r"\b(his|her|himself|he|she)\b", soul)


async def test_what_it_could_do_by_an_action_that_there_is_not_is_named_and_not_told(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    path = stage.words / "prompts" / "abilities.md"
    before = path.read_text()
    path.write_text(before + "- [Reserch] You dig.\n")
    await stage.say("alice", ALICE, "Again", ts)
    [fault] = stage.entries("fault")
    assert "there is no process or action Reserch; is it Research?" in fault.event.text
    assert "You dig" not in system(spoken(stage)[-1])
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "And now?", ts)
    assert "You dig" not in system(spoken(stage)[-1])
    assert "stops you at once" in system(spoken(stage)[-1])
