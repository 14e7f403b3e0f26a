"""The purse: what model calls have cost today, and what is left. A projection of the journal.

Looked at before each paid call; the day is a UTC day.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One UTC day: when it began, what was billed, and what it would have cost unrehearsed (dollars)."""

    began: float
    cost: float = 0.0
    worth: float = 0.0

    def with_call(self, call: Entry) -> Day:
        """This day with one more call in it, if the call is of this day."""
        if call.at < self.began:
            return self
        return Day(
            began=self.began,
            cost=self.cost + call.body["cost"],
            worth=self.worth + call.body["worth"],
        )


class Budget:
    """Dollars per UTC day. Counts what is recorded plus a reservation for what is in flight."""

    def __init__(self, journal: Journal, clock: Clock, daily: float) -> None:
        self.daily = daily
        self._clock = clock
        self._in_flight = 0.0
        self._journal = journal
        self._released = asyncio.Event()
        self._day = self._fold()

    def today(self) -> Day:
        """What has been spent since midnight, UTC."""
        if self._midnight() != self._day.began:
            self._day = self._fold()
        return self._day

    def spent(self, call: Entry) -> None:
        """A call was recorded."""
        self._day = self.today().with_call(call)

    @asynccontextmanager
    async def reserved(self, amount: float) -> AsyncIterator[bool]:
        """Whether this much may be spent. While inside, nobody else can count on it; free is always granted.

        Where only what is in flight stands in the way, it waits: a reservation is more than a call costs.
        """
        while self._fits(amount) and not self._fits(amount + self._in_flight):
            await self._released.wait()
        granted = self._fits(amount)
        held = amount if granted else 0.0
        self._in_flight += held
        try:
            yield granted
        finally:
            self._in_flight -= held
            self._released.set()
            self._released = asyncio.Event()

    def _fits(self, amount: float) -> bool:
        return amount == 0 or self.today().cost + amount <= self.daily

    def _fold(self) -> Day:
        day = Day(began=self._midnight())
        for call in self._journal.kind("model-call", since=day.began):
            day = day.with_call(call)
        return day

    def _midnight(self) -> float:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
