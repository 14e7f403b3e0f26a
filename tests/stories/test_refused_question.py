"""Questions with refused buttons."""

from __future__ import annotations

import pytest

from rehearsal.people import CAROL
from tests.stories.choosing import answers, choice, ended, pressed, questions, shown
from tests.stories.stage import GENERAL, Stage, reply
from tests.stories.test_approval import DONE, NEWS, asking


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def test_a_question_whose_markdown_is_refused_has_its_buttons_under_plain_text(stage: Stage) -> None:
    published: list[str] = []
    stage.wire.refuses = lambda _, given: (
        "invalid_blocks" if "markdown" in [block["type"] for block in given.get("blocks") or ()] else ""
    )
    ts = await asking(stage, published, CAROL.id)
    _, buttons = (await shown(stage, GENERAL, ts))[-1]
    assert buttons == ["Approve", "Decline"]
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert ended(stage) == ["finished"]
    assert (await stage.answers(GENERAL, ts))[-1] == DONE
    assert [buttons for _, buttons in await shown(stage, GENERAL, ts) if buttons] == []


async def test_a_question_that_slack_takes_in_no_form_ends_the_turn_and_people_know(stage: Stage) -> None:
    published: list[str] = []
    stage.wire.refuses = lambda _, given: "a_word_of_tomorrow" if given.get("blocks") else ""
    ts = await asking(stage, published, CAROL.id)
    sentence = (stage.words / "prompts/sentences/unsayable.md").read_text().strip()
    assert (await stage.answers(GENERAL, ts))[-1] == sentence
    assert (published, questions(stage)) == ([], [])
    assert not stage.pending("asked", "action", "input", "turn-began", "speech")
    assert "a_word_of_tomorrow" in str((await stage.health())[1]["wrong"])
    answers(stage, reply("I am here."))
    await stage.say("alice", GENERAL, "Are you there?", ts)
    assert (await stage.answers(GENERAL, ts))[-1] == "I am here."
