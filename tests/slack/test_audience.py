"""Audiences of conversations in `thread` and `audience` entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.kinds import AudienceChanged, ConversationOpened, IncomingMessage
from daemon.slack.directory import AUDIENCE_SECONDS
from rehearsal.people import BOB, CAROL, SOUL, TEAM
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, RANDOM, Office, office

INFO, MEMBERS, USER = "conversations.info", "conversations.members", "users.info"


async def audience(here: Office, channel: str, name: str = "alice") -> str:
    """Return the audience of a new conversation."""
    await here.say(name, channel, f"{ME} hello")
    return str(here.entries(ConversationOpened)[-1].event.audience)


async def made(here: Office, name: str, *, private: bool) -> str:
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


TOLD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"is_ext_shared": True, "is_private": True}, "shared"),
    ({"is_pending_ext_shared": True}, "shared"),
    ({"pending_shared": ["T2"]}, "shared"),
    ({"pending_connected_team_ids": ["T2"]}, "shared"),
    ({"is_shared": True, "is_org_shared": True}, "public"),
    ({"is_private": True}, "private"),
    ({"is_mpim": True, "is_private": True}, "group"),
    ({}, "public"),
)


async def test_what_slack_tells_of_a_channel(here: Office) -> None:
    for told, expected in TOLD:
        await here.clock.advance(AUDIENCE_SECONDS)
        here.wire.answers[INFO] = {"channel": {"id": GENERAL, "name": "general", **told}}
        assert await audience(here, GENERAL) == expected, told


async def test_what_slack_does_not_tell_is_not_guessed(here: Office) -> None:
    odd: tuple[object, ...] = (None, [], {}, "C1")
    for channel in odd:
        here.wire.answers[INFO] = {"channel": channel}
        assert await audience(here, GENERAL) == "", channel
    del here.wire.answers[INFO]
    assert await audience(here, GENERAL) == "public"


async def test_it_is_believed_for_a_while_and_then_asked_again(here: Office) -> None:
    for _ in range(3):
        await audience(here, RANDOM)
    assert len(here.wire.told(INFO)) == 1
    here.wire.answers[INFO] = {"channel": {"id": RANDOM, "name": "random", "is_ext_shared": True}}
    assert await audience(here, RANDOM) == "public"
    await here.clock.advance(AUDIENCE_SECONDS)
    assert await audience(here, RANDOM) == "shared"


async def test_what_was_believed_long_ago_is_not_believed_where_slack_is_silent(here: Office) -> None:
    assert await audience(here, RANDOM) == "public"
    await here.clock.advance(AUDIENCE_SECONDS)
    here.wire.lacking.add(INFO)
    assert await audience(here, RANDOM) == ""
    assert here.entries(ConversationOpened)[-1].event.place == "#random"


GUESTS: list[dict[str, Any]] = [
    {"team_id": TEAM, "is_restricted": True},
    {"team_id": TEAM, "is_restricted": True, "is_ultra_restricted": True},
    {"team_id": TEAM, "is_stranger": True},
    {"team_id": "T2"},
    {"team_id": "T2", "enterprise_user": {"teams": ["T2", "T3"]}},
]


USERS: tuple[tuple[object, str], ...] = (
    *((guest, "shared") for guest in GUESTS),
    ({"team_id": TEAM, "is_restricted": False, "is_stranger": False}, "dm"),
    ({"team_id": "T2", "enterprise_user": {"teams": ["T2", TEAM]}}, "dm"),
    ({}, ""),
    ("nobody", ""),
    ({"enterprise_user": {"teams": {}}}, ""),
)


async def test_whom_a_dm_is_with(here: Office) -> None:
    dm = await here.dm("alice")
    for user, expected in USERS:
        await here.clock.advance(AUDIENCE_SECONDS)
        here.wire.answers[USER] = {"user": user}
        assert await audience(here, dm) == expected, user


async def test_of_whom_slack_does_not_speak_nothing_is_believed(here: Office) -> None:
    here.wire.lacking.add(USER)
    assert await audience(here, await here.dm("alice")) == ""
    here.wire.lacking.clear()
    assert await audience(here, await here.dm("alice")) == "dm"


async def test_a_group_is_as_open_as_its_members(here: Office) -> None:
    opened = await here.client("alice").conversations_open(users=f"{BOB.id},{CAROL.id},{SOUL.user}")
    group = opened["channel"]["id"]
    assert await audience(here, group) == "group"
    assert await audience(here, group) == "group"
    assert len(here.wire.told(MEMBERS)) == 1
    await here.clock.advance(AUDIENCE_SECONDS)
    here.wire.lacking.add(MEMBERS)
    assert await audience(here, group) == ""
    here.wire.lacking.clear()
    here.wire.refuse[USER] = ["user_not_found"]
    assert await audience(here, group) == "", "one of them is not known"
    await here.clock.advance(AUDIENCE_SECONDS)
    here.wire.answers[USER] = {"user": GUESTS[0]}
    assert await audience(here, group) == "shared"


def noted(here: Office) -> list[tuple[str, str]]:
    """Return audiences recorded after the opening."""
    return [(entry.event.channel, entry.event.audience) for entry in here.entries(AudienceChanged)]


async def made_private(here: Office, channel: str) -> None:
    here.wire.answers[INFO] = {"channel": {"id": channel, "name": "general", "is_private": True}}
    await here.clock.advance(AUDIENCE_SECONDS)


async def test_an_old_conversation_in_a_channel_that_was_made_private(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("alice", GENERAL, "and more", root)
    await made_private(here, GENERAL)
    for word in ("now that we are alone", "listen"):
        await here.say("alice", GENERAL, word, root)
    assert noted(here) == [(GENERAL, "private")]
    *_, note, last, _ = here.entries(AudienceChanged, IncomingMessage)
    assert isinstance(note.event, AudienceChanged), "before what they say there"
    assert isinstance(last.event, IncomingMessage)
    assert last.event.text == "now that we are alone"


async def test_of_two_conversations_the_older_one_goes_on(here: Office) -> None:
    here.wire.answers[INFO] = {"channel": {"id": GENERAL, "name": "general", "is_private": True}}
    root = await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.answers.clear()
    await here.clock.advance(AUDIENCE_SECONDS)
    await here.say("alice", GENERAL, f"{ME} hello again")
    await made_private(here, GENERAL)
    await here.say("alice", GENERAL, "alone again", root)
    assert noted(here) == [(GENERAL, "private")]


async def test_after_a_restart_it_is_written_down_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, clock=clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
    async with office(tmp_path, clock=clock) as here:
        for word in ("one", "two"):
            await here.say("alice", GENERAL, word, root)
        assert noted(here) == [(GENERAL, "public")]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "subtype": "channel_convert_to_private", "ts": "1.000001", "user": "U1"},
        {"type": "channel_shared", "connected_team_id": "T2"},
        {"type": "channel_unshared", "previously_connected_team_id": "T2"},
    ],
)
async def test_what_slack_tells_at_once_is_believed_at_once(here: Office, event: dict[str, Any]) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    here.wire.answers[INFO] = {"channel": {"id": GENERAL, "name": "general", "is_private": True}}
    for _ in range(2):
        await here.event(event={**event, "channel": GENERAL, "event_ts": "1.000001"})
    assert noted(here) == [(GENERAL, "")]
    await here.say("alice", GENERAL, "now that we are alone", root)
    assert noted(here) == [(GENERAL, ""), (GENERAL, "private")]


async def test_a_change_that_cannot_be_read_is_none(here: Office) -> None:
    await here.event(event={"type": "channel_shared", "event_ts": "1.000001"})
    await here.event(event={"type": ["channel_shared"], "subtype": {}})
    assert noted(here) == []


async def test_a_stop_asks_for_no_readers(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.clock.advance(AUDIENCE_SECONDS)
    here.wire.calls.clear()
    await here.say("alice", GENERAL, "stop", root)
    assert here.wire.told(INFO) == []
