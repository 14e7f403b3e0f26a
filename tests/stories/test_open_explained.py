"""Explanations of tags, and titles of plans."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.kinds import PlanChanged
from daemon.prompts.elements import EXPLAIN_TAG, ROOT_TAGS, THOUGHT_TAG
from daemon.prompts.prompt_catalogue import split_by_headings
from tests.source import ROOT
from tests.stories.stage import ALICE, Stage, staged
from tests.stories.test_open_thought import final, prompts, thinks

OPEN = ROOT / "prompts" / "open"
TAGS = split_by_headings((OPEN / "tags.md").read_text())
TITLED = (
    '<todo-until title="The fruit in the bowl" condition="the project has ended">'
    '<step done="{}">pears</step></todo-until>'
)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        for text in OPEN.glob("*.md"):
            (stage.words / "prompts" / "open" / text.name).write_bytes(text.read_bytes())
        await stage.wake()
        yield stage


def explains(tag: str) -> str:
    return f'<explain tag="{tag}"/>'


async def test_a_tag_is_explained_when_the_soul_asks_and_it_goes_on(stage: Stage) -> None:
    thinks(stage, explains("todo-until"), final("Three."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["Three."]
    before, after = prompts(stage)
    assert "condition" not in before
    assert '<step done=\\"true\\">' in after or '<step done="true">' in after
    assert "what they read above it" in after
    [told] = stage.entries("system-message")
    assert told.event.text == f'<system-note code="explained">\n{TAGS["todo-until"]}\n</system-note>'
    assert len(stage.entries("self-call")) == 1, "it takes a step of those that it may have"


async def test_who_does_not_ask_pays_nothing_for_it(stage: Stage) -> None:
    thinks(stage, final("Three."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["Three."]
    [asked] = prompts(stage)
    assert not any(text in asked for text in TAGS.values())
    assert not stage.entries("system-message")


FORMS = [
    ("<explain>fan-out</explain>", "A branch for each item."),
    (explains("&lt;send&gt;"), "A message to one of your branches"),
    (explains("Research"), "no such tag"),
    (explains(""), "no such tag"),
    (explains("no-such"), "todo-until, spawn-thread"),
    (explains("SearchMemory"), "Inside it: `<query>`"),
    (explains("send") + explains("fan-out"), "A message to one of your branches"),
]


async def test_it_may_be_asked_in_any_form(stage: Stage) -> None:
    for written, told in FORMS:
        before = len(stage.entries("system-message"))
        thinks(stage, written, final("Three."))
        ts = await stage.say("alice", ALICE, "How many fruits?")
        assert await stage.answers(ALICE, ts) == ["Three."]
        texts = " ".join(entry.event.text for entry in stage.entries("system-message")[before:])
        assert told in texts


async def test_whoever_only_asks_comes_to_an_end(stage: Stage) -> None:
    tags = [*TAGS]
    thinks(stage, *[explains(tags[n % 2]) for n in range(14)])
    stage.model.say("It is three.", asks="Give your final answer now")
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "It is three."


async def test_people_see_the_title_and_the_soul_keeps_the_condition(stage: Stage) -> None:
    thinks(stage, TITLED.format("false"), TITLED.format("true"), final("Three."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["1/1 The fruit in the bowl", "Three."]
    plans = [entry.event for entry in stage.entries("plan")]
    assert {(plan.title, plan.condition) for plan in plans} == {
        ("The fruit in the bowl", "the project has ended")
    }
    shown = stage.entries("card-shown")[-1].event
    assert (shown.title, shown.condition) == ("The fruit in the bowl", "the project has ended")
    said = str(await stage.client("alice").conversations_replies(channel=ALICE, ts=ts))
    assert "the project has ended" not in said
    assert "the project has ended" in prompts(stage)[-1]


async def test_a_plan_that_changes_its_title_alone_changes_the_card(stage: Stage) -> None:
    other = TITLED.format("false").replace("The fruit in the bowl", "Fruit")
    thinks(
        stage,
        TITLED.format("false"),
        other + "<claudius>Count on.</claudius>",
        TITLED.format("true"),
        final("3."),
    )
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[-1] == "3."
    titles = [entry.event.title for entry in stage.entries("card-shown")]
    assert titles == ["The fruit in the bowl", "Fruit", "The fruit in the bowl"]


async def test_a_plan_that_is_written_again_without_its_title_keeps_it(stage: Stage) -> None:
    untitled = TITLED.replace('title="The fruit in the bowl" ', "")
    thinks(stage, TITLED.format("false"), untitled.format("true"), final("Three."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["1/1 The fruit in the bowl", "Three."]
    said = str(await stage.client("alice").conversations_replies(channel=ALICE, ts=ts))
    assert "the project has ended" not in said


def test_a_plan_of_before_has_its_condition_as_its_title() -> None:
    plan = PlanChanged(condition="all counted", steps=(("pears", "open"),))
    assert (plan.heading, plan.line()) == ("all counted", "0/1: all counted")


def test_each_tag_has_one_line_and_an_explanation() -> None:
    told = (OPEN / "deliberation.md").read_text()
    others = [tag for tag in ROOT_TAGS if tag not in (THOUGHT_TAG, EXPLAIN_TAG)]
    assert [*TAGS] == others
    for tag in others:
        assert told.count(f"<{tag}>") == 1, tag
        assert f"<{tag} " in TAGS[tag], tag


def test_no_text_holds_a_placeholder_that_a_model_could_copy() -> None:
    for text in OPEN.glob("*.md"):
        words = text.read_text()
        filled = re.findall(r"<(\$self|\$final)>([^`\n]+)</", words)
        assert not filled, text.name
        assert "a step</step>" not in words
        assert "what must hold" not in words
