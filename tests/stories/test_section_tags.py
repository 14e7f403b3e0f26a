"""Section tags with an installation's suffix."""

from __future__ import annotations

import pytest

from tests.stories.stage import ALICE, Stage, reply


def marked(stage: Stage, said: str) -> str:
    tags = stage.tags
    sections = {"aside": "Private thoughts.", "say": said, "mood": "neutral"}
    return "\n".join(tags.wrapped(tag, text) for tag, text in sections.items())


def system(stage: Stage) -> str:
    return str(stage.model.requests[-1]["system"])


async def test_the_prompt_names_the_tags_with_the_suffix_that_was_drawn_once(stage: Stage) -> None:
    with (stage.words / "prompts" / "mood.md").open("a") as mood:
        mood.write("Show it in `<mood>` alone.")
    ts = await stage.say("alice", ALICE, "Do you like tea?")
    drawn = stage.tags.suffix
    asked = stage.asked()[-1]
    for tag in ("aside", "say", "mood"):
        assert f"<{tag}-{drawn}>" in asked
        assert f"<{tag}>" not in asked
    assert f"Show it in `<mood-{drawn}>` alone." in asked, "in any text of the owner's"
    assert f"`<say-{drawn}>` and `</say-{drawn}>`" in system(stage)
    assert "<say>" not in system(stage)
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "And coffee?", ts)
    assert stage.tags.suffix == drawn, "it is drawn once"
    assert [call.event.suffix for call in stage.entries("model-call")][-1] == drawn


async def test_an_earlier_answer_is_shown_with_marked_tags_though_it_came_with_bare_ones(
    stage: Stage,
) -> None:
    stage.model.say(reply("Tea is fine."))
    ts = await stage.say("alice", ALICE, "Do you like tea?")
    stage.model.say(marked(stage, "Coffee, too."))
    await stage.say("alice", ALICE, "And coffee?", ts)
    assert await stage.answers(ALICE, ts) == ["Tea is fine.", "Coffee, too."]
    await stage.say("alice", ALICE, "And mate?", ts)
    own = [text for role, text in stage.prompt() if role == "assistant"]
    assert own == [marked(stage, "Tea is fine."), marked(stage, "Coffee, too.")]


TWIML = (
    "A `<say>` element, in TwiML:\n```xml\n<Response><Say>Hi</Say><Say>Ho</Say></Response>\n```\n"
    "Mine are <say>…</say>, <next> and <aside>; HTML has </aside>."
)


@pytest.mark.parametrize("chunk", [7, 1_000])
async def test_an_answer_about_the_format_arrives_whole(stage: Stage, chunk: int) -> None:
    stage.model.say(marked(stage, TWIML), chunk=chunk)
    ts = await stage.say("alice", ALICE, "How does one write a <say> element?")
    assert await stage.answers(ALICE, ts) == [TWIML]
    assert len(stage.asked()) == 1


@pytest.mark.parametrize("chunk", [3, 1_000])
async def test_an_entity_outside_code_is_read_as_its_character(stage: Stage, chunk: int) -> None:
    stage.model.say(marked(stage, "AT&amp;T, `AT&amp;T` and &lt;/say&gt;"), chunk=chunk)
    ts = await stage.say("alice", ALICE, "Which company?")
    assert await stage.answers(ALICE, ts) == ["AT&T, `AT&amp;T` and </say>"]
