"""The time of this machine. Whoever runs the engine hands it a clock; tests bring one of their own."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What time it is, in Unix seconds, and how to wait. Tests bring their own.

    A machine's time may be set, back too: how long something takes is told by `steady`, which only goes
    forward and says nothing about the date.
    """

    def now(self) -> float: ...
    def steady(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The time of this machine."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def steady(self) -> float:
        """Seconds that only go forward, whatever is done to the time of this machine."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait this long."""
        await asyncio.sleep(seconds)


class JournalClock(Protocol):
    """Time, as the engine needs it."""

    def now(self) -> float:
        """Unix seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""
