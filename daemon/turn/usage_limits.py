"""Which bound stands in the way of another call: of the turn, its thread, a person's day, or the day.

Counted from the journal.

The purse: what model calls have cost today, and what is left. A projection of the journal.

Looked at before each paid call, and folded on from there; the day is a UTC day.

What model calls have used, and which bound that reaches: values and pure folds.

What one reading may still use, with all that it reads by calling itself: looked at before each call.

Counts what the journal holds of it, what came since, and what is on its way.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from daemon.claude.deadlines import CallStopped, StreamDeadline
from daemon.engine.clock import DAY, Clock, midnight
from daemon.engine.event import Entry, Event, of_kind, root_of
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import OutageBegan, QuestionWithdrawn, TurnResumed
from daemon.kinds import (
    INNER,
    Ending,
    IncomingMessage,
    LimitReached,
    LookUpCall,
    ModelCall,
    QuestionAnswered,
    ReadingBegan,
    ReadingEnded,
    SoulTurnBegan,
)
from daemon.prompts.elements import make_element
from daemon.settings.limits import CONTINUE, Limits, ReadingLimits, TokenUsage

PAUSES = (QuestionAnswered, QuestionWithdrawn, SoulTurnBegan, TurnResumed)
"""Kinds that end a time in which nothing was done: it waited for someone, or the daemon was away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Calls that were sent, their tokens (all, in and out), dollars that were billed for them, and seconds.

    The seconds are those of the calls; of an execution, they are its wall-clock.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    def with_call(self, call: ModelCall) -> UsageTotals:
        """This and one more call, if it was made and is not the copy of one from before a restart.

        Calls and time of a reading are bounded by its own limits; what gave way to a person is made again.
        """
        if call.outcome == "over-budget" or call.taken_from:
            return self
        counts = not (call.reading or call.gave_way)
        return UsageTotals(
            calls=self.calls + counts,
            tokens=self.tokens + call.usage.total,
            usd=self.usd + call.cost,
            seconds=self.seconds + call.seconds * counts,
        )

    def reached_limit(self, limits: Limits) -> str:
        """The first bound that is reached: "calls", "tokens", "money" or "time"; empty where none is."""
        bounds = {
            "calls": (self.calls, limits.calls),
            "tokens": (self.tokens, limits.tokens),
            "money": (self.usd, limits.usd),
            "time": (self.seconds, limits.seconds),
        }
        for name, (used, most) in bounds.items():
            if most is not None and used >= most:
                return name
        return ""


NO_USAGE = UsageTotals()


def resets_limit(event: Event, owners: Collection[str]) -> str:
    """Whose count an owner begins anew with this answer: "turn", "thread", "person" or "day"; else empty.

    What somebody allowed who owns the soul no longer is allowed no longer; and what was allowed before a
    restart is allowed once.
    """
    if not isinstance(event, QuestionAnswered) or event.taken_from:
        return ""
    if event.value != CONTINUE or event.by not in owners:
        return ""
    return str(event.about.get("resets", ""))


def usage_of_execution(entries: Sequence[Entry[Any]], now: float, owners: Collection[str]) -> UsageTotals:
    """What an execution has used since it began or was last let go on; these are all entries of its lifetime.

    The time in which it waited for someone, or the daemon was away, does not count.
    """
    since = 0
    for number, entry in enumerate(entries):
        if resets_limit(entry.event, owners) == "turn":
            since = number
    own = entries[since:]
    spent = NO_USAGE
    for call in of_kind(ModelCall, own):
        spent = spent.with_call(call.event)
    seconds = active_seconds(own, readings=False)
    if not _depth(own):
        seconds += max(now - own[-1].at, 0.0)
    return replace(spent, seconds=seconds)


def active_seconds(entries: Sequence[Entry[Any]], *, readings: bool = True) -> float:
    """The seconds in which something was done between the first and the last of these.

    Without `readings`, what was done in one does not count: it has a bound of its own.
    """
    seconds, depth = 0.0, 0
    for before, then in pairwise(entries):
        depth += _opens(before.event)
        idle = isinstance(then.event, PAUSES) or isinstance(before.event, OutageBegan)
        if not idle and (readings or not depth):
            seconds += max(then.at - before.at, 0.0)  # a clock may have been set back
    return seconds


def _opens(event: Event) -> int:
    """1 where a reading begins, -1 where one ends."""
    return isinstance(event, ReadingBegan) - isinstance(event, ReadingEnded)


def _depth(entries: Sequence[Entry[Any]]) -> int:
    """How many readings are on their way after these."""
    return sum(_opens(entry.event) for entry in entries)


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


WARNINGS = (75, 90, 95)
"""Percent of a bound at which the soul is told how near it is."""


