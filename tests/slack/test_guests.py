"""Guests in channels, who narrow the audience. See test_audience.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.kinds import AudienceChanged, ConversationOpened, IncomingMessage, OverheardMessage, PersonMessage
from daemon.slack.directory import AUDIENCE_SECONDS, GROUP_MOST
from rehearsal.people import ALICE, BOB, CAROL, SOUL
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, RANDOM, Office, office

INFO, MEMBERS, USER = "conversations.info", "conversations.members", "users.info"
CROWD = [SOUL.user, ALICE.id, BOB.id, CAROL.id, *(f"U0{n:09}" for n in range(GROUP_MOST))]


async def asks(here: Office, name: str, channel: str) -> str:
    """Mention the soul in a new thread; return the recorded audience."""
    await here.say(name, channel, f"{ME} hello")
    return here.entries(ConversationOpened)[-1].event.audience


async def cellar(here: Office, *others: str) -> str:
    alice = here.client("alice")
    channel = (await alice.conversations_create(name="cellar", is_private=True))["channel"]["id"]
    await alice.conversations_invite(channel=channel, users=",".join([SOUL.user, *others]))
    return str(channel)


def noted(here: Office, channel: str) -> list[str]:
    """Return the channel's audiences in order, without repeats."""
    found: list[str] = []
    for entry in here.entries(ConversationOpened, AudienceChanged):
        assert isinstance(entry.event, ConversationOpened | AudienceChanged)
        if entry.event.channel == channel and found[-1:] != [entry.event.audience]:
            found.append(entry.event.audience)
    return found


@pytest.mark.parametrize("name", ["alice", "carol"])
async def test_a_guest_in_a_small_private_channel_reads_it_who_writes_or_not(here: Office, name: str) -> None:
    here.wire.guests = {CAROL.id}
    assert await asks(here, name, await cellar(here, BOB.id, CAROL.id)) == "shared"


async def test_without_guests_it_is_private_and_slack_is_asked_once_for_a_while(here: Office) -> None:
    channel = await cellar(here, BOB.id, CAROL.id)
    here.wire.calls.clear()
    for name in ("alice", "bob", "carol", "alice"):
        assert await asks(here, name, channel) == "private"
    assert len(here.wire.told(INFO)) == len(here.wire.told(MEMBERS)) == 1
    asked = [args["user"] for args in here.wire.told(USER)]
    assert sorted(asked) == sorted([ALICE.id, BOB.id, CAROL.id])
    here.wire.guests = {CAROL.id}
    await here.clock.advance(AUDIENCE_SECONDS)
    assert await asks(here, "alice", channel) == "shared"
    assert noted(here, channel) == ["private", "shared"]


async def test_when_the_guest_has_left_it_is_private_again(here: Office) -> None:
    here.wire.guests = {CAROL.id}
    channel = await cellar(here, BOB.id, CAROL.id)
    assert await asks(here, "alice", channel) == "shared"
    here.wire.answers[MEMBERS] = {"members": [SOUL.user, ALICE.id, BOB.id]}
    await here.clock.advance(AUDIENCE_SECONDS)
    assert await asks(here, "alice", channel) == "private"


async def test_where_slack_does_not_know_a_member_nothing_is_guessed_nor_asked_each_time(
    here: Office,
) -> None:
    channel = await cellar(here)
    here.wire.answers[MEMBERS] = {"members": [SOUL.user, ALICE.id, "U0NOBODY000"]}
    for _ in range(3):
        assert await asks(here, "alice", channel) == ""
    assert len(here.wire.told(MEMBERS)) == 1


@pytest.mark.parametrize("members", [None, "many", {}])
async def test_where_slack_does_not_show_the_members_nothing_is_guessed(
    here: Office, members: object
) -> None:
    channel = await cellar(here)
    here.wire.answers[MEMBERS] = {"members": members}
    assert await asks(here, "alice", channel) == ""
    assert here.entries(ConversationOpened)[-1].event.place == "#cellar"


