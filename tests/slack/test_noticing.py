"""Ambient messages and reactions, kept for the inner life only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import find_thread
from daemon.engine.event import Entry
from daemon.engine.execution import no_lease_check
from daemon.engine.journal.verify import verify
from daemon.kinds import (
    AmbientMessage,
    AudienceChanged,
    ConversationOpened,
    ForgetRequested,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    ReactionChanged,
    SoulTurnBegan,
    StopRequest,
)
from daemon.knowledge.visibility import KnownChannels
from daemon.slack.directory import AUDIENCE_SECONDS, AccessPolicy
from rehearsal.people import ALICE, BOB, ECHO, SOUL, TEAM
from tests.clock import FakeClock
from tests.slack.absence import asked, post
from tests.slack.office import GENERAL, ME, RANDOM, Office, office, until
from tests.slack.work import SIGN, answers, begins, called, ends, react

ECHOES = "xoxb-rehearsal-2"
KEY = f"noticed:{TEAM}:{GENERAL}"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path, notes=True) as here:
        yield here
        assert verify(here.journal).violations == []


def noticed(here: Office) -> list[str]:
    return [entry.event.text for entry in here.entries(AmbientMessage)]


def channel_of(here: Office, channel: str = GENERAL) -> Entry[ConversationOpened]:
    return next(one for one in here.entries(ConversationOpened) if one.key == f"thread:{TEAM}:{channel}:")


async def take_away(here: Office, name: str, ts: str, emoji: str) -> None:
    await here.client(name).reactions_remove(channel=GENERAL, timestamp=ts, name=emoji)
    await here.acked()


async def test_chatter_stands_in_the_thread_of_its_channel_and_wakes_nobody(here: Office) -> None:
    root = await here.say("alice", GENERAL, "lunch at noon? #food")
    reply = await here.say("bob", GENERAL, "yes", root)
    place = channel_of(here)
    assert (place.event.ts, place.event.called_by) == ("", "")
    assert (place.event.place, place.event.audience) == ("#general", "public")
    first, second = here.entries(AmbientMessage)
    assert (first.key, second.key) == (f"{KEY}:{root}", f"{KEY}:{reply}")
    assert (first.thread, first.author, first.cause) == (place.thread, ALICE.id, place.seq)
    assert (first.event.name, first.event.text) == ("Alice", "lunch at noon? #food")
    assert here.woken == []
    assert here.journal.threads_with_pending(PersonMessage) == []


async def test_without_an_inner_life_nothing_of_it_is_written(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        root = await here.say("alice", GENERAL, "lunch?")
        await here.say("bob", GENERAL, "yes", root)
        await here.client("alice").chat_update(channel=GENERAL, ts=root, text="dinner?")
        await react(here, "bob", root, "thumbsup")
        await react(here, "bob", root, SIGN)
        await take_away(here, "bob", root, "thumbsup")
        await here.client("alice").chat_delete(channel=GENERAL, ts=root)
        await here.acked()
        assert here.taken() == []
        assert here.entries(ReactionChanged, AudienceChanged) == []


async def test_what_slack_tells_twice_is_noticed_once(here: Office) -> None:
    event: dict[str, Any] = {"type": "message", "channel": GENERAL, "channel_type": "channel"}
    event |= {"user": ALICE.id, "text": "lunch?", "ts": "5.000001"}
    reaction: dict[str, Any] = {"type": "reaction_added", "user": BOB.id, "reaction": "eyes"}
    reaction |= {"event_ts": "6.000001"}
    reaction["item"] = {"type": "message", "channel": GENERAL, "ts": "5.000001"}
    for _ in range(2):
        await here.event(event=event)
        await here.event(event=reaction)
    assert noticed(here) == ["lunch?"]
    key = f"reaction:{TEAM}:{GENERAL}:5.000001:{BOB.id}:eyes:6.000001"
    assert here.one(ReactionChanged).key == key


async def test_only_of_those_who_may_speak_to_it_and_where_they_may(tmp_path: Path) -> None:
    allowed = AccessPolicy(users=frozenset({ALICE.id}), channels=frozenset({GENERAL}))
    async with office(tmp_path, allowed, notes=True) as here:
        for channel in (GENERAL, RANDOM):
            for name in ("alice", "bob", ECHOES, SOUL.bot_token):
                ts = await here.say(name, channel, f"{name} in {channel}")
                await react(here, "alice", ts, "eyes", channel)
                await react(here, "bob", ts, "eyes", channel)
        await here.say("bob", GENERAL, f"{ME} hello")
        assert noticed(here) == [f"alice in {GENERAL}"]
        reactions = [(entry.event.user, entry.key.split(":")[2]) for entry in here.entries(ReactionChanged)]
        assert reactions == [(ALICE.id, GENERAL)] * 4


async def test_bots_only_if_they_are_named(tmp_path: Path) -> None:
    allowed = AccessPolicy(bots=frozenset({ECHO.bot, SOUL.bot}), channels=frozenset({GENERAL}))
    async with office(tmp_path, allowed, notes=True) as here:
        await here.say(ECHOES, GENERAL, "the build is red")
        await here.say(ECHOES, RANDOM, "the build is green")
        await here.say(SOUL.bot_token, GENERAL, "good morning")
        await here.heard_out()
        assert [(entry.event.text, entry.event.bot) for entry in here.entries(AmbientMessage)] == [
            ("the build is red", True)
        ]


async def test_no_bot_where_none_is_named(here: Office) -> None:
    await here.say(ECHOES, GENERAL, "the build is red")
    assert here.taken() == []


async def test_its_changes_are_noticed_as_they_come(here: Office) -> None:
    root = await here.say("alice", GENERAL, "lunch?")
    await here.client("alice").chat_update(channel=GENERAL, ts=root, text="dinner?")
    await here.client("alice").chat_delete(channel=GENERAL, ts=root)
    await here.acked()
    _, edited, deleted = here.entries(AmbientMessage)
    assert edited.key.startswith(f"{KEY}:{root}:edited:")
    assert deleted.key.startswith(f"{KEY}:{root}:deleted:")
    assert (edited.event.text, edited.event.note) == ("dinner?", "edited")
    assert (deleted.event.text, deleted.event.note, deleted.event.ts) == ("", "deleted", root)
    assert here.entries(OverheardMessage) == []


async def test_who_may_speak_no_more_can_still_take_back_what_they_said(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, clock=clock, notes=True) as here:
        ts = await here.say("alice", GENERAL, "lunch?")
    async with office(tmp_path, AccessPolicy(users=frozenset({BOB.id})), clock=clock, notes=True) as here:
        await here.client("alice").chat_delete(channel=GENERAL, ts=ts)
        await here.acked()
        assert [entry.event.note for entry in here.entries(AmbientMessage)] == ["", "deleted"]


async def test_who_is_called_later_still_reads_it_as_history(here: Office) -> None:
    root = await here.say("alice", GENERAL, "the build is red")
    await here.say("bob", GENERAL, "again?", root)
    await here.say("alice", GENERAL, f"{ME} can you look?", root)
    thread = here.one(IncomingMessage).thread
    assert thread != channel_of(here).thread
    earlier = await here.slack.surroundings.earlier_messages(thread)
    assert earlier
    assert [one.event.text for one in earlier.heard] == ["the build is red", "again?"]
    assert earlier.heard[0].key == f"heard:{TEAM}:{GENERAL}:{root}"
    assert find_thread(here.journal, f"{GENERAL}:{root}").thread == thread


async def test_a_reply_that_was_noticed_before_its_call_came_is_answered(here: Office) -> None:
    message: dict[str, Any] = {"type": "message", "channel": GENERAL, "channel_type": "channel"}
    reply = {**message, "user": BOB.id, "text": "and me?", "ts": "1789999996.000001"}
    reply |= {"thread_ts": "1789999995.000001"}
    await here.event(event=reply)
    assert noticed(here) == ["and me?"]
    await here.event(event={**message, "user": ALICE.id, "text": f"{ME} hello", "ts": "1789999995.000001"})
    assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "follow-up"]
    assert set(here.woken) == {here.entries(IncomingMessage)[0].thread}


async def test_catch_up_answers_what_was_missed_and_notices_the_rest(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, clock=clock, notes=True) as here:
        await here.caught_up()
        root = await here.say("alice", GENERAL, "lunch?")
        await here.slack.stop()
        await post(here, "bob", GENERAL, f"{ME} where?", root)
        await post(here, "bob", RANDOM, "anybody?")
        here.lose()
    await clock.advance(60)
    async with office(tmp_path, clock=clock, notes=True) as here:
        await here.caught_up()
        assert here.one(IncomingMessage).event.text == "@Claudius where?"
        assert sorted(noticed(here)) == ["anybody?", "lunch?"]
        here.wire.calls.clear()
        here.slack.catch_up.wake()
        await here.caught_up()
        roots = {args["ts"] for args in here.wire.told("conversations.replies")}
        assert roots <= {root}, "the thread of a channel is no conversation"
        assert set(asked(here, "conversations.replies")) <= {GENERAL}
        assert len(here.entries(IncomingMessage, AmbientMessage)) == 3


async def test_it_is_on_disk_before_slack_is_told_that_it_came(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    here.journal.full = True
    ts = await post(here, "alice", GENERAL, "lunch?")
    await until(lambda: bool(caplog.records))
    assert here.unacked()
    here.journal.full = False
    await here.clock.advance(61)
    await here.acked()
    assert here.one(AmbientMessage).key == f"{KEY}:{ts}"


async def test_who_can_read_it_is_noted_before_what_is_said_then(here: Office) -> None:
    await here.say("alice", GENERAL, "lunch?")
    here.wire.answers["conversations.info"] = {
        "channel": {"id": GENERAL, "name": "general", "is_private": True}
    }
    await here.clock.advance(AUDIENCE_SECONDS)
    await here.say("alice", GENERAL, "a secret")
    channel = KnownChannels(here.journal).channel_of(channel_of(here).thread)
    before, after = here.entries(AmbientMessage)
    assert channel
    assert channel.name == "#general"
    assert channel.audience_before(before.seq).audience == "public"
    assert channel.audience_before(after.seq).audience == "private"


async def test_a_reaction_stands_in_the_conversation_that_it_is_about(here: Office) -> None:
    root = await called(here)
    thread = here.one(ConversationOpened).thread
    began = here.one(SoulTurnBegan)
    said = await answers(here, began, "One.")
    await ends(here, began)
    await react(here, "bob", root, "eyes")
    await react(here, "bob", said, "thumbsup::skin-tone-2")
    await take_away(here, "bob", root, "eyes")
    first, second, third = here.entries(ReactionChanged)
    assert {first.thread, second.thread, third.thread} == {thread}
    ts = first.event.ts
    assert first.event == ReactionChanged(user=BOB.id, name="Bob", emoji="eyes", on=root, ts=ts)
    assert (second.event.emoji, second.event.on) == ("thumbsup::skin-tone-2", said)
    assert (third.event.removed, third.event.on) == (True, root)
    assert here.woken == []


async def test_a_reaction_to_anything_else_stands_in_the_thread_of_its_channel(here: Office) -> None:
    ts = await here.say("alice", GENERAL, "lunch?")
    await react(here, "bob", ts, "eyes")
    await react(here, "alice", ts, SIGN)
    assert {entry.thread for entry in here.entries(ReactionChanged)} == {channel_of(here).thread}
    assert [entry.event.emoji for entry in here.entries(ReactionChanged)] == ["eyes", SIGN]


async def test_what_stops_something_is_a_stop_and_no_reaction(here: Office) -> None:
    root = await called(here)
    await react(here, "alice", root)
    began = here.one(SoulTurnBegan)
    await ends(here, began)
    stop = here.one(StopRequest)
    await ends(here, await begins(here, stop))
    again = {"type": "reaction_added", "user": ALICE.id, "reaction": SIGN, "event_ts": stop.event.ts}
    await here.event(event={**again, "item": {"type": "message", "channel": GENERAL, "ts": root}})
    assert here.entries(ReactionChanged) == []
    await take_away(here, "alice", root, SIGN)
    assert [entry.event.removed for entry in here.entries(ReactionChanged)] == [True]


async def test_what_the_soul_says_unasked_stands_in_the_same_thread_of_a_dm(here: Office) -> None:
    thread = await here.slack.speaker.open_dm(ALICE.id, no_lease_check)
    dm = await here.dm("alice")
    ts = await here.slack.speaker.finish(thread, None, "Good morning.", "k", no_lease_check)
    await here.client("alice").reactions_add(channel=dm, timestamp=ts, name="sunny")
    await here.acked()
    assert here.one(ReactionChanged).thread == thread == here.one(ConversationOpened).thread


async def test_what_is_no_reaction_to_a_message_is_none(here: Office) -> None:
    event = {"type": "reaction_added", "user": BOB.id, "reaction": "eyes", "event_ts": "6.000001"}
    item = {"type": "message", "channel": GENERAL, "ts": "5.000001"}
    wrong: tuple[dict[str, Any], ...] = ({"reaction": ""}, {"reaction": 3}, {"item": {"type": "file"}})
    for fields in wrong:
        await here.event(event={**event, "item": item, **fields})
        assert here.entries(ReactionChanged, ConversationOpened) == [], fields


async def test_a_reaction_that_comes_when_its_author_was_forgotten_is_not_kept(tmp_path: Path) -> None:
    item = {"type": "message", "channel": GENERAL, "ts": "1.000001"}
    reaction = {"type": "reaction_added", "user": ALICE.id, "reaction": "tada", "item": item}
    async with office(tmp_path, notes=True) as here:
        await here.journal.append("soul", ForgetRequested(person=ALICE.id), key="forget")
        await here.event(event={**reaction, "event_ts": f"{here.clock.now() - 1:.6f}"})
        assert here.entries(ReactionChanged) == []
        await here.event(event={**reaction, "event_ts": f"{here.clock.now() + 1:.6f}"})
        assert len(here.entries(ReactionChanged)) == 1
