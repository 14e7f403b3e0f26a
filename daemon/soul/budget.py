"""The purse: what model calls have cost today, and what is left. A projection of the journal.

Looked at before each paid call, and folded on from there; the day is a UTC day.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from daemon.claude.patience import CallStopped, StreamDeadline
from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.engine.reading import JournalReader
from daemon.kinds import INNER, LookUpCall, ModelCall, QuestionAnswered
from daemon.limits import DAY, midnight
from daemon.ports import Clock
from daemon.reply import TokenUsage
from daemon.soul.spent import NO_USAGE, UsageTotals, resets_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySpending:
    """One UTC day: when it began, what was billed, and what it would have cost unrehearsed (dollars).

    `lifted` is what had been billed when an owner last let it go on; `people` is what was done for each
    person (by id), since an owner last let that go on; `inner` is what the inner life was billed.
    """

    began: float
    cost: float = 0.0
    worth: float = 0.0
    lifted: float = 0.0
    inner: float = 0.0
    people: Mapping[str, UsageTotals] = field(default_factory=dict)

    def can_spend(self, amount: float, daily: float) -> bool:
        """May this much be spent besides, where so much may be spent a day?"""
        return amount == 0 or self.cost - self.lifted + amount <= daily

    def with_entry(
        self, entry: Entry[ModelCall | LookUpCall | QuestionAnswered], owners: Collection[str]
    ) -> DailySpending:
        """This day with one more call or answer in it, if that is of this day."""
        if not self.began <= entry.at < self.began + DAY:  # "tomorrow": the clock was once ahead
            return self
        if isinstance(entry.event, ModelCall):
            return self.with_call(entry.event, inner=root_of(entry.thread) == INNER)
        if isinstance(entry.event, LookUpCall):
            cost, worth = entry.event.cost, entry.event.worth
            return replace(self, cost=self.cost + cost, worth=self.worth + worth)
        match resets_limit(entry.event, owners):
            case "day":
                return replace(self, lifted=self.cost)
            case "person":
                person = str(entry.event.about.get("person"))
                return replace(self, people={**self.people, person: NO_USAGE})
        return self

    def with_call(self, call: ModelCall, *, inner: bool) -> DailySpending:
        """This day with one more call in it, of the inner life or not."""
        if call.taken_from:  # it was paid before a restart
            return self
        people = dict(self.people)
        for person in call.people:
            people[person] = self.people.get(person, NO_USAGE).with_call(call)
        return replace(
            self,
            cost=self.cost + call.cost,
            worth=self.worth + call.worth,
            inner=self.inner + call.cost * inner,
            people=people,
        )


class DailyBudget:
    """Dollars per UTC day. Counts what is recorded plus a reservation for what is in flight.

    `owners` are the ids of those who may let the day, or a person, go on.
    """

    def __init__(self, journal: Journal, clock: Clock, daily: float, owners: Collection[str] = ()) -> None:
        self.daily = daily
        self.owners = owners
        self._clock = clock
        self._in_flight = 0.0
        self._refused = 0.0
        """What the dearest call may cost that the day could not pay; 0 where none was refused since."""
        self._journal = journal
        self._released = asyncio.Event()
        self._preparing = asyncio.Lock()
        self._day = DailySpending(began=midnight(clock.now()))
        self._upto = 0
        """The seq up to which this day is folded."""
        self._newest: int | None = None
        """What was the newest then."""

    async def preload(self) -> None:
        """Read beside the loop what this day holds by now; then `today` reads only what comes."""
        async with self._preparing:
            began = midnight(self._clock.now())
            if began == self._day.began and self._upto:
                return
            read = partial(_read_day, began=began, owners=self.owners)
            day, upto = await self._journal.read_in_background(read)
            self._begin(began)
            if not self._upto:
                self._day, self._upto = day, upto

    def _begin(self, began: float) -> None:
        """Begin another day, if this is one."""
        if began != self._day.began:
            self._day = DailySpending(began=began)
            self._upto, self._newest = 0, None
            self._refused = 0.0

    def today(self) -> DailySpending:
        """What has been spent since midnight, UTC."""
        began = midnight(self._clock.now())
        self._begin(began)
        if not self._upto:
            self._day, self._upto = _read_day(self._journal, began, self.owners)
        newest = self._journal.change_counter(ModelCall, LookUpCall, QuestionAnswered)
        if newest == self._newest:
            return self._day
        self._newest = newest
        found: list[Entry[ModelCall | LookUpCall | QuestionAnswered]]
        found = self._journal.entries_of_kind(
            ModelCall, LookUpCall, QuestionAnswered, since=self._upto, at=began
        )
        for entry in found:
            self._day = self._day.with_entry(entry, self.owners)
            self._upto = entry.seq
        return self._day

    def can_spend(self, amount: float) -> bool:
        """May this much be spent today? Free is always granted; an owner may grant as much again."""
        return self.today().can_spend(amount, self.daily)

    @property
    def fault(self) -> Sequence[str]:
        """Why no call is made any more today, in a sentence for the owner; none where one may be made.

        A call is let through only if the dearest that may come of it fits: so this may be long before all
        is spent.
        """
        if not self._refused:
            return ()
        day = self.today()
        if day.can_spend(self._refused, self.daily):
            return ()
        left = max(self.daily - (day.cost - day.lifted), 0.0)
        return [
            f"${left:.4f} is left of today's budget (BUDGET_DAILY_USD={self.daily:g}), and the next call may"
            f" cost up to ${self._refused:.4f}: none is made until midnight UTC, or until the budget is"
            " raised.",
        ]

    @asynccontextmanager
    async def reserve(self, amount: float, stop: asyncio.Event | None = None) -> AsyncIterator[bool]:
        """Whether this much may be spent. While inside, nobody else can count on it; free is always granted.

        Stay inside until what it cost is in the journal. Where only what is in flight stands in the way, it
        waits: a reservation is more than a call costs. After a `stop` it waits for nothing: no call is sent.
        """
        stop = stop or asyncio.Event()
        day = self.today()
        while day.can_spend(amount, self.daily) and not day.can_spend(amount + self._in_flight, self.daily):
            if stop.is_set():
                break
            with suppress(CallStopped):
                async with StreamDeadline(self._clock, math.inf, stop):
                    await self._released.wait()
            day = self.today()
        granted = day.can_spend(amount, self.daily)
        held = 0.0
        if granted:
            held = amount
            if amount >= self._refused:
                self._refused = 0.0
        else:
            self._refused = max(self._refused, amount)
        self._in_flight += held
        try:
            yield granted
        finally:
            self._in_flight -= held
            self._released.set()
            self._released = asyncio.Event()


COUNTED = (
    "$.people",
    "$.outcome",
    "$.failure",
    "$.reading",
    "$.taken_from",
    "$.cost",
    "$.worth",
    "$.seconds",
    "$.usage",
)
"""The fields of a call of which a day is made."""


def _read_day(journal: JournalReader, began: float, owners: Collection[str]) -> tuple[DailySpending, int]:
    """The day that began then, as the journal has it now, and up to which entry it is read.

    Of a call only what counts is read: a day may have thousands of them.
    """
    upto = journal.last_seq_of_all()
    day = DailySpending(began=began)
    answers: list[Entry[LookUpCall | QuestionAnswered]] = journal.entries_of_kind(
        LookUpCall, QuestionAnswered, at=began
    )
    for seq, thread, _, at, fields in journal.fields_of_kind([ModelCall], COUNTED, upto=upto, at=began):
        while answers and answers[0].seq < seq:
            day = day.with_entry(answers.pop(0), owners)
        if at < began + DAY:  # "tomorrow": the clock was once ahead
            day = day.with_call(_counted(json.loads(fields)), inner=root_of(thread) == INNER)
    for answered in answers:
        day = day.with_entry(answered, owners)
    return day, upto


def _counted(fields: Sequence[Any]) -> ModelCall:
    """A call of which only the fields COUNTED are known."""
    people, outcome, failure, reading, taken_from, cost, worth, seconds, usage = fields
    return ModelCall(
        name="",
        role="",
        saw="",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        model="",
        people=tuple(people or ()),
        outcome=outcome,
        failure=failure or "",
        reading=bool(reading),
        taken_from=taken_from or "",
        cost=cost or 0.0,
        worth=worth or 0.0,
        seconds=seconds or 0.0,
        usage=TokenUsage(**(usage or {})),
    )
