"""What model calls have cost, by day, conversation, person and model. For the page's costs."""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeVar

from daemon.console.fold import FieldFold, Fields, FoldedRow
from daemon.engine.keys import root_of
from daemon.kinds import LookUpCall, ModelCall

T = TypeVar("T")
Part = Literal["day", "thread", "person", "model"]
MANY = 1_000
"""Sums that are looked at in one go; between two goes everybody else may run."""


class SpendingKey(NamedTuple):
    """What is added up together: of one UTC day (`2026-11-24`), in one conversation, for one person (an id;
    empty: for nobody in particular), by one model."""

    day: str
    thread: str
    person: str
    model: str


@dataclass(slots=True, kw_only=True)
class SpendingTotal:
    """Calls, dollars that were billed, what it would have cost unrehearsed, and tokens: read anew, read from
    the provider's cache, and written. A call for two people is half a call for each."""

    calls: float = 0.0
    cost: float = 0.0
    worth: float = 0.0
    read: float = 0.0
    cached: float = 0.0
    written: float = 0.0

    def add(self, other: SpendingTotal) -> None:
        """Count that one in, too."""
        self.calls += other.calls
        self.cost += other.cost
        self.worth += other.worth
        self.read += other.read
        self.cached += other.cached
        self.written += other.written

    def as_json(self) -> dict[str, float]:
        """As JSON."""
        return {
            "calls": round(self.calls),
            "cost": self.cost,
            "worth": self.worth,
            "read": round(self.read),
            "cached": round(self.cached),
            "written": round(self.written),
        }


class SpendingFold(FieldFold):
    """All that was spent."""

    kinds = (ModelCall, LookUpCall)
    paths = (
        "$.taken_from",
        "$.people",
        "$.model",
        "$.cost",
        "$.worth",
        "$.usage.input",
        "$.usage.cache_read",
        "$.usage.cache_write",
        "$.usage.output",
    )

    def thread_total(self, thread: str) -> SpendingTotal:
        """What this conversation has cost in all."""
        return self._threads.get(thread, SpendingTotal())

    def person_total(self, person: str) -> SpendingTotal:
        """What was spent for this person in all."""
        return self._people.get(person, SpendingTotal())

    async def totals_by(self, part: Part, since: str = "") -> defaultdict[str, SpendingTotal]:
        """The sums by this part of a cell, from a day on; nothing for what was not paid for."""
        sums: defaultdict[str, SpendingTotal] = defaultdict(SpendingTotal)
        for some in _in_goes([*self._cells.items()]):
            for cell, spent in some:
                if cell.day >= since:
                    sums[getattr(cell, part)].add(spent)
            await asyncio.sleep(0)
        return sums

    async def dearest_by(self, part: Part, since: str, most: int) -> Sequence[tuple[str, SpendingTotal]]:
        """The same, the dearest first, so many of them."""
        dearest: list[tuple[str, SpendingTotal]] = []
        for some in _in_goes([*(await self.totals_by(part, since)).items()]):
            dearest = heapq.nsmallest(most, [*dearest, *some], key=_price)
            await asyncio.sleep(0)
        return dearest

    def _clear(self) -> None:
        self._cells: dict[SpendingKey, SpendingTotal] = defaultdict(SpendingTotal)
        self._threads: dict[str, SpendingTotal] = defaultdict(SpendingTotal)
        self._people: dict[str, SpendingTotal] = defaultdict(SpendingTotal)

    def _add(self, row: FoldedRow) -> None:
        call = row.fields
        if call["$.taken_from"]:  # it was paid before a restart
            return
        day = utc_day(row.at)
        thread = root_of(row.thread)
        people = call["$.people"] or [""]
        spent = _of(call, 1 / len(people))
        for person in people:
            self._cells[SpendingKey(day, thread, person, call["$.model"] or "")].add(spent)
            self._threads[thread].add(spent)
            self._people[person].add(spent)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)


def _in_goes(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), MANY):
        yield items[start : start + MANY]


def _of(call: Fields, share: float) -> SpendingTotal:
    """What this share of a call came to."""
    read = (call["$.usage.input"] or 0) + (call["$.usage.cache_write"] or 0)
    return SpendingTotal(
        calls=share,
        cost=(call["$.cost"] or 0.0) * share,
        worth=(call["$.worth"] or 0.0) * share,
        read=read * share,
        cached=(call["$.usage.cache_read"] or 0) * share,
        written=(call["$.usage.output"] or 0) * share,
    )


def _price(priced: tuple[str, SpendingTotal]) -> tuple[float, float, str]:
    name, spent = priced
    return -spent.cost, -spent.worth, name


def utc_day(at: float) -> str:
    """The UTC day of a time."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()