MOST = 1_000
"""How many threads' counts are kept at hand; another one is counted anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitShare:
    """How far a bound is used up; `resets` says whose it is."""

    resets: str
    bound: str
    used: float
    most: float

    @property
    def percent(self) -> float:
        """How much of it."""
        return 100.0 * self.used / self.most

    @property
    def warning(self) -> int:
        """The last of the warnings that is due; 0 where none is."""
        due = 0
        for percent in WARNINGS:
            if self.percent >= percent:
                due = percent
        return due

    @property
    def in_words(self) -> str:
        """What the soul is told of it."""
        return make_element(
            "budget",
            bound=self.bound,
            of=self.resets,
            percent=self.warning,
            used=f"{self.used:g}",
            limit=f"{self.most:g}",
        )


class LimitChecker:
    """Counts what executions, threads with all under them, and people (a UTC day) have used."""

    def __init__(
        self,
        journal: JournalReader,
        clock: Clock,
        budget: DailyBudget,
        *,
        turn: Limits,
        thread: Limits,
        person: Limits,
        inner: float = 0.0,
    ) -> None:
        """`inner`: dollars a UTC day for the inner life, in the place of a thread's and a person's bounds."""
        self._journal = journal
        self._clock = clock
        self._budget = budget
        self._turn = turn
        self._thread = thread
        self._person = person
        self._inner = inner
        self._calling = Counter[str]()
        """How many calls are on their way, by root."""
        self._trees: OrderedDict[tuple[str, str], tuple[int, UsageTotals]] = OrderedDict()

    def exceeded(
        self, entries: Sequence[Entry[Any]], people: Iterable[str], limits: Limits | None = None
    ) -> LimitReached | None:
        """The bound that stands in the way of one more call.

        `entries` are the execution's lifetime; `people` the ids of those it answers; `limits`
        hold for this execution besides the owner's.
        """
        used = usage_of_execution(entries, self._clock.now(), self._budget.owners)
        bound = used.reached_limit(limits or Limits()) or used.reached_limit(self._turn)
        if bound:
            return LimitReached(bound=bound, resets="turn")
        return self._beyond_a_turn(root_of(entries[0].thread), people)

    def exceeded_in_tree(self, root: str, people: Iterable[str]) -> LimitReached | None:
        """The same of open thought, where a turn's bounds hold for all that a person's message led to."""
        if root == INNER:
            return self._beyond_a_turn(root, people)
        spent = self.usage_of_tree(root, "turn")
        on_their_way = replace(spent, calls=spent.calls + self._calling[root])
        bound = on_their_way.reached_limit(self._turn)
        if bound:
            return LimitReached(bound=bound, resets="turn")
        return self._beyond_a_turn(root, people)

    def count_approvals(self, thread: str) -> int:
        """How often an owner has let something go on in this thread."""
        given = self._journal.thread_entries(thread, QuestionAnswered)
        return len([one for one in given if resets_limit(one.event, self._budget.owners)])

    @contextmanager
    def count_call_in_flight(self, root: str) -> Iterator[None]:
        """While inside, a call is on its way in this tree: branches that think at once count each other's."""
        self._calling[root] += 1
        try:
            yield
        finally:
            self._calling[root] -= 1
            if not self._calling[root]:
                del self._calling[root]

    def closest(self, root: str) -> LimitShare | None:
        """Which bound of a root's turn or thread is nearest, if there is any that open thought may meet."""
        if root == INNER:
            return None
        shares = []
        for resets, limits in (("turn", self._turn), ("thread", self._thread)):
            spent = self.usage_of_tree(root, resets)
            for bound, used, most in (
                ("calls", spent.calls + self._calling[root], limits.calls),
                ("tokens", spent.tokens, limits.tokens),
                ("money", spent.usd, limits.usd),
            ):
                if most:
                    shares.append(LimitShare(resets=resets, bound=bound, used=used, most=most))
        return max(shares, key=attrgetter("percent"), default=None)

    def _beyond_a_turn(self, root: str, people: Iterable[str]) -> LimitReached | None:
        if root == INNER:
            if self._budget.today().inner < self._inner:
                return None
            return LimitReached(bound="money", resets="inner")
        if self._thread != Limits():
            bound = self.usage_of_tree(root, "thread").reached_limit(self._thread)
            if bound:
                return LimitReached(bound=bound, resets="thread")
        today = self._budget.today().people
        for person in people:
            bound = today.get(person, NO_USAGE).reached_limit(self._person)
            if bound:
                return LimitReached(bound=bound, resets="person", person=person)
        return None

    def usage_of_tree(self, root: str, resets: str) -> UsageTotals:
        """What this thread and all under it have used since a person's last word, or a consent to that."""
        seq, spent = self._trees.pop((root, resets), (0, NO_USAGE))
        for entry in self._journal.tree_entries(
            root, ModelCall, QuestionAnswered, IncomingMessage, since=seq
        ):
            seq = entry.seq
            if isinstance(entry.event, ModelCall):
                spent = spent.with_call(entry.event)
            elif resets_limit(entry.event, self._budget.owners) == resets or is_from_person(entry.event):
                spent = NO_USAGE
        self._trees[root, resets] = seq, spent
        if len(self._trees) > MOST:
            self._trees.popitem(last=False)
        return spent


def is_from_person(event: Event) -> bool:
    """Did a person say this? Then the soul does not go on by itself."""
    return isinstance(event, IncomingMessage) and not event.bot
