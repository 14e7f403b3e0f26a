"""Audiences of channels by keys, equal to those from all entries."""

from __future__ import annotations

from daemon.engine.journal.reader import ALWAYS
from daemon.knowledge.visibility import ChannelAudiences, ChannelId, KnownChannels
from tests.knowledge.office import Office

HERE = ChannelId("T1", "C1")


async def test_it_tells_the_same_of_any_moment_as_the_fold_of_all_places(office: Office) -> None:
    first = await office.open("C1", "public")
    await office.open("C10", "private")
    await office.turn("C1", "private")
    await office.open("C1", "")
    await office.turn("C1", "shared", team="T2")
    await office.turn("C1", "shared")
    audiences = ChannelAudiences(office.journal)
    await audiences.load([HERE])
    await office.open("C1", "shared")
    await office.turn("C1", "public")
    late = ChannelAudiences(office.journal)
    channel = KnownChannels(office.journal).channel_of(first)
    assert channel
    for seq in [*range(2, office.journal.last_seq_of_all() + 2), ALWAYS]:
        assert (
            audiences.audience_before(HERE, seq)
            == late.audience_before(HERE, seq)
            == channel.audience_before(seq)
        ), seq


async def test_a_thread_is_in_the_channel_in_which_its_root_was_opened(office: Office) -> None:
    thread = await office.open("C1")
    audiences = ChannelAudiences(office.journal)
    assert audiences.channel_of(f"{thread}.branch") == HERE
    assert audiences.channel_of("sess-inner") is None
    another = await office.open("C2")
    assert audiences.channel_of(another) == ChannelId("T1", "C2")
