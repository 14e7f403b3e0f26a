"""How well the soul hears: which lines are alive, what came in, what that took. For /healthz and /metrics."""

from __future__ import annotations

from collections import Counter

from daemon.ports import Clock
from daemon.slack.line import Line

BEAT = 10.0
"""Seconds of silence after which a line is asked for a sign of life, which must come in half of them."""


class Hearing:
    """What the exchange and the sockets note, from the start of the daemon."""

    def __init__(self, clock: Clock, wanted: int) -> None:
        self._clock = clock
        self._frame_at: float | None = None
        self._event_at: float | None = None
        self.wanted = wanted
        self.lines: set[Line] = set()
        self.events = Counter[str]()
        """What Slack sent, by its type."""
        self.opened = Counter[str]()
        """Lines that began, by what made each necessary: "start", Slack's word, "closed" or "silent"."""
        self.failed = Counter[str]()
        """Attempts that came to nothing, by what they did not get: "ticket", "handshake" or "answer"."""

    def frame(self) -> None:
        """Something came in, if only the answer to a ping."""
        self._frame_at = self._clock.steady()

    def event(self, type: str) -> None:
        """An event came in."""
        self._event_at = self._clock.steady()
        self.events[type] += 1

    @property
    def alive(self) -> int:
        """How many lines are alive, as far as we know."""
        return sum(line.alive for line in self.lines)

    @property
    def deaf(self) -> bool:
        """Is no line alive, or did nothing come in for longer than a live one is silent?"""
        return not self.alive or (self.inbound_age or 0) > 2 * BEAT

    @property
    def inbound_age(self) -> float | None:
        """Seconds since anything came in; None before the first time."""
        return self._since(self._frame_at)

    @property
    def event_age(self) -> float | None:
        """Seconds since an event came in; None before the first one. People may say nothing for a day."""
        return self._since(self._event_at)

    def _since(self, at: float | None) -> float | None:
        return None if at is None else self._clock.steady() - at
