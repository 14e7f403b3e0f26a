"""Secret of a DM, kept there."""

from __future__ import annotations

import pytest

from tests.soak import later
from tests.stories.choosing import ON_IT, answers, choice, deciding, looking, told, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

SECRET = "Between us: I am moving to Tromso in spring."
NOTE = {"name": "Remember", "args": {"text": "Alice moves to Tromso in spring.", "about": "Alice"}}
FOUND = "That is what I know."


async def told_in_confidence(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(NOTE, "Respond"), reply("It stays with me."))
    await stage.say("alice", ALICE, SECRET)


@pytest.mark.parametrize("name", [later("alice"), "bob"])
async def test_in_a_channel_nobody_learns_it(stage: Stage, name: str) -> None:
    await told_in_confidence(stage)
    before = len(stage.model.requests)
    answers(stage, turning(), choice(looking("Tromso")), choice("Respond"), reply("I do not know."))
    ts = await stage.say(name, GENERAL, f"{ME} what do you know of Alice moving?")
    assert await stage.answers(GENERAL, ts) == [ON_IT, "I do not know."]
    assert r"<result of=\"SearchMemory\">\nnothing found" in told(stage)
    assert not [asked for asked in stage.asked()[before:] if "in spring" in asked]


async def test_in_her_direct_messages_it_is_known(stage: Stage) -> None:
    await told_in_confidence(stage)
    answers(stage, turning(), choice(looking("Tromso")), choice("Respond"), reply(FOUND))
    ts = await stage.say("alice", ALICE, "what do you know of my moving?")
    assert await stage.answers(ALICE, ts) == [ON_IT, FOUND]
    assert SECRET in told(stage)
    assert "your note about Alice: Alice moves to Tromso in spring." in told(stage)
    assert SECRET in stage.asked()[-1], "and it may speak of it"
