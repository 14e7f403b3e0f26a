"""Audiences at two daemons: what one has recorded corrects what the other has looked up before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import Entry
from daemon.kinds import AudienceChanged, ConversationOpened
from rehearsal.people import ALICE, BOB, CAROL
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.two_daemons import TwoDaemons, two_daemons

SHARED = {"channel": {"id": GENERAL, "name": "general", "is_ext_shared": True}}
MESSAGE: dict[str, Any] = {"type": "message", "channel": GENERAL, "channel_type": "channel"}


__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def two(log_url: str, tmp_path: Path) -> AsyncIterator[TwoDaemons]:
    async with two_daemons(log_url, tmp_path) as two:
        yield two


def call(number: int, user: str = ALICE.id) -> dict[str, Any]:
    return {**MESSAGE, "user": user, "text": f"{ME} hello", "ts": f"1789999995.{number:06d}"}


def recorded(here: Office) -> list[str]:
    """Return the channel's audiences in order."""
    entries: list[Entry[Any]] = here.journal.entries_of_kind(ConversationOpened, AudienceChanged)
    return [entry.event.audience for entry in entries if entry.event.channel == GENERAL]


async def test_a_daemon_does_not_put_its_old_public_over_the_shared_of_another(two: TwoDaemons) -> None:
    await two.event_to(two.a, call(1))
    await two.event_to(two.b, call(2))
    assert recorded(two.a) == ["public", "public"]
    two.a.wire.answers["conversations.info"] = SHARED
    shared = {"type": "channel_shared", "channel": GENERAL, "event_ts": "1789999996.000001"}
    await two.event_to(two.a, shared)
    await two.event_to(two.a, call(3))
    assert recorded(two.a)[2:] == ["", "shared"]
    await two.event_to(two.b, call(4, BOB.id))
    assert recorded(two.a)[-1] == "shared", "b had looked up that it is public"
    await two.event_to(two.b, {**call(5), "thread_ts": call(1)["ts"]})
    assert recorded(two.a)[-1] == "shared"


async def test_a_look_up_that_another_daemon_s_record_overtakes_counts_for_nothing(two: TwoDaemons) -> None:
    await two.event_to(two.a, call(1))
    two.b.wire.held["conversations.info"] = asyncio.Event()
    await two.hand_over(two.b, call(2))
    await until(lambda: len(two.b.wire.told("conversations.info")) == 2)
    shared = {"type": "channel_shared", "channel": GENERAL, "event_ts": "1789999996.000001"}
    await two.hand_over(two.a, shared)
    await until(lambda: recorded(two.a)[-1] == "")
    two.b.wire.held["conversations.info"].set()
    await two.settle()
    assert recorded(two.a)[-1] == "", "its public is from before the change"
    two.b.wire.answers["conversations.info"] = SHARED
    await two.event_to(two.b, call(3))
    assert recorded(two.a)[-1] == "shared"


async def test_a_guest_that_one_daemon_has_seen_is_known_to_the_other(two: TwoDaemons) -> None:
    await two.event_to(two.b, call(1))
    two.a.wire.guests.add(CAROL.id)
    await two.event_to(two.a, call(2, CAROL.id))
    await two.event_to(two.b, call(3))
    assert recorded(two.a)[-1] == "shared"


async def test_two_audiences_at_once_leave_the_readers_unknown_until_the_next_look(two: TwoDaemons) -> None:
    await two.event_to(two.a, call(1))
    two.a.journal.slow = asyncio.Event()
    tracker = two.b.slack._inbox.audiences
    ours = asyncio.create_task(tracker.record_found(GENERAL, "private", "1"))
    theirs = asyncio.create_task(two.a.slack._inbox.audiences.record_found(GENERAL, "shared", "2"))
    await asyncio.sleep(0)
    two.a.journal.slow.set()
    await asyncio.gather(ours, theirs)
    await two.settle()
    assert recorded(two.a)[-1] == ""
