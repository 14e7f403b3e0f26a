"""Messages of bots at two daemons that share a log: one of them tracks and judges all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.journal.verify import verify
from daemon.kinds import GrowingMessageSeen, IncomingMessage
from daemon.slack.app_share import ARCHIVES
from daemon.slack.archive import STILL
from daemon.slack.directory import AccessPolicy
from rehearsal.people import ECHO
from tests.attention import rest
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.two_daemons import TwoDaemons, die, two_daemons

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def two(log_url: str, tmp_path: Path) -> AsyncIterator[TwoDaemons]:
    """Daemons that answer one message of Echo a day."""
    async with two_daemons(log_url, tmp_path, AccessPolicy(bots=frozenset({ECHO.user}), daily=1)) as two:
        await until(lambda: two.app.holders.get(ARCHIVES) == "a")
        yield two
        assert verify(two.a.journal).violations == []


async def said(two: TwoDaemons, daemon: Office, text: str, **changes: Any) -> str:
    """Let Echo say something, and this daemon receive it; return the ts."""
    two.next_to(daemon)
    answer = await daemon.client(ECHO.bot_token).chat_postMessage(channel=GENERAL, text=text, **changes)
    await two.settle()
    return str(answer["ts"])


async def heard_out(here: Office) -> None:
    """Wait until every message is judged."""
    while here.journal.pending_entries(GrowingMessageSeen):
        await rest()
        await here.clock.advance(STILL / 5)


def texts(here: Office) -> list[str]:
    return [entry.event.text for entry in here.entries(IncomingMessage)]


async def test_the_limit_of_bots_holds_for_all_daemons_together(two: TwoDaemons) -> None:
    await said(two, two.a, f"{ME} one?")
    await said(two, two.b, f"{ME} two?")
    await heard_out(two.a)
    assert texts(two.a) in (["@Claudius one?"], ["@Claudius two?"])
    assert two.a.woken
    assert two.b.woken == []


async def test_an_edit_at_another_daemon_is_waited_for(two: TwoDaemons) -> None:
    ts = await said(two, two.a, "thinking")
    await until(lambda: two.a.clock.sleepers > 0)
    await two.a.clock.advance(STILL - 1)
    two.next_to(two.b)
    await two.b.client(ECHO.bot_token).chat_update(channel=GENERAL, ts=ts, text=f"{ME} what is it?")
    await two.settle()
    await heard_out(two.a)
    assert texts(two.a) == ["@Claudius what is it?"]


async def test_a_message_that_a_dead_daemon_had_marked_is_judged_by_another(two: TwoDaemons) -> None:
    await said(two, two.b, f"{ME} what is it?")
    await die(two, two.a, "a")
    await until(lambda: two.app.holders.get(ARCHIVES) == "b")
    await heard_out(two.b)
    assert texts(two.b) == ["@Claudius what is it?"]
    assert two.b.woken
