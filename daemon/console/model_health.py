"""How the models fare, for `/healthz`, `/metrics` and the page: reports, latencies, errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from daemon.claude.availability import RECENT_CALLS, CallOutcomes
from daemon.console.metrics import Metrics, Samples
from daemon.engine.exceptions import JournalError
from daemon.soul.model_report import ModelReport
from daemon.soul.reach import ModelAvailability

MEDIAN, HIGH_QUANTILE = 0.5, 0.95
"""The quantiles of the latency that are shown."""
ANY = "any"
"""Stands for a model where what failed says nothing about one."""

AWAY = "Since when no call of the model has succeeded, by what failed last."
LATE = "Since when the first words of the model have come late."
NEXT = "When the model that is away is tried next."
WAITING = "People whose messages wait for the model."
LATENCY = f"What the last {RECENT_CALLS} answered calls took, by quantile."
ERRORS = "Tries of model calls that failed, by what failed."

Told = Mapping[str, Any]


class ModelHealth:
    """What is known of the models. `now` gives Unix seconds."""

    def __init__(
        self, reach: ModelAvailability, availability: CallOutcomes, now: Callable[[], float]
    ) -> None:
        self._reach = reach
        self._availability = availability
        self._now = now

    @property
    def every_report(self) -> Sequence[ModelReport]:
        """All that is wrong with them; nothing where the journal cannot be read."""
        try:
            return self._reach.reports
        except JournalError:
            return ()

    @property
    def reports(self) -> Sequence[ModelReport]:
        """The same without what is usual, which Health alone shows."""
        return [one for one in self.every_report if not one.is_usual]

    def report_as_json(self, report: ModelReport) -> Told:
        """A report as JSON: with `sentence`, which says all of it."""
        shown = asdict(report)
        del shown["seen"], shown["is_usual"]
        return {**shown, "slow": report.slow, "sentence": report.sentence(self._now())}

    def details_as_json(self) -> Told:
        """What Health shows besides: every report, how long calls take, and what failed since the start."""
        return {
            "reports": [self.report_as_json(one) for one in self.every_report],
            "forms": self._reach.forms.owner_sentences,
            "latency": {
                "calls": len(self._availability.durations),
                "median": self._quantile(MEDIAN),
                "most": self._quantile(HIGH_QUANTILE),
            },
            "errors": dict(self._availability.errors.most_common()),
        }

    def add_metrics(self, metrics: Metrics) -> None:
        """Add what a scraper sees of them."""
        metrics.samples("soul_model_away_since_timestamp_seconds", AWAY, ("model", "failure"), self._away)
        metrics.samples("soul_model_slow_since_timestamp_seconds", LATE, ("model",), self._late)
        metrics.samples("soul_model_next_try_timestamp_seconds", NEXT, ("model",), self._next)
        metrics.samples("soul_model_people_waiting", WAITING, ("model",), self._waiting)
        metrics.samples("soul_model_latency_seconds", LATENCY, ("quantile",), self._latency)
        metrics.counter("soul_model_errors", ERRORS, "failure", self._availability.errors)

    def _quantile(self, share: float) -> float | None:
        """Seconds within which this share of the last calls was answered; None before the first one."""
        durations = sorted(self._availability.durations)
        if not durations:
            return None
        return durations[max(math.ceil(share * len(durations)) - 1, 0)]

    def _away(self) -> Samples:
        for report, model in self._by_model():
            if not report.slow:
                yield (model, report.failure), report.since

    def _late(self) -> Samples:
        for report, model in self._by_model():
            if report.slow:
                yield (model,), report.since

    def _next(self) -> Samples:
        for report, model in self._by_model():
            if report.next_try is not None:
                yield (model,), report.next_try

    def _waiting(self) -> Samples:
        for report, model in self._by_model():
            yield (model,), report.waiting

    def _latency(self) -> Samples:
        for share in (MEDIAN, HIGH_QUANTILE):
            seconds = self._quantile(share)
            if seconds is not None:
                yield (f"{share:g}",), seconds

    def _by_model(self) -> Iterator[tuple[ModelReport, str]]:
        """Each report, for each of its models."""
        for report in self.reports:
            for model in report.models or [ANY]:
                yield report, model
