"""Clocks of the engine, and days."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

DAY = 86_400.0


def boot_time() -> float:
    """Return seconds that also pass while the machine or the process is suspended; never set back."""
    # where there is no such clock, the monotonic one counts suspended time
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
