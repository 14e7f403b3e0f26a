"""Public messages, not used before a guest who could not read them."""

from __future__ import annotations

import pytest

from rehearsal.people import CAROL, SOUL
from tests.stories.choosing import ON_IT, answers, choice, deciding, looking, told, turning
from tests.stories.stage import GENERAL, ME, RANDOM, Stage, reply

PLAN = "The launch is on the ninth of May."
NOTHING = r"<result of=\"SearchMemory\">\nnothing found"


async def cellar(stage: Stage) -> str:
    alice = stage.client("alice")
    channel = (await alice.conversations_create(name="cellar", is_private=True))["channel"]["id"]
    await alice.conversations_invite(channel=channel, users=f"{SOUL.user},{CAROL.id}")
    return str(channel)


async def told_in_public(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, reply("I see."))
    await stage.say("alice", GENERAL, f"{ME} {PLAN}")


async def asks(stage: Stage, name: str, channel: str) -> str:
    answers(stage, turning(), choice(looking("launch")), choice("Respond"), reply("That is it."))
    ts = await stage.say(name, channel, f"{ME} when is it?")
    assert await stage.answers(channel, ts) == [ON_IT, "That is it."]
    return told(stage)


@pytest.mark.parametrize("name", ["alice", "carol"])
async def test_in_a_private_channel_with_a_guest_it_is_not_known(stage: Stage, name: str) -> None:
    stage.wire.guests = {CAROL.id}
    await told_in_public(stage)
    found = await asks(stage, name, await cellar(stage))
    assert NOTHING in found
    assert PLAN not in found


async def test_in_one_without_guests_it_is(stage: Stage) -> None:
    await told_in_public(stage)
    assert PLAN in await asks(stage, "carol", await cellar(stage))


async def test_in_a_public_channel_it_is_known_until_a_guest_writes_there(stage: Stage) -> None:
    stage.wire.guests = {CAROL.id}
    await told_in_public(stage)
    assert PLAN in await asks(stage, "alice", RANDOM)
    found = await asks(stage, "carol", RANDOM)
    assert NOTHING in found
    assert PLAN not in found
    assert PLAN not in await asks(stage, "alice", RANDOM)
