"""Repeated, late, partial and unrecorded stops."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from daemon.kinds import IncomingMessage, SoulTurnBegan
from rehearsal.people import ALICE, SOUL
from tests.slack.office import GENERAL, Office, until
from tests.slack.work import SIGN, begins, called, ends, session_stop, stops


async def test_the_same_stop_comes_twice_and_is_one(here: Office) -> None:
    root = await called(here)
    for _ in range(2):
        await session_stop(here, root, event_ts="99999999999.000001")
    assert len(stops(here)) == 1


async def test_a_stop_that_comes_late_does_not_stop_what_was_asked_for_after_it(here: Office) -> None:
    root = await called(here)
    await ends(here, here.one(SoulTurnBegan))
    earlier = f"{here.clock.now() + 1:.6f}"
    await here.clock.advance(2)
    await here.say("alice", GENERAL, "and now to ten", root)
    await begins(here, here.entries(IncomingMessage)[-1])
    await session_stop(here, root, event_ts=earlier)
    assert stops(here) == []
    await session_stop(here, root)
    assert len(stops(here)) == 1


async def test_what_the_journal_cannot_take_is_not_acked(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    root = await called(here)
    here.journal.full = True
    await here.client("alice").reactions_add(channel=GENERAL, timestamp=root, name=SIGN)
    await until(lambda: bool(caplog.records))
    assert here.unacked()
    here.journal.full = False
    await here.clock.advance(61)
    await here.acked()
    assert len(stops(here)) == 1


async def test_it_is_acked_after_it_is_on_disk(here: Office) -> None:
    root = await called(here)
    here.journal.slow = asyncio.Event()
    await here.client("alice").reactions_add(channel=GENERAL, timestamp=root, name=SIGN)
    await until(lambda: [one["attempts"] for one in here.world.workspace.courier.deliveries()][-1] == 1)
    await here.clock.advance(0)
    assert here.unacked()
    assert here.woken == []
    here.journal.slow.set()
    await here.acked()
    assert len(here.woken) == 1


REACTION: dict[str, Any] = {
    "type": "reaction_added",
    "user": ALICE.id,
    "reaction": SIGN,
    "item": {"type": "message", "channel": GENERAL, "ts": "1.000001"},
    "event_ts": "2.000001",
}
BUTTON: dict[str, Any] = {
    "type": "agent_session_stopped",
    "channel": GENERAL,
    "user": ALICE.id,
    "thread_ts": "1.000001",
    "event_ts": "2.000001",
}


UNREADABLE: tuple[dict[str, Any], ...] = (
    {**REACTION, "user": None},
    {**REACTION, "user": "alice>"},
    {**REACTION, "item": None},
    {**REACTION, "item": {"type": "message", "channel": GENERAL}},
    {**REACTION, "item": {"type": "message", "channel": "C\ud800", "ts": "1.1"}},
    {**REACTION, "event_ts": "soon"},
    {**BUTTON, "channel": 7},
    {**BUTTON, "thread_ts": None},
    {**BUTTON, "user": ""},
    {**BUTTON, "event_ts": 1.5},
)


async def test_a_stop_that_cannot_be_read_is_acked_and_warned_of(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await called(here)
    for event in UNREADABLE:
        caplog.clear()
        await here.event(event=event)
        assert stops(here) == [], event
        assert [record.levelno for record in caplog.records] == [logging.WARNING], event


NO_STOPS: tuple[dict[str, Any], ...] = (
    {**REACTION, "reaction": None},
    {**REACTION, "item": {"type": "file", "file": "F1"}},
    {**REACTION, "user": SOUL.user},
    {**REACTION, "type": "reaction_removed"},
    REACTION,
    BUTTON,
)


async def test_what_stops_nothing_is_acked_in_silence(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    await called(here)
    for event in NO_STOPS:
        await here.event(event=event)
        assert stops(here) == [], event
        assert caplog.records == [], event
