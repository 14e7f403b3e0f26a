"""Channels whose id changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.kinds import ChannelMoved, ConversationOpened, IncomingMessage
from daemon.slack.directory import AccessPolicy
from rehearsal.people import SOUL, TEAM
from tests.clock import FakeClock
from tests.slack.absence import addresses, before, later, post
from tests.slack.office import GENERAL, ME, Office, office, until
from tests.slack.voice import ours

NEW = "C0SHARED001"


async def move(here: Office, new: str = NEW, old: str = GENERAL) -> None:
    """Change the channel's id; the soul receives the event."""
    await here.control("channel", token="xoxp-alice", channel=old, id=new, private=True)
    await here.acked()


async def test_its_threads_go_on_and_are_answered_where_it_is_now(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await move(here)
    await here.say("bob", NEW, "and me?", root)
    assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]
    place = here.one(ConversationOpened)
    ts = await here.slack.speaker.finish(place.thread, None, "And you.", "k1", ours)
    assert [one["ts"] for one in await said(here, root)] == [ts]
    assert here.slack.message_link(GENERAL, root, "").endswith(f"/archives/{NEW}/p{root.replace('.', '')}")


async def said(here: Office, root: str) -> list[dict[str, str]]:
    found = await here.replies(NEW, root)
    return [one for one in found if one["user"] == SOUL.user]


async def test_who_can_read_it_is_asked_anew(here: Office) -> None:
    await here.say("alice", GENERAL, f"{ME} hello")
    thread = here.one(ConversationOpened).thread
    here.slack.places.fold()
    was = here.slack.places.channel_of(thread)
    assert was is not None
    assert was.audience == "public"
    await move(here)
    here.slack.places.fold()
    assert was.audience == "", "nobody knows, before its next message"
    await here.say("bob", NEW, f"{ME} hello")
    here.slack.places.fold()
    now = here.slack.places.channel_of(here.entries(ConversationOpened)[-1].thread)
    assert now is was, "it is the same channel"
    assert was.audience == "private"


async def test_it_stays_one_channel_after_a_restart_and_another_move(tmp_path: Path) -> None:
    allowed = AccessPolicy(channels=frozenset({GENERAL}))
    clock = FakeClock()
    async with office(tmp_path, allowed, clock=clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await move(here)
        await move(here, new="C0SHARED002", old=NEW)
    async with office(tmp_path, AccessPolicy(channels=frozenset({"C0SHARED002"})), clock=clock) as here:
        await here.say("bob", "C0SHARED002", "and me?", root)
        await here.say("bob", "C0SHARED002", f"{ME} and here?")
        assert len(here.entries(IncomingMessage)) == 3
        assert {entry.event.channel for entry in here.entries(ConversationOpened)} == {GENERAL}
        await move(here, new=GENERAL, old="C0SHARED002")
        await here.say("bob", GENERAL, "and now?", root)
        assert len(here.entries(IncomingMessage)) == 4


async def test_what_was_missed_in_it_is_found(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await move(here)
        await here.slack.stop()
        await post(here, "bob", NEW, "and me?", root)
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]


async def test_a_move_that_nobody_told_of_is_found(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await here.slack.stop()
        await move_silently(here)
        await post(here, "bob", NEW, "and me?", root)
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]
        assert here.one(ChannelMoved).event.new == NEW
        asked = [one["channel"] for one in here.wire.told("conversations.history") if one.get("inclusive")]
        assert GENERAL not in asked


async def move_silently(here: Office) -> None:
    """Change the channel's id; the event is lost."""
    await here.control("channel", token="xoxp-alice", channel=GENERAL, id=NEW)
    here.lose()


async def test_another_channel_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.say("alice", GENERAL, f"{ME} hello")
        with here.world.workspace.db as db:
            db.execute("delete from member where channel = ? and user = ?", (GENERAL, SOUL.user))
    async with later(tmp_path, clock) as here:
        assert here.entries(ChannelMoved) == []


@pytest.mark.parametrize("type", ["channel_id_changed", "group_id_changed"])
async def test_an_event_that_comes_twice_is_written_down_once(here: Office, type: str) -> None:
    event = {"type": type, "old_channel_id": "G0OLD", "new_channel_id": "C0NEW", "event_ts": "1.000000"}
    for _ in range(2):
        await here.event(event=event)
    moved = here.one(ChannelMoved)
    assert moved.event == ChannelMoved(team=TEAM, old="G0OLD", new="C0NEW")


async def test_a_thread_that_was_begun_before_the_event_came_goes_on(here: Office) -> None:
    with here.world.workspace.db as db:
        db.execute("update channel set id = ? where id = ?", (NEW, GENERAL))
        db.execute("update member set channel = ? where channel = ?", (NEW, GENERAL))
    root = await here.say("alice", NEW, f"{ME} hello")
    await here.event(event={"type": "channel_id_changed", "old_channel_id": GENERAL, "new_channel_id": NEW})
    await here.say("bob", NEW, "and me?", root)
    await until(lambda: len(here.entries(IncomingMessage)) == 2)
    assert len(here.entries(ConversationOpened)) == 1
