"""The time of this machine. Whoever runs the engine hands it a clock; tests bring one of their own."""

from __future__ import annotations

import asyncio
import time


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
