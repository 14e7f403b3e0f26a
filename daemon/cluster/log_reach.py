"""Reach of the log: true while it answers, false once it has not for two seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from daemon.engine.clock import Clock

AWAY_SECONDS = 2.0
"""Seconds without an answer after which the log counts as away."""


class LogReach:
    """`reachable` has had its value `since` a Unix time; `on_change` is called with each new value.

    `reason`: error that the log was last away with; empty while it is reachable.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.reachable = False
        self.since = clock.now()
        self.reason = ""
        self.on_change: list[Callable[[bool], None]] = []
        self._timer: asyncio.TimerHandle | None = None

    def note_answer(self) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(AWAY_SECONDS, self._set, False)
        self.reason = ""
        if not self.reachable:
            self._set(True)

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _set(self, reachable: bool) -> None:
        self.reachable = reachable
        self.since = self._clock.now()
        for callback in self.on_change:
            callback(reachable)
