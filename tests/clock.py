"""Clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from tests.attention import AttentiveLoop

PASSES = 50
"""Passes of the loop after each wake: enough for a chain of tasks, not a socket."""


class TrueClock:
    """Correct time while a FakeClock is ahead."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.steady()

    def steady(self) -> float:
        return self._clock.steady()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class FakeClock:
    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self._now = now
        self._ahead = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now + self._ahead

    def steady(self) -> float:
        return self._now

    def set_ahead(self, seconds: float) -> None:
        """Set the wall clock ahead; nobody wakes."""
        self._ahead = seconds

    @property
    def sleepers(self) -> int:
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move the time, stopping at each due sleeper, also one that begins meanwhile."""
        await self._settle()
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self._now = max(self._now, due)
                future.set_result(None)
                await self._pause()
        self._now = end
        await self._settle()

    async def skip(self, seconds: float) -> None:
        """Move the time at once, as after a suspend; tasks may sleep anew."""
        self._now += seconds
        await self.advance(0)

    async def leap(self, seconds: float) -> None:
        """Move the time at once; each due sleeper wakes once."""
        await self._settle()
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
        await self._settle()

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, AttentiveLoop):
            await loop.attention.pause(PASSES)
        else:
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(PASSES):
            await asyncio.sleep(0)
