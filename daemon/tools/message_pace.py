"""Pace at which output of a server is taken: a flood fills its pipe, and not the daemon's time."""

from __future__ import annotations

import asyncio

PERIOD = 1.0


class Pace:
    """Allowance of so many units a second; whoever takes more waits for the next second."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._began = float("-inf")
        self._taken = 0

    async def take(self, units: int = 1) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._began >= PERIOD:
            self._began, self._taken = now, 0
        self._taken += units
        if self._taken > self._most:
            await asyncio.sleep(self._began + PERIOD - now)
