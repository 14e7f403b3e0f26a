"""Metrics of the daemon, read with Prometheus' own parser."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aiohttp import ClientSession, web
from prometheus_client import openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

from daemon.console.access import HEADER, PageCredentials, install_guard
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, OverheardMessage, SoulTurnEnded
from daemon.settings.limits import TokenUsage
from daemon.telemetry.metrics import COUNTED_AT_ONCE, Metrics
from tests.clock import FakeClock
from tests.console.site import called, message

TOKEN = "open-sesame"
HEARD = OverheardMessage(user="U1", name="Alice", text="hello", ts="17.000100")
NOW = 1_790_000_000.0
CALL = called(
    model="claude-x", usage=TokenUsage(input=3, cache_read=100, cache_write=20, output=7), cost=0.25
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraped:
    url: str
    http: ClientSession
    journal: Journal
    metrics: Metrics

    async def text(self, **headers: str) -> str:
        async with self.http.get(f"{self.url}/metrics", headers=headers) as answer:
            assert answer.status == 200
            return await answer.text()

    async def values(self) -> dict[str, float]:
        samples = [one for family in families(await self.text()) for one in family.samples]
        return {f"{one.name}{[*one.labels.values()] or ''}": one.value for one in samples}

    async def remember(self, event: Event, n: int = 0) -> int:
        entry, _ = await self.journal.append("sess-1", event, key=f"{event.kind}:{n}")
        return entry.seq


@asynccontextmanager
async def scraped(path: Path, before: int = 0, token: str = "") -> AsyncIterator[Scraped]:
    async with Journal(path / "journal.db", FakeClock(NOW), SOUL_KINDS) as journal:
        await asyncio.gather(*(journal.append("sess-1", HEARD, key=f"{n}") for n in range(before)))
        app, metrics = web.Application(), Metrics(journal)
        credentials = PageCredentials.open_home(path, token, FakeClock().now) if token else None
        install_guard(app, host="127.0.0.1", clock=FakeClock(), credentials=credentials)
        metrics.mount(app)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with ClientSession() as http:
            try:
                url = f"http://127.0.0.1:{runner.addresses[0][1]}"
                yield Scraped(url=url, http=http, journal=journal, metrics=metrics)
            finally:
                await runner.cleanup()


async def test_it_shows_what_others_measure(tmp_path: Path) -> None:
    async with scraped(tmp_path) as here:
        ages, opened = [None, 3.5], Counter(start=2)
        here.metrics.gauge("soul_age_seconds", "Since it happened.", lambda: ages[0])
        here.metrics.counter("soul_connections", "Opened, by reason.", "reason", opened)
        assert math.isnan((await here.values())["soul_age_seconds"]), "what has not happened has no age"
        ages.pop(0)
        opened["closed"] += 1
        told = await here.values()
    assert told["soul_age_seconds"] == 3.5
    assert (told["soul_connections_total['start']"], told["soul_connections_total['closed']"]) == (2, 1)


async def test_it_tells_what_was_done_and_what_it_cost(tmp_path: Path) -> None:
    async with scraped(tmp_path) as here:
        await here.remember(CALL)
        await here.remember(replace(CALL, outcome="cut"), 1)
        await here.remember(SoulTurnEnded(outcome="completed"))
        told = await here.values()
    assert told["soul_model_calls_total['claude-x', 'ok']"] == 1
    assert told["soul_model_calls_total['claude-x', 'cut']"] == 1
    assert told["soul_tokens_total['claude-x', 'cache_read']"] == 200
    assert told["soul_cost_dollars_total['claude-x']"] == 0.5
    assert told["soul_turns_total['completed']"] == 1
    assert told["soul_entries_total['model-call']"] == 2
    assert told["soul_journal_seq"] == 3
    assert told["soul_journal_failing"] == 0


async def test_what_is_pending_is_told_until_it_is_closed(tmp_path: Path) -> None:
    async with scraped(tmp_path) as here:
        seq = await here.remember(message())
        told = await here.values()
        assert (told["soul_pending['message']"], told["soul_pending['waiting']"]) == (1, 0)
        await here.journal.append("sess-1", SoulTurnEnded(outcome="completed"), key="e", closes=[seq])
        assert (await here.values())["soul_pending['message']"] == 0


async def test_what_stood_in_the_journal_before_is_not_read(tmp_path: Path) -> None:
    async with scraped(tmp_path, before=3) as here:
        await here.remember(message())
        told = await here.values()
    assert told["soul_entries_total['message']"] == 1
    assert "soul_entries_total['heard']" not in told
    assert told["soul_journal_seq"] == 4


async def test_each_entry_is_counted_once_however_many_ask(tmp_path: Path) -> None:
    async with scraped(tmp_path) as here:
        many = 2 * COUNTED_AT_ONCE + 1
        await asyncio.gather(*(here.remember(HEARD, n) for n in range(many)))
        await asyncio.gather(*(here.values() for _ in range(3)))
        assert (await here.values())["soul_entries_total['heard']"] == many


async def test_a_scraper_gets_the_format_that_it_asks_for(tmp_path: Path) -> None:
    async with scraped(tmp_path) as here:
        text = await here.text(Accept=openmetrics.exposition.CONTENT_TYPE_LATEST)
    assert "soul_journal_seq" in {family.name for family in open_families(text)}  # type: ignore[no-untyped-call]


async def test_it_asks_for_the_token_of_the_console(tmp_path: Path) -> None:
    async with scraped(tmp_path, token=TOKEN) as here:
        async with here.http.get(f"{here.url}/metrics") as answer:
            assert answer.status == 401
        assert "soul_journal_seq" in await here.text(**{HEADER: TOKEN})
