"""A clock that stands still until a test moves it. For every test that waits for something."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from tests.attention import AttentiveLoop

PASSES = 50
"""Passes of the event loop after each wake: enough for a chain of tasks, not a wait for a socket."""


class TrueClock:
    """The time of those whose clock is right, while that of a FakeClock is ahead."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.steady()

    def steady(self) -> float:
        return self._clock.steady()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class FakeClock:
    """The Clock port for tests: `sleep` ends only when `advance` has moved the time far enough."""

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
        """The machine's time is ahead of the true one by this much from now on; nobody wakes for that."""
        self._ahead = seconds

    @property
    def sleepers(self) -> int:
        """How many are asleep: lets a test see that something waits before it moves the time."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move the time, stopping at each sleeper whose time has come, in order, to let it run.

        What it does then, including new sleeps that end within the span, belongs to the same advance.
        """
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
        """It is so much later at once, as when a machine has slept: whoever is due wakes late, and once."""
        self._now += seconds
        await self.advance(0)

    async def leap(self, seconds: float) -> None:
        """Move the time at once, as when a machine was suspended: whose time has come wakes once."""
        await self._settle()
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
        await self._settle()

    async def _pause(self) -> None:
        """Let whoever woke go on until nobody can, or for as many passes as at the end."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, AttentiveLoop):
            await loop.attention.pause(PASSES)
        else:
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(PASSES):
            await asyncio.sleep(0)
