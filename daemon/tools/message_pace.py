"""Pace at which output of a server is taken: a flood fills its pipe, and not the daemon's time."""

from __future__ import annotations

import asyncio


class OutputPace:
    """Allowance of so many units in a period of so many seconds; whoever takes more waits for the next."""

    def __init__(self, most: int, period: float = 1.0) -> None:
        self._most = most
        self._period = period
        self._began = float("-inf")
        self._taken = 0

    async def take(self, units: int = 1) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._began >= self._period:
            self._began, self._taken = now, 0
        self._taken += units
        if self._taken > self._most:
            await asyncio.sleep(self._began + self._period - now)
