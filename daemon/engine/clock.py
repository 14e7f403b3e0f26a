"""Clocks of the engine, and days."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

DAY = 86_400.0
"""Seconds in a day."""


def midnight(now: float) -> float:
    """Return the start of the UTC day, in Unix seconds."""
    return now - now % DAY


class Clock(Protocol):
    """Unix time, monotonic time and sleep; tests provide their own.

    The machine's time may be set back, so measure durations with `steady`.
    """

    def now(self) -> float: ...
    def steady(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Clock of this machine."""

    def now(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def steady(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
