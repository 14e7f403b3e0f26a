"""Who can read what is said in a conversation, as its `thread` entry tells."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.rehearsal.people import BOB, SOUL
from daemon.slack.people import FRESH
from tests.slack.office import GENERAL, ME, RANDOM, Office

INFO = "conversations.info"


async def audience(here: Office, channel: str, name: str = "alice") -> str:
    """What is noted of a conversation that begins now."""
    await here.say(name, channel, f"{ME} hello")
    return str(here.entries("thread")[-1].body["audience"])


async def made(here: Office, name: str, *, private: bool) -> str:
    """A channel of Alice's, with the soul in it."""
    alice = here.client("alice")
    channel = (await alice.conversations_create(name=name, is_private=private))["channel"]["id"]
    if private:
        await alice.conversations_invite(channel=channel, users=SOUL.user)
    return str(channel)


async def test_the_kinds_are_told_apart(here: Office) -> None:
    assert await audience(here, GENERAL) == "public"
    assert await audience(here, await here.dm("alice")) == "dm"
    group = await here.client("alice").conversations_open(users=f"{BOB.id},{SOUL.user}")
    assert await audience(here, group["channel"]["id"]) == "group"
    assert await audience(here, await made(here, "cellar", private=True)) == "private"
    assert await audience(here, await made(here, "ext-friends", private=False)) == "shared"
    assert await audience(here, await made(here, "ext-cellar", private=True)) == "shared"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"is_ext_shared": True, "is_private": True}, "shared"),
        ({"is_pending_ext_shared": True}, "shared"),
        ({"pending_shared": ["T2"]}, "shared"),
        ({"pending_connected_team_ids": ["T2"]}, "shared"),
        ({"is_shared": True, "is_org_shared": True}, "public"),
        ({"is_private": True}, "private"),
        ({"is_mpim": True, "is_private": True}, "group"),
        ({}, "public"),
    ],
)
async def test_what_slack_tells_of_a_channel(here: Office, told: dict[str, Any], expected: str) -> None:
    here.wire.answers[INFO] = {"channel": {"id": GENERAL, "name": "general", **told}}
    assert await audience(here, GENERAL) == expected


@pytest.mark.parametrize("channel", [None, [], {}, "C1"])
async def test_what_slack_does_not_tell_is_not_guessed(here: Office, channel: object) -> None:
    here.wire.answers[INFO] = {"channel": channel}
    assert await audience(here, GENERAL) == ""
    del here.wire.answers[INFO]
    assert await audience(here, GENERAL) == "public"


async def test_it_is_believed_for_a_while_and_then_asked_again(here: Office) -> None:
    for _ in range(3):
        await audience(here, RANDOM)
    assert len(here.wire.told(INFO)) == 1
    here.wire.answers[INFO] = {"channel": {"id": RANDOM, "name": "random", "is_ext_shared": True}}
    assert await audience(here, RANDOM) == "public"
    await here.clock.advance(FRESH)
    assert await audience(here, RANDOM) == "shared"


async def test_what_was_believed_long_ago_is_not_believed_where_slack_is_silent(here: Office) -> None:
    assert await audience(here, RANDOM) == "public"
    await here.clock.advance(FRESH)
    here.wire.lacking.add(INFO)
    assert await audience(here, RANDOM) == ""
    assert here.entries("thread")[-1].body["place"] == "#random"
