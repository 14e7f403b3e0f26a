"""Catch-up on missed messages."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.kinds import BackfillCompleted, ConversationOpened, IncomingMessage, OverheardMessage, SharedFile
from daemon.slack.web_api import PAGE
from rehearsal.people import ALICE, BOB, SOUL, TEAM
from tests.clock import FakeClock
from tests.slack.absence import DAY, addresses, before, later, post, post_many
from tests.slack.office import GENERAL, ME, Office, office, until


async def group_of(here: Office, name: str) -> str:
    opened = await here.client(name).conversations_open(users=f"{BOB.id},{SOUL.user}")
    return str(opened["channel"]["id"])


async def test_what_was_said_while_it_was_away_is_answered(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} a question")
        attic = await here.client("alice").conversations_create(name="attic", is_private=True)
        await here.client("alice").conversations_invite(channel=attic["channel"]["id"], users=SOUL.user)
        await here.slack.stop()
        await post(here, "alice", await here.dm("alice"), "anybody?")
        await post(here, "alice", await here.dm("alice"), "nobody?")
        await post(here, "alice", await group_of(here, "alice"), f"{ME} in a group")
        await post(here, "bob", GENERAL, f"{ME} in a channel")
        await post(here, "bob", GENERAL, "and another one", root)
        await post(here, "alice", attic["channel"]["id"], f"{ME} in private")
        await post(here, "alice", GENERAL, "lunch?")
    async with later(tmp_path, clock) as here:
        assert [one for one in addresses(here) if one[0] == "dm"] == [("dm", "anybody?"), ("dm", "nobody?")]
        assert set(addresses(here)[1:]) == {
            ("dm", "anybody?"),
            ("dm", "nobody?"),
            ("mention", "@Claudius in a group"),
            ("mention", "@Claudius in a channel"),
            ("follow-up", "and another one"),
            ("mention", "@Claudius in private"),
        }
        kinds = [entry.event.where for entry in here.entries(ConversationOpened)][1:]
        assert sorted(kinds) == ["channel", "channel", "dm", "dm", "group"]
        assert set(here.woken) == {entry.thread for entry in here.entries(IncomingMessage)}


async def test_what_was_sent_while_no_socket_was_open_is_found_after_the_reconnect(here: Office) -> None:
    dm = await here.dm("alice")
    await here.caught_up()
    here.wire.held["apps.connections.open"] = asyncio.Event()
    await here.world.workspace.links.close()
    await until(lambda: not here.slack.hearing.alive_count)
    await post(here, "alice", dm, "hello?")
    here.lose()
    here.wire.held["apps.connections.open"].set()
    await until(lambda: bool(here.woken))
    assert addresses(here) == [("dm", "hello?")]


async def test_nothing_from_before_its_first_start_is_answered(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        await post(here, "alice", await here.dm("alice"), "before you were born")
        root = await post(here, "alice", GENERAL, f"{ME} and here")
        await post(here, "alice", GENERAL, "and in a thread", root)
    (tmp_path / "journal.db").unlink()
    async with later(tmp_path, clock, seconds=60) as here:
        assert here.taken() == []
        assert here.one(BackfillCompleted).event == BackfillCompleted(until=clock.now())
        await here.say("bob", GENERAL, "and now?", root)
        await here.slack.stop()
    async with later(tmp_path, clock) as here:
        assert here.taken() == []


async def test_every_page_is_read(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} a question")
        await here.slack.stop()
        await post(here, "alice", GENERAL, f"{ME} the first of many")
        post_many(here, "bob", GENERAL, map(str, range(2 * PAGE)))
        post_many(here, "bob", GENERAL, map(str, range(PAGE)), root)
        await post(here, "bob", GENERAL, f"{ME} the last", root)
    async with later(tmp_path, clock) as here:
        texts = [entry.event.text for entry in here.entries(IncomingMessage)]
        assert texts == [
            "@Claudius a question",
            "@Claudius the first of many",
            *map(str, range(PAGE)),
            "@Claudius the last",
        ]


async def test_a_thread_is_told_in_its_order_and_woken_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, "what a day")
        await post(here, "bob", GENERAL, "indeed", root)
        await post(here, "alice", GENERAL, f"{ME} don't you think?", root)
        bob = here.client("bob")
        await bob.chat_postMessage(channel=GENERAL, thread_ts=root, text="anyone?", reply_broadcast=True)
        await post(here, "alice", GENERAL, "hello?", root)
        dm = await here.dm("carol")
        await post(here, "carol", dm, "and thank you", await post(here, "carol", dm, "good evening"))
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [
            ("dm", "good evening"),
            ("dm", "and thank you"),
            ("mention", "@Claudius don't you think?"),
            ("follow-up", "anyone?"),
            ("follow-up", "hello?"),
        ]
        assert here.woken == [entry.thread for entry in here.entries(ConversationOpened)]
        assert here.entries(OverheardMessage) == [], "what was said before the call is the history's"


async def test_a_call_in_an_old_thread_without_the_soul_is_found(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, "the build is red")
        await clock.advance(DAY)
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        await post(here, "bob", GENERAL, f"{ME} can you look?", root)
        await post(here, "bob", GENERAL, "please", root)
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("mention", "@Claudius can you look?"), ("follow-up", "please")]


async def test_a_reply_that_came_before_its_call_survives_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        root = await post(here, "alice", GENERAL, f"{ME} hello")
        here.lose()
        reply = await post(here, "bob", GENERAL, "and me?", root)
    async with office(tmp_path, clock=clock) as here:
        here.wire.held["users.conversations"] = asyncio.Event()
        event = {"type": "message", "channel": GENERAL, "channel_type": "channel", "user": BOB.id}
        await here.event(event={**event, "text": "and me?", "ts": reply, "thread_ts": root})
        assert here.taken() == [], "it is in memory only"
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]


async def test_what_comes_as_an_event_too_is_perceived_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, clock=clock) as here:
        await here.caught_up()
        await here.slack.stop()
        dm = await here.dm("alice")
        await post(here, "alice", dm, "anybody?")
        await post(here, "bob", GENERAL, f"{ME} hello")
    async with later(tmp_path, clock) as here:
        await here.acked()
        assert sorted(addresses(here)) == [("dm", "anybody?"), ("mention", "@Claudius hello")]
        here.slack.catch_up.wake()
        await here.caught_up()
        assert len(here.taken()) == 4


async def test_what_came_as_a_mention_alone_is_known(here: Office) -> None:
    await here.caught_up()
    ts = await post(here, "alice", GENERAL, f"{ME} hi")
    here.lose()
    mention = {"type": "app_mention", "channel": GENERAL, "user": ALICE.id, "text": f"{ME} hi", "ts": ts}
    await here.event(event=mention)
    here.slack.catch_up.wake()
    await here.caught_up()
    assert here.one(IncomingMessage).key == f"msg:{TEAM}:{GENERAL}:{ts}"


async def test_a_shared_channel_is_no_other_place_because_its_events_name_another_team(here: Office) -> None:
    await here.caught_up()
    ts = await post(here, "alice", GENERAL, f"{ME} hi")
    here.lose()
    event = {"type": "message", "channel": GENERAL, "user": ALICE.id, "text": f"{ME} hi", "ts": ts}
    await here.event(payload={"type": "event_callback", "team_id": "T0PARTNERS1", "event": event})
    here.slack.catch_up.wake()
    await here.caught_up()
    assert here.one(IncomingMessage).key == f"msg:{TEAM}:{GENERAL}:{ts}"


async def test_files_have_their_names(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.slack.stop()
        files = [{"id": "F1", "name": "plan.pdf"}]
        sent = {"token": "xoxp-alice", "channel": dm, "text": "see", "subtype": "file_share", "files": files}
        await here.control("message", **sent)
    async with later(tmp_path, clock) as here:
        assert here.one(IncomingMessage).event.files == (SharedFile(name="plan.pdf", id="F1"),)
