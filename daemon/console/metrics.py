"""`/metrics`: how the daemon fares, in the format that Prometheus and its like scrape. Exposed by app.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from daemon.console.tally import Tally
from daemon.journal.journal import Journal

DEBTS = ("perception", "turn-began", "speech", "action", "watch")
"""The kinds of entries that something is owed for."""


class Hearing(Protocol):
    """How well the soul hears; implemented in slack/. Ages are in seconds, None before the first time."""

    wanted: int
    events: int
    opened: Counter[str]
    failed: Counter[str]

    @property
    def alive(self) -> int: ...
    @property
    def deaf(self) -> bool: ...
    @property
    def silence(self) -> float | None: ...
    @property
    def quiet(self) -> float | None: ...


def expose(app: web.Application, journal: Journal, hearing: Hearing) -> None:
    """Add the route to this application; its guard lets in whoever holds the console's token."""
    tally, registry = Tally(journal), CollectorRegistry()
    registry.register(Metrics(journal, tally, hearing))

    async def metrics(request: web.Request) -> web.Response:
        await tally.catch_up()
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": kind})

    app.router.add_get("/metrics", metrics)


class Metrics(Collector):
    """All that is shown, put together when it is asked for."""

    def __init__(self, journal: Journal, tally: Tally, hearing: Hearing) -> None:
        self._journal = journal
        self._tally = tally
        self._hearing = hearing

    def collect(self) -> Iterator[Metric]:
        """Every metric, with its value as of now."""
        yield from _heard(self._hearing)
        yield from _done(self._tally)
        yield from _kept(self._journal)


def _heard(hearing: Hearing) -> Iterator[Metric]:
    yield from _gauge("soul_deaf", "1 when no message can come in.", hearing.deaf)
    yield from _gauge("soul_sockets_alive", "Sockets on which Slack sends events.", hearing.alive)
    yield from _gauge("soul_sockets_wanted", "Sockets that are kept (SLACK_CONNECTIONS).", hearing.wanted)
    yield from _gauge(
        "soul_inbound_age_seconds", "Since Slack sent anything, if only a pong.", hearing.silence
    )
    yield from _gauge("soul_event_age_seconds", "Since Slack sent an event.", hearing.quiet)
    yield CounterMetricFamily("soul_events", "Events that Slack sent.", value=hearing.events)
    yield _counter("soul_connections", "Sockets opened, by what made it necessary.", hearing.opened, "reason")
    yield _counter(
        "soul_connection_failures", "Attempts in vain, by what was lacking.", hearing.failed, "lacking"
    )


def _done(tally: Tally) -> Iterator[Metric]:
    yield _counter("soul_entries", "Entries of the journal.", tally.entries, "kind")
    yield _counter("soul_turns", "Turns that ended.", tally.turns, "outcome")
    yield _counter("soul_model_calls", "Calls of a model.", tally.calls, "model", "outcome")
    yield _counter("soul_tokens", "Tokens of model calls.", tally.tokens, "model", "sort")
    yield _counter("soul_cost_dollars", "What model calls cost.", tally.dollars, "model")
    yield from _gauge("soul_caught_up_timestamp_seconds", "Until when all is read.", tally.caught_up)


def _kept(journal: Journal) -> Iterator[Metric]:
    owed = Counter(entry.kind for entry in journal.open(*DEBTS))
    debts = GaugeMetricFamily("soul_open_debts", "Entries that something is owed for.", labels=["kind"])
    for kind in DEBTS:
        debts.add_metric([kind], owed[kind])
    yield debts
    yield from _gauge("soul_journal_seq", "The newest entry of the journal.", journal.last())
    yield from _gauge("soul_journal_failing", "1 when nothing can be written.", not journal.writable)


def _gauge(name: str, help: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield GaugeMetricFamily(name, help, value=value)


def _counter(name: str, help: str, counts: Mapping[Any, float], *labels: str) -> Metric:
    """A family with one count for each value of its label, or for each tuple of values."""
    family = CounterMetricFamily(name, help, labels=labels)
    for values, count in counts.items():
        family.add_metric((values,) if isinstance(values, str) else values, count)
    return family
