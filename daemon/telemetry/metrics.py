"""`/metrics` in Prometheus format."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import ModelCall, SoulTurnEnded

Samples = Iterable[tuple[Sequence[str], float]]
"""Values of a metric, each with its label values."""

COUNTED_AT_ONCE = 200
"""Entries counted before other tasks may run."""


class Metrics:
    """Metrics: the journal's state, counts since the start, values of other parts.

    Counts are of what this daemon wrote: the sum over all daemons counts each entry once.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = journal.last_seq_of_all()
        self._registry = CollectorRegistry()
        self._entries = self._done("soul_entries", "Entries of the journal.", "kind")
        self._turns = self._done("soul_turns", "Turns that ended.", "outcome")
        self._calls = self._done("soul_model_calls", "Calls of a model.", "model", "outcome")
        self._tokens = self._done("soul_tokens", "Tokens of model calls.", "model", "sort")
        self._dollars = self._done("soul_cost_dollars", "What model calls cost.", "model")
        self.gauge("soul_journal_seq", "The newest entry of the journal.", journal.last_seq_of_all)
        self.gauge("soul_journal_failing", "1 when nothing can be written.", lambda: not journal.is_writable)
        pending = Gauge(
            "soul_pending", "Entries that wait for another one.", ["kind"], registry=self._registry
        )
        for kind in journal.kinds:
            if kind.pending:
                pending.labels(kind.kind).set_function(partial(_pending, journal, kind))

    def gauge(self, name: str, help: str, read: Callable[[], float | None]) -> None:
        """Add a gauge; None is shown as NaN."""

        def shown() -> float:
            value = read()
            if value is None:
                return math.nan
            return value

        Gauge(name, help, registry=self._registry).set_function(shown)

    def counter(self, name: str, help: str, label: str, kept: Mapping[str, float]) -> None:
        """Add a counter with one label; other code changes the counts in `kept`."""
        self._registry.register(ExternalCounter(name, help, label, kept))

    def samples(self, name: str, help: str, labels: Sequence[str], read: Callable[[], Samples]) -> None:
        """Add a gauge whose labels come and go."""
        self._registry.register(LabelledGauge(name, help, labels, read))

    def mount(self, app: web.Application) -> None:
        """Add the route; the console checks access."""
        app.router.add_get("/metrics", self._scrape)

    async def _scrape(self, request: web.Request) -> web.Response:
        await self._count()
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": kind})

    def _done(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, registry=self._registry)

    async def _count(self) -> None:
        while True:
            entries = self._journal.entries_since(self._seq, limit=COUNTED_AT_ONCE)
            if not entries:
                return
            self._seq = entries[-1].seq
            for entry in entries:
                if self._journal.is_own(entry.seq):
                    self._add(entry)
            await asyncio.sleep(0)

    def _add(self, entry: Entry[Event]) -> None:
        self._entries.labels(entry.kind).inc()
        event = entry.event
        if isinstance(event, SoulTurnEnded):
            self._turns.labels(event.outcome).inc()
        elif isinstance(event, ModelCall) and not event.taken_from:
            self._calls.labels(event.model, event.outcome).inc()
            self._dollars.labels(event.model).inc(event.cost)
            for sort, tokens in asdict(event.usage).items():
                self._tokens.labels(event.model, sort).inc(tokens)


class ExternalCounter(Collector):
    def __init__(self, name: str, help: str, label: str, kept: Mapping[str, float]) -> None:
        self._family = partial(CounterMetricFamily, name, help, labels=[label])
        self._kept = kept

    def collect(self) -> Iterator[Metric]:
        family = self._family()
        for value, count in self._kept.items():
            family.add_metric([value], count)
        yield family


class LabelledGauge(Collector):
    def __init__(self, name: str, help: str, labels: Sequence[str], read: Callable[[], Samples]) -> None:
        self._family = partial(GaugeMetricFamily, name, help, labels=labels)
        self._read = read

    def collect(self) -> Iterator[Metric]:
        family = self._family()
        for values, value in self._read():
            family.add_metric(values, value)
        yield family


def _pending(journal: Journal, kind: type[Event]) -> int:
    return len(journal.pending_seqs(kind))
