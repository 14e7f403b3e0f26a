"""What one reading may still use, with all that it reads by calling itself: looked at before each call.

Counts what the journal holds of it, what came since, and what is on its way.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from daemon.engine.event import Entry
from daemon.kinds import Ending, ModelCall
from daemon.limits import ReadingLimits
from daemon.ports import Clock

LAST_SHARE = 0.2
"""Share of the time of a reading that its last call may take, within the bounds of `LAST_WORD`."""
LAST_WORD = (2.0, 120.0)
"""Seconds that it may take at the least and at the most."""


class ReadingAllowance:
    """Calls, dollars and seconds of one tree; `spent` and `seconds` it had used before this start."""

    def __init__(
        self, limits: ReadingLimits, clock: Clock, spent: Iterable[Entry[ModelCall]], seconds: float
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock.steady() - seconds
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._on_their_way: list[float] = []
        """What each of these calls may cost, in dollars."""
        self._released = asyncio.Event()
        self._counted = set[int]()
        self.calls = 0
        self.usd = 0.0
        for call in spent:
            self.count(call)

    def count(self, call: Entry[ModelCall]) -> None:
        """This call was made; it counts once. One that was taken over from before a restart is no new one."""
        made = call.event
        if call.seq in self._counted or made.outcome == "over-budget" or made.taken_from:
            return
        self._counted.add(call.seq)
        self.calls += 1
        self.usd += made.cost

    @property
    def reached_limit(self) -> Ending | None:
        """The bound that stands in the way of another call."""
        limits = self._limits
        if self.calls + len(self._on_their_way) >= limits.calls:
            return "calls"
        if limits.usd and self.usd >= limits.usd:
            return "money"
        if self._clock.steady() - self._began >= limits.seconds:
            return "time"
        return None

    @asynccontextmanager
    async def reserve(self, amount: float, *, last: bool = False) -> AsyncIterator[Ending | None]:
        """Holds a slot, and so many dollars, while one call is on its way; yields the bound that forbids it.

        Waits for a slot, and while only calls on their way leave too little money. The `last` call of a
        reading may go past the bounds.
        """
        async with self._slots:
            while not last and self._waits(amount):
                await self._released.wait()
            reached = self._refusal(amount)
            if reached and not last:
                yield reached
                return
            self._on_their_way.append(amount)
            try:
                yield None
            finally:
                self._on_their_way.remove(amount)
                self._released.set()
                self._released = asyncio.Event()

    @asynccontextmanager
    async def stop_in_time(
        self, stopping: asyncio.Event, *, last: bool = False
    ) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set when somebody stops the soul, or when the time of a call is over.

        The `last` call of a reading has a short time of its own, since that of the reading may be over.
        """
        left = self._began + self._limits.seconds - self._clock.steady()
        if last:
            least, most = LAST_WORD
            left = min(max(self._limits.seconds * LAST_SHARE, least), most)
        over = asyncio.Event()
        ends = [asyncio.create_task(stopping.wait()), asyncio.create_task(self._clock.sleep(left))]
        for end in ends:
            end.add_done_callback(lambda _: over.set())
        try:
            yield over
        finally:
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    def _left(self) -> float:
        """Dollars that may still be spent; without that bound, any."""
        if not self._limits.usd:
            return math.inf
        return self._limits.usd - self.usd

    def _waits(self, amount: float) -> bool:
        """Would it fit, but for what others may cost that are on their way?"""
        reserved = sum(self._on_their_way)
        return amount > 0 and self._left() - reserved < amount <= self._left()

    def _refusal(self, amount: float) -> Ending | None:
        if amount > 0 and amount > self._left():
            return "money"
        return self.reached_limit
