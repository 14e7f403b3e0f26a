"""Counts and log lines of daemons that share a journal: each entry is counted by the daemon that wrote it."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from aiohttp import ClientSession, web

from daemon.cluster.schema import prepare_log
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.seq_ranges import MOST_RANGES, SeqRanges
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.kinds import SOUL_KINDS, SoulTurnBegan, SoulTurnEnded
from daemon.telemetry.metrics import Metrics
from daemon.telemetry.turn_lines import log_ended_turns
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.turn.spending import called
from tests.web.loopback import serve_app_on_loopback

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


async def turn(journal: Journal, thread: str) -> None:
    """Record a turn with a call, as its daemon does."""
    event = SoulTurnBegan(execution=f"{thread}@1", inputs=(), process="conversation", texts="")
    began, _ = await journal.append(thread, event, key=f"{thread}@1/began")
    await journal.append(thread, called(), key=f"{thread}@1/plain#1")
    await journal.append(
        thread,
        SoulTurnEnded(outcome="completed", process="conversation"),
        key=f"{thread}@1/ended",
        cause=began.seq,
    )


async def scraped(url: str) -> Counter[str]:
    async with ClientSession() as http, http.get(f"{url}/metrics") as answer:
        lines = [line.rpartition(" ") for line in (await answer.text()).splitlines()]
    return Counter({name: int(float(count)) for name, _, count in lines if name.startswith("soul_entries_t")})


async def test_each_daemon_counts_and_logs_what_it_wrote(
    tmp_path: Path, log_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "daemon.turn_lines")
    with psycopg.connect(log_url, autocommit=True) as database:
        prepare_log(database)
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE):
        journals: list[Journal] = []
        urls: list[str] = []
        for name in ("one", "other"):
            opened = SharedJournal(tmp_path / f"{name}.db", FakeClock(), SOUL_KINDS, url=log_url, name=name)
            journal: Journal = await stack.enter_async_context(opened)
            app = web.Application()
            Metrics(journal).mount(app)
            journals.append(journal)
            urls.append(await stack.enter_async_context(serve_app_on_loopback(app)))
            await stack.enter_async_context(log_ended_turns(journal))
        await asyncio.gather(
            *(turn(journals[number % 2], f"sess-{number}") for number in range(10)),
            *(turn(journals[0], f"sess-of-one-{number}") for number in range(4)),
        )
        for one_of_two in journals:
            while one_of_two.last_seq_of_all() < 42:
                await one_of_two.next_change.wait()
        one, other = [await scraped(url) for url in urls]
    assert sum(one.values()) == 27
    assert sum(other.values()) == 15
    assert len(caplog.messages) == 14
    assert len({message.split()[0] for message in caplog.messages}) == 14


def test_ranges_hold_what_was_added_and_forget_the_oldest() -> None:
    ranges = SeqRanges()
    for seq in (1, 2, 3, 7, 9, 10):
        ranges.add(seq)
    assert [seq for seq in range(12) if seq in ranges] == [1, 2, 3, 7, 9, 10]
    for number in range(MOST_RANGES):
        ranges.add(20 + 2 * number)
    assert 20 + 2 * (MOST_RANGES - 1) in ranges
    assert 7 not in ranges