@pytest.mark.parametrize(
    "answer",
    [{"members": CROWD}, {"members": CROWD[:5], "response_metadata": {"next_cursor": "dXNlcg=="}}],
)
async def test_in_a_large_private_channel_a_guest_is_seen_when_they_write(
    here: Office, answer: dict[str, object]
) -> None:
    here.wire.guests = {CAROL.id}
    here.wire.answers[MEMBERS] = answer
    channel = await cellar(here, BOB.id, CAROL.id)
    here.wire.calls.clear()
    assert await asks(here, "alice", channel) == "private"
    assert [args["user"] for args in here.wire.told(USER)] == [ALICE.id]
    assert await asks(here, "carol", channel) == "shared"
    assert await asks(here, "alice", channel) == "shared"
    await here.clock.advance(AUDIENCE_SECONDS)
    assert await asks(here, "bob", channel) == "shared"
    assert len(here.wire.told(MEMBERS)) == 1


async def test_a_guest_who_writes_in_a_public_channel_reads_it_for_good(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, clock=clock) as here:
        here.wire.guests = {CAROL.id}
        assert await asks(here, "alice", RANDOM) == "public"
        assert await asks(here, "carol", RANDOM) == "shared"
        assert await asks(here, "alice", GENERAL) == "public", "of another channel that says nothing"
    async with office(tmp_path, clock=clock) as here:
        assert await asks(here, "alice", RANDOM) == "shared"
        await here.event(event={"type": "channel_unshared", "channel": RANDOM, "event_ts": "1.000001"})
        assert await asks(here, "bob", RANDOM) == "shared"


async def test_it_is_written_down_before_what_the_guest_says(here: Office) -> None:
    here.wire.guests = {CAROL.id}
    root = await here.say("alice", RANDOM, f"{ME} hello")
    await here.say("bob", RANDOM, f"<@{CAROL.id}> look at this", root)
    assert noted(here, RANDOM) == ["public"], "who is mentioned need not read it"
    await here.say("carol", RANDOM, f"<@{BOB.id}> I do", root)
    assert noted(here, RANDOM) == ["public", "shared"]
    *_, note, last = here.entries(AudienceChanged, IncomingMessage, OverheardMessage)
    assert isinstance(note.event, AudienceChanged)
    assert isinstance(last.event, PersonMessage)
    assert last.event.text == "@Bob I do"


async def test_what_a_known_guest_says_to_others_counts_and_costs_no_question(here: Office) -> None:
    here.wire.guests = {CAROL.id}
    assert await asks(here, "alice", RANDOM) == "public"
    await here.say("carol", RANDOM, "lunch?")
    assert await asks(here, "alice", RANDOM) == "public", "nobody asked who she is"
    await here.say("carol", await here.dm("carol"), "hello")
    here.wire.calls.clear()
    await here.say("carol", RANDOM, "dinner?")
    assert here.wire.told(USER) == []
    assert await asks(here, "alice", RANDOM) == "shared"


async def test_what_a_guest_said_before_the_soul_was_called_counts_when_it_is_read(here: Office) -> None:
    here.wire.guests = {CAROL.id}
    root = await here.say("carol", RANDOM, "the build is red")
    await here.say("alice", RANDOM, f"{ME} can you look?", root)
    assert noted(here, RANDOM) == ["public"]
    await here.slack.surroundings.earlier_messages(here.entries(ConversationOpened)[-1].thread)
    assert noted(here, RANDOM) == ["public", "shared"]


async def test_a_channel_in_which_only_members_write_stays_public(here: Office) -> None:
    here.wire.guests = {CAROL.id}
    for name in ("alice", "bob", "alice"):
        assert await asks(here, name, RANDOM) == "public"
    assert here.wire.told(MEMBERS) == []
    assert here.entries(AudienceChanged) == []
