"""Events of one conversation at two daemons that share a log: the result is the same as at one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.kinds import ConversationOpened, IncomingMessage, OverheardMessage, StopRequest
from daemon.slack.directory import NAME_SECONDS
from daemon.slack.inbox import ORIGINAL_PATIENCE
from daemon.slack.places import ensure_journal_id
from rehearsal.people import ALICE, BOB, TEAM
from tests.attention import rest
from tests.clock import FakeClock
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.slack.office import ME, until
from tests.slack.test_order import ANSWER, CALL, LATER, REPLY, ROOT, addresses
from tests.slack.two_daemons import SharedNotebook, TwoDaemons, install, two_daemons
from tests.slack.work import begins

EDITED: dict[str, Any] = {"user": ALICE.id, "ts": ROOT, "text": f"{ME} goodbye", "edited": {"ts": LATER}}
EDIT = {**CALL, "subtype": "message_changed", "message": EDITED, "previous_message": CALL, "ts": LATER}
FILE = {"id": "F0PICTURE01", "name": "cat.png", "mimetype": "image/png"}


__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def two(log_url: str, tmp_path: Path) -> AsyncIterator[TwoDaemons]:
    async with two_daemons(log_url, tmp_path) as two:
        yield two


async def test_a_reply_at_one_daemon_before_its_call_at_another_is_answered(two: TwoDaemons) -> None:
    await two.event_to(two.b, ANSWER)
    assert two.a.taken() == []
    await two.event_to(two.a, CALL)
    await until(lambda: two.b.woken)
    await two.settle()
    assert addresses(two.a) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]
    assert len({*two.a.woken, *two.b.woken}) == 1


async def test_a_reply_that_comes_while_another_daemon_records_its_call_is_answered(two: TwoDaemons) -> None:
    two.a.wire.held["users.info"] = asyncio.Event()
    await two.hand_over(two.a, CALL)
    await two.hand_over(two.b, ANSWER)
    await until(lambda: len(two.a.unacked()) == 1)
    assert two.a.taken() == []
    two.a.wire.held["users.info"].set()
    await two.settle()
    await until(lambda: two.b.woken)
    await two.settle()
    assert addresses(two.a) == [("mention", "@Claudius hello"), ("follow-up", "and me?")]


@pytest.mark.parametrize("kind", ["message_changed", "message_deleted"])
async def test_a_change_at_one_daemon_before_its_message_at_another_follows_it(
    two: TwoDaemons, kind: str
) -> None:
    change = {**EDIT, "subtype": kind, "deleted_ts": ROOT}
    await two.event_to(two.b, change)
    assert two.a.taken() == []
    await two.event_to(two.a, CALL)
    await until(lambda: two.a.entries(OverheardMessage))
    assert addresses(two.a) == [("mention", "@Claudius hello")]
    heard = two.a.one(OverheardMessage).event
    assert (heard.note, heard.text) in [("edited", "@Claudius goodbye"), ("deleted", "")]


async def test_an_edit_waits_while_another_daemon_records_its_message(two: TwoDaemons) -> None:
    await two.event_to(two.a, CALL)
    await two.event_to(two.b, {**ANSWER, "ts": "1789999995.900001"})  # so that it knows Bob
    reply = {**ANSWER, "text": "and <@U0UNKNOWN01>?"}
    new = {"user": BOB.id, "ts": REPLY, "thread_ts": ROOT, "text": "and us?", "edited": {"ts": LATER}}
    edit = {**reply, "subtype": "message_changed", "message": new, "previous_message": reply, "ts": LATER}
    two.a.wire.held["users.info"] = asyncio.Event()
    asked = len(two.a.wire.told("users.info"))
    await two.hand_over(two.a, reply)
    await until(lambda: len(two.a.wire.told("users.info")) > asked)
    await two.hand_over(two.b, edit)
    await rest()
    two.a.wire.held["users.info"].set()
    await two.settle()
    heard = two.a.one(OverheardMessage)
    assert heard.event.text == "and us?"
    assert [entry.seq < heard.seq for entry in two.a.entries(IncomingMessage)] == [True, True, True]


async def test_an_edit_of_a_message_that_nobody_records_waits_only_for_a_moment(two: TwoDaemons) -> None:
    await two.event_to(two.a, CALL)
    new = {"user": BOB.id, "ts": REPLY, "thread_ts": ROOT, "text": "and us?", "edited": {"ts": LATER}}
    edit = {**ANSWER, "subtype": "message_changed", "message": new, "previous_message": ANSWER, "ts": LATER}
    await two.hand_over(two.b, edit)
    await until(lambda: two.b.clock.sleepers > 0)
    await two.b.clock.advance(ORIGINAL_PATIENCE)
    await two.settle()
    assert two.a.one(OverheardMessage).event.text == "and us?"


@pytest.mark.parametrize("mention_first", [True, False])
async def test_the_two_events_of_a_mention_at_two_daemons_are_one_message(
    two: TwoDaemons, mention_first: bool
) -> None:
    """Slack leaves files out of the event of the mention."""
    mention = {**CALL, "type": "app_mention"}
    whole = {**CALL, "files": [FILE], "subtype": "file_share"}
    first, second = (mention, whole) if mention_first else (whole, mention)
    two.a.wire.held["users.info"] = asyncio.Event()
    await two.hand_over(two.a, first)
    await two.hand_over(two.b, second)
    await until(lambda: len(two.a.wire.told("users.info")) >= 2)
    two.a.wire.held["users.info"].set()
    await two.settle()
    said = two.a.one(IncomingMessage)
    assert len(two.a.entries(ConversationOpened)) == 1
    completed = [entry.event for entry in two.a.entries(OverheardMessage)]
    assert [one.name for event in [said.event, *completed] for one in event.files] == ["cat.png"]
    assert {*two.a.woken, *two.b.woken} == {said.thread}


async def test_a_stop_at_one_daemon_stops_the_turn_at_another(two: TwoDaemons) -> None:
    await two.event_to(two.a, CALL)
    await begins(two.a, two.a.one(IncomingMessage))
    await two.settle()
    two.b.woken.clear()
    await two.event_to(two.b, {**ANSWER, "user": ALICE.id, "text": "stop", "ts": LATER})
    [stop] = two.a.entries(StopRequest)
    assert stop.thread == two.a.one(IncomingMessage).thread
    assert two.b.woken == [stop.thread]


async def test_daemons_that_start_at_once_name_the_log_alike(log_url: str, tmp_path: Path) -> None:
    install(log_url)
    clock = FakeClock()
    async with (
        SharedNotebook(tmp_path, clock, log_url, "a") as a,
        SharedNotebook(tmp_path, clock, log_url, "b") as b,
    ):
        ids = await asyncio.gather(*(ensure_journal_id(journal, TEAM) for journal in (a, b)))
    assert len({*ids}) == 1, "else each would take the other for a daemon of another log"


async def test_a_new_name_that_one_daemon_hears_of_is_looked_up_by_the_other_in_time(
    two: TwoDaemons,
) -> None:
    await two.event_to(two.b, CALL)
    profile = {"display_name": "Alicia"}
    two.a.wire.profiles[ALICE.id] = {"name": "alice", "profile": profile}
    change = {"id": ALICE.id, "name": "alice", "profile": profile}
    await two.event_to(two.a, {"type": "user_change", "user": change, "event_ts": LATER})
    await two.a.clock.skip(NAME_SECONDS)
    await two.event_to(two.b, {**CALL, "ts": f"{two.a.clock.now():.6f}"})
    assert [entry.event.name for entry in two.b.entries(IncomingMessage)] == ["Alice", "Alicia"]
