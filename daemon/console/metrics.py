"""`/metrics`: how the daemon fares, in the format that Prometheus and its like scrape. Made by view.py."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from daemon.entry import OPENERS, Entry
from daemon.journal.journal import Journal

BITE = 200
"""Entries that are read at once; between two bites everybody else may run."""


class Metrics:
    """What the journal tells of the present, and of what was done since this was made; others add to it."""

    def __init__(self, journal: Journal) -> None:
        self._registry = CollectorRegistry()
        self._done = Done(journal, self._registry)
        self.gauge("soul_journal_seq", "The newest entry of the journal.", journal.last)
        self.gauge("soul_journal_failing", "1 when nothing can be written.", lambda: not journal.writable)
        debts = Gauge("soul_open_debts", "What something is owed for.", ["kind"], registry=self._registry)
        for kind in OPENERS:
            debts.labels(kind).set_function(partial(_owed, journal, kind))

    def gauge(self, name: str, help: str, read: Callable[[], float | None]) -> None:
        """Show what this gives when it is asked; NaN where there is nothing to give yet."""
        Gauge(name, help, registry=self._registry).set_function(lambda: _number(read()))

    def counter(self, name: str, help: str, label: str, kept: Mapping[str, float]) -> None:
        """Show what somebody counts, by the values of one label."""
        self._registry.register(Kept(name, help, label, kept))

    def mount(self, app: web.Application) -> None:
        """Add the route to this application; its guard lets in whoever holds the console's token."""
        app.router.add_get("/metrics", self._scrape)

    async def _scrape(self, request: web.Request) -> web.Response:
        await self._done.count()
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": kind})


class Done:
    """Counts what was appended to the journal since this was made. Each entry is read once."""

    def __init__(self, journal: Journal, registry: CollectorRegistry) -> None:
        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(name, help, labels, registry=registry)

        self._journal = journal
        self._seq = journal.last()
        self._entries = counter("soul_entries", "Entries of the journal.", "kind")
        self._turns = counter("soul_turns", "Turns that ended.", "outcome")
        self._calls = counter("soul_model_calls", "Calls of a model.", "model", "outcome")
        self._tokens = counter("soul_tokens", "Tokens of model calls.", "model", "sort")
        self._dollars = counter("soul_cost_dollars", "What model calls cost.", "model")

    async def count(self) -> None:
        """Count what came since the last time."""
        while entries := self._journal.since(self._seq, limit=BITE):
            self._seq = entries[-1].seq
            for entry in entries:
                self._add(entry)
            await asyncio.sleep(0)

    def _add(self, entry: Entry) -> None:
        self._entries.labels(entry.kind).inc()
        if entry.kind == "turn-ended":
            self._turns.labels(entry.body["outcome"]).inc()
        elif entry.kind == "model-call":
            model, call = entry.body["model"], entry.body
            self._calls.labels(model, call["outcome"]).inc()
            self._dollars.labels(model).inc(call["cost"])
            for sort, tokens in call["usage"].items():
                self._tokens.labels(model, sort).inc(tokens)


class Kept(Collector):
    """A counter that somebody else keeps."""

    def __init__(self, name: str, help: str, label: str, kept: Mapping[str, float]) -> None:
        self._family = partial(CounterMetricFamily, name, help, labels=[label])
        self._kept = kept

    def collect(self) -> Iterator[Metric]:
        """Its count for each value of the label, as of now."""
        family = self._family()
        for value, count in self._kept.items():
            family.add_metric([value], count)
        yield family


def _owed(journal: Journal, kind: str) -> int:
    return len(journal.open(kind))


def _number(value: float | None) -> float:
    return math.nan if value is None else value
