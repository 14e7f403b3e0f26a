"""The purse: what model calls have cost today, and what is left. A projection of the journal.

Looked at before each paid call; the day is a UTC day.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.life.spent import NOTHING, Spent, lifts
from daemon.ports import Clock

DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One UTC day: when it began, what was billed, and what it would have cost unrehearsed (dollars).

    `lifted` is what had been billed when an owner last let it go on; `people` is what was done for each
    person (by id), since an owner last let that go on.
    """

    began: float
    cost: float = 0.0
    worth: float = 0.0
    lifted: float = 0.0
    people: Mapping[str, Spent] = field(default_factory=dict)

    def after(self, entry: Entry, owners: Collection[str]) -> Day:
        """This day with one more call or answer in it, if that is of this day."""
        if not self.began <= entry.at < self.began + DAY:  # "tomorrow": the clock was once ahead
            return self
        if entry.kind == "model-call":
            return self._with_call(entry)
        match lifts(entry, owners):
            case "day":
                return replace(self, lifted=self.cost)
            case "person":
                return replace(self, people={**self.people, str(entry.body["about"].get("person")): NOTHING})
        return self

    def _with_call(self, call: Entry) -> Day:
        people = {who: self.people.get(who, NOTHING).after(call) for who in call.body.get("people", ())}
        return replace(
            self,
            cost=self.cost + call.body["cost"],
            worth=self.worth + call.body["worth"],
            people={**self.people, **people},
        )


class Budget:
    """Dollars per UTC day. Counts what is recorded plus a reservation for what is in flight.

    `owners` are the ids of those who may let the day, or a person, go on.
    """

    def __init__(self, journal: Journal, clock: Clock, daily: float, owners: Collection[str] = ()) -> None:
        self.daily = daily
        self.owners = owners
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

    def spent(self, entry: Entry) -> None:
        """A call was recorded, or an answer, which may let the day or a person go on."""
        if self._midnight() == self._day.began:  # else the fold will find it in the journal
            self._day = self._day.after(entry, self.owners)

    def fits(self, amount: float) -> bool:
        """May this much be spent today? Free is always granted; an owner may grant as much again."""
        day = self.today()
        return amount == 0 or day.cost - day.lifted + amount <= self.daily

    @asynccontextmanager
    async def reserved(self, amount: float) -> AsyncIterator[bool]:
        """Whether this much may be spent. While inside, nobody else can count on it; free is always granted.

        Where only what is in flight stands in the way, it waits: a reservation is more than a call costs.
        """
        while self.fits(amount) and not self.fits(amount + self._in_flight):
            await self._released.wait()
        granted = self.fits(amount)
        held = amount if granted else 0.0
        self._in_flight += held
        try:
            yield granted
        finally:
            self._in_flight -= held
            self._released.set()
            self._released = asyncio.Event()

    def _fold(self) -> Day:
        day = Day(began=self._midnight())
        kinds = (self._journal.kind(kind, since=day.began) for kind in ("model-call", "answered"))
        for entry in sorted((entry for found in kinds for entry in found), key=lambda entry: entry.seq):
            day = day.after(entry, self.owners)
        return day

    def _midnight(self) -> float:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
