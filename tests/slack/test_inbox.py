"""The durable inbox: recorded before the ack; connection and disconnection."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from daemon.engine.event import Input
from daemon.engine.execution import no_lease_check
from daemon.kinds import ConversationOpened, IncomingMessage
from daemon.slack.surface import SlackSurface
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, OPEN, Notebook, Office, access, office, until, workspace
from tests.slack.wire import Wire

MINUTE = 61.0


async def test_what_the_journal_cannot_take_is_not_acked_and_comes_again(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    dm = await here.dm("alice")
    here.journal.full = True
    await here.client("alice").chat_postMessage(channel=dm, text="hello")
    await until(lambda: bool(caplog.records))
    assert here.unacked()
    assert here.woken == []
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    here.journal.full = False
    await here.clock.advance(MINUTE)
    await here.acked()
    assert here.one(IncomingMessage).event.text == "hello"
    assert here.woken == [here.one(ConversationOpened).thread]


async def test_people_are_asked_for_once(here: Office) -> None:
    dm = await here.dm("alice")
    for word in ("one", "two", "three"):
        await here.client("alice").chat_postMessage(channel=dm, text=word)
    await here.acked()
    asked = [args["user"] for args in here.wire.told("users.info")]
    assert len(asked) == len(set(asked)) == 2  # the soul and Alice


async def test_without_a_name_a_message_is_taken_all_the_same(here: Office) -> None:
    here.wire.refuse["users.info"] = ["user_not_found"]
    here.wire.refuse["conversations.info"] = ["channel_not_found"]
    await here.say("alice", GENERAL, f"{ME} hello")
    assert here.one(IncomingMessage).event.name == "someone"
    assert here.one(ConversationOpened).event.place == "a channel"
    await here.say("alice", GENERAL, f"{ME} hello again")
    assert here.entries(IncomingMessage)[1].event.name == "Alice"


async def test_a_name_that_is_none_keeps_no_message_out(here: Office) -> None:
    here.wire.answers["users.info"] = {"user": "nobody"}
    here.wire.answers["conversations.info"] = {"channel": []}
    await here.say("alice", GENERAL, f"{ME} hello")
    assert here.one(IncomingMessage).event.name == "someone"


async def test_who_it_is_is_asked_once_however_many_events_come(here: Office) -> None:
    for _ in range(5):
        await here.say("alice", GENERAL, "lunch?")
    assert len(here.wire.told("auth.test")) == 1
    assert len(here.wire.told("apps.connections.open")) == 1


async def test_the_name_is_the_one_that_people_see(here: Office) -> None:
    assert here.slack.name == "Claudius"


async def test_after_stop_nothing_is_taken_and_speech_still_goes_out(here: Office) -> None:
    dm = await here.dm("alice")
    root = await here.say("alice", dm, "hello")
    assert here.slack.hearing.alive_count
    await here.slack.stop()
    assert not here.slack.hearing.alive_count
    await here.client("alice").chat_postMessage(channel=dm, text="too late")
    thread = here.one(ConversationOpened).thread
    await here.slack.speaker.finish(thread, None, "bye", "k", no_lease_check)
    assert [reply["text"] for reply in await here.replies(dm, root)] == ["bye"]
    assert len(here.entries(Input)) == 1
    assert here.unacked()


async def test_stop_waits_for_what_is_being_taken_and_takes_no_more(here: Office) -> None:
    dm, courier = await here.dm("alice"), here.world.workspace.courier
    here.journal.slow = asyncio.Event()
    await here.client("alice").chat_postMessage(channel=dm, text="in time")
    await until(lambda: len(here.wire.told("users.info")) == 2)
    async with asyncio.TaskGroup() as group:
        group.create_task(here.slack.stop())
        await until(lambda: here.clock.sleepers > 0)
        await here.client("alice").chat_postMessage(channel=dm, text="too late")
        await until(lambda: [one["attempts"] for one in courier.deliveries()] == [1, 1])
        await here.clock.advance(0)
        here.journal.slow.set()
    await until(lambda: len(here.unacked()) == 1)
    assert here.one(IncomingMessage).event.text == "in time"


async def test_it_leaves_no_task_behind(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.say("alice", GENERAL, f"{ME} hello")
        ts = await here.slack.speaker.start(here.one(ConversationOpened).thread, "Hi", "k", no_lease_check)
        await here.slack.speaker.extend(here.one(ConversationOpened).thread, ts, "Hi, Alice", no_lease_check)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_proxy_does_not_stand_between_two_ends_of_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with office(tmp_path) as here:
        assert here.slack.hearing.alive_count


async def test_what_came_while_it_was_away_is_delivered_to_the_next_one(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.slack.stop()
        dm = await here.dm("alice")
        await here.client("alice").chat_postMessage(channel=dm, text="anybody?")
    async with office(tmp_path) as here:
        await here.acked()
        assert here.one(IncomingMessage).event.text == "anybody?"


async def test_headers_go_with_every_request(tmp_path: Path) -> None:
    wire, clock = Wire(), FakeClock()
    async with workspace(tmp_path, clock, wire) as (_, url), Notebook(tmp_path / "j.db", clock) as journal:
        entrance = access(url, headers={"X-Console-Token": "sesame"})
        async with SlackSurface(entrance, OPEN, journal=journal, wake=print, clock=clock) as slack:
            await slack.connect()
    assert set(wire.headers) == {"sesame"}
