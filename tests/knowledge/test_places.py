"""Visibility by audience, while channels change."""

from __future__ import annotations

import pytest

from daemon.kinds import AudienceChanged, ConversationOpened
from daemon.knowledge.visibility import KnownChannels, may_know
from tests.knowledge.office import Office

AUDIENCES = ("public", "private", "group", "dm", "shared", "")


def noted(channel: str, audience: str, team: str = "T1") -> AudienceChanged:
    return AudienceChanged(team=team, channel=channel, audience=audience)


@pytest.mark.parametrize("here", AUDIENCES)
@pytest.mark.parametrize("there", AUDIENCES)
def test_only_what_was_public_is_known_elsewhere_and_never_among_outsiders(here: str, there: str) -> None:
    known = may_know(noted("C1", here), noted("C2", there))
    assert known == (there == "public" and here in ("public", "private", "group", "dm"))


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_channel_knows_itself(audience: str) -> None:
    assert may_know(noted("C1", audience), noted("C1", audience))


def test_another_team_knows_nothing() -> None:
    assert not may_know(noted("C1", "public", "T1"), noted("C1", "public", "T2"))


async def channels(places: KnownChannels, thread: str, before: int) -> set[str]:
    """Return the channels visible in this thread."""
    here = places.channel_of(thread)
    assert here
    return {there.channel for there in places.visible_channels(here, before)}


async def test_a_channel_that_was_made_private_is_no_longer_known_elsewhere(office: Office) -> None:
    places = KnownChannels(office.journal)
    await office.open("C1", "public")
    here = await office.open("C2", "public")
    before = office.journal.last_seq_of_all() + 1
    assert await channels(places, here, before) == {"C1", "C2"}
    await office.open("C1", "private")
    assert await channels(places, here, office.journal.last_seq_of_all() + 1) == {"C2"}
    assert await channels(places, here, before) == {"C1", "C2"}, "a body sees what it saw as it began"
    assert await channels(KnownChannels(office.journal), here, before) == {"C1", "C2"}


async def test_a_channel_that_was_shared_knows_nothing_else_from_then_on(office: Office) -> None:
    places = KnownChannels(office.journal)
    here = await office.open("C1", "public")
    await office.open("C2", "public")
    await office.open("C1", "shared")
    assert await channels(places, here, office.journal.last_seq_of_all() + 1) == {"C1"}


@pytest.mark.parametrize("audience", ["private", "shared", ""])
async def test_so_it_is_where_an_old_conversation_goes_on(office: Office, audience: str) -> None:
    places = KnownChannels(office.journal)
    await office.open("C1", "public")
    here = await office.open("C2", "public")
    before = office.journal.last_seq_of_all() + 1
    assert await channels(places, here, before) == {"C1", "C2"}
    await office.turn("C1", audience)
    assert places.channel_of("slack:T1") is None
    for one in (places, KnownChannels(office.journal)):
        assert await channels(one, here, office.journal.last_seq_of_all() + 1) == {"C2"}
        assert await channels(one, here, before) == {"C1", "C2"}
    await office.open("C1", "public")
    assert await channels(KnownChannels(office.journal), here, office.journal.last_seq_of_all() + 1) == {
        "C1",
        "C2",
    }


async def test_a_channel_keeps_its_name_where_slack_does_not_say_it(office: Office) -> None:
    places = KnownChannels(office.journal)
    names = list[str]()
    for said in ("a channel", "#attic", "#loft", "a channel"):
        channel = places.channel_of(await office.open("C1", place=said))
        assert channel
        names.append(channel.now)
    assert names == ["a channel", "#attic", "#loft", "#loft"]


async def test_a_channel_in_which_nobody_spoke_is_none(office: Office) -> None:
    here = await office.open("C1", "public")
    await office.turn("C2", "public")
    assert await channels(KnownChannels(office.journal), here, office.journal.last_seq_of_all() + 1) == {"C1"}


async def test_what_it_said_unasked_is_known_by_its_ts_whenever_it_was_said(office: Office) -> None:
    places = KnownChannels(office.journal)
    for channel in ("C1", "C2"):
        top = ConversationOpened(
            team="T1",
            channel=channel,
            ts="",
            where="channel",
            place=f"#{channel}",
            audience="public",
            user="",
            called_by="",
        )
        await office.journal.open_thread(f"thread:T1:{channel}:", top)
    at_the_top = office.journal.get("thread:T1:C1:")
    assert at_the_top
    below = await office.open("C1")
    said = []
    for number in range(3):
        said.append(await office.speak(at_the_top.thread, f"No. {number}"))
        answered = await office.speak(below, f"Answer {number}")
        assert [places.find_unprompted("T1", "C1", one.event.ts) for one in said] == [one.seq for one in said]
        assert not places.find_unprompted("T1", "C1", answered.event.ts), "it stands in a thread"
    assert not places.find_unprompted("T1", "C1", "")
    for team, channel in (("T1", "C2"), ("T1", "C3"), ("T2", "C1")):
        assert not places.find_unprompted(team, channel, said[0].event.ts)
