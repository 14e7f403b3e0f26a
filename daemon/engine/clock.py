"""Clocks of the engine, and days."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

DAY = 86_400.0


def midnight(now: float) -> float:
    """Return the start of the UTC day in Unix seconds."""
    return now - now % DAY


class Clock(Protocol):
    """Clock of a program: Unix time, monotonic time and sleep.

    The Unix time may be set back, so measure durations with `steady`.
    """

    def now(self) -> float: ...
    def steady(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
