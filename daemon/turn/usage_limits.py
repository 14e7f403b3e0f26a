"""Usage and limits of turns, threads, people, UTC days and readings, counted from the journal."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from daemon.claude.deadlines import CallStopped, StreamDeadline
from daemon.engine.clock import DAY, Clock, midnight
from daemon.engine.event import Entry, Event, of_kind, root_of
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import OutageBegan, QuestionWithdrawn, TurnResumed
from daemon.kinds import (
    INNER,
    ActionStarted,
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
from daemon.turn.reservations import CallReservations, EndReservation, ProcessReservations, SpentToday

IDLE_ENDING_KINDS = (QuestionAnswered, QuestionWithdrawn, SoulTurnBegan, TurnResumed)
"""Kinds that end idle time, in which an execution waited or the daemon was off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Usage: calls of models, tokens in and out, billed dollars, seconds, calls of tools.

    Seconds are those of calls; of an execution, those in which it was active.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    tools: int = 0

    def with_call(self, call: ModelCall) -> UsageTotals:
        if call.outcome == "over-budget" or call.taken_from:
            return self
        counts = not (call.reading or call.gave_way)
        return replace(
            self,
            calls=self.calls + counts,
            tokens=self.tokens + call.usage.total,
            usd=self.usd + call.cost,
            seconds=self.seconds + call.seconds * counts,
        )

    def with_action(self, action: ActionStarted) -> UsageTotals:
        if not action.is_tool_call or action.taken_from:
            return self
        return replace(self, tools=self.tools + 1)

    def reached_limit(self, limits: Limits) -> str:
        """Return the first limit reached: "calls", "tokens", "money" or "time"; empty if none."""
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

NO_SINGLE_LIMITS: Mapping[str, Limits] = {}


def resets_limit(event: Event, owners: Collection[str]) -> str:
    """Return the count that an owner's answer resets: "turn", "thread", "person" or "day"; empty if none.

    The person must still be an owner; each answer counts once.
    """
    if not isinstance(event, QuestionAnswered) or event.taken_from:
        return ""
    if event.value != CONTINUE or event.by not in owners:
        return ""
    return str(event.about.get("resets", ""))


def usage_of_execution(entries: Sequence[Entry[Any]], now: float, owners: Collection[str]) -> UsageTotals:
    """Return the usage since an execution began or its limit was reset; `entries` are all of the execution.

    Idle time does not count.
    """
    since = 0
    for number, entry in enumerate(entries):
        if resets_limit(entry.event, owners) == "turn":
            since = number
    own = entries[since:]
    spent = NO_USAGE
    for call in of_kind(ModelCall, own):
        spent = spent.with_call(call.event)
    for action in of_kind(ActionStarted, own):
        spent = spent.with_action(action.event)
    seconds = active_seconds(own, readings=False)
    if not _depth(own):
        seconds += max(now - own[-1].at, 0.0)
    return replace(spent, seconds=seconds)


def active_seconds(entries: Sequence[Entry[Any]], *, readings: bool = True) -> float:
    """Return the seconds in which an execution was active, optionally without `readings`."""
    seconds, depth = 0.0, 0
    for before, then in pairwise(entries):
        depth += _opens(before.event)
        idle = isinstance(then.event, IDLE_ENDING_KINDS) or isinstance(before.event, OutageBegan)
        if not idle and (readings or not depth):
            seconds += max(then.at - before.at, 0.0)  # the clock may have been set back
    return seconds


def _opens(event: Event) -> int:
    return isinstance(event, ReadingBegan) - isinstance(event, ReadingEnded)


def _depth(entries: Sequence[Entry[Any]]) -> int:
    return sum(_opens(entry.event) for entry in entries)


LAST_CALL_SHARE = 0.2
"""Share of a reading's time kept for its last call, within `LAST_CALL_SECONDS`."""


LAST_CALL_SECONDS = (2.0, 120.0)
"""Least and most seconds kept for the last call of a reading."""


class ReadingAllowance:
    """Calls, dollars and seconds left to a reading and the readings below it.

    `spent` and `seconds` were used before a restart.
    """

    def __init__(
        self, limits: ReadingLimits, clock: Clock, spent: Iterable[Entry[ModelCall]], seconds: float
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock.steady() - seconds
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._on_their_way: list[float] = []
        self._released = asyncio.Event()
        self._counted = set[int]()
        self.calls = 0
        self.usd = 0.0
        for call in spent:
            self.count(call)

    def count(self, call: Entry[ModelCall]) -> None:
        """Count a call once, if it was sent and is not a copy made at a restart."""
        made = call.event
        if call.seq in self._counted or made.outcome == "over-budget" or made.taken_from:
            return
        self._counted.add(call.seq)
        self.calls += 1
        self.usd += made.cost

    @property
    def reached_limit(self) -> Ending | None:
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
        """Reserve dollars and a slot for a call; yield the limit that forbids it, or None.

        Waits while other calls occupy them. The `last` call may exceed limits.
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
        """Yield an event set by a stop or at the end of the reading's time.

        The `last` call has its own time.
        """
        left = self._began + self._limits.seconds - self._clock.steady()
        if last:
            least, most = LAST_CALL_SECONDS
            left = min(max(self._limits.seconds * LAST_CALL_SHARE, least), most)
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
        if not self._limits.usd:
            return math.inf
        return self._limits.usd - self.usd

    def _waits(self, amount: float) -> bool:
        reserved = sum(self._on_their_way)
        return amount > 0 and self._left() - reserved < amount <= self._left()

    def _refusal(self, amount: float) -> Ending | None:
        if amount > 0 and amount > self._left():
            return "money"
        return self.reached_limit


CountedEvent = ModelCall | LookUpCall | QuestionAnswered | ActionStarted


COUNTED_KINDS = (ModelCall, LookUpCall, QuestionAnswered, ActionStarted)
"""Kinds that change the spending of a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySpending:
    """A UTC day: its begin, and the dollars billed (in a rehearsal, their `worth`).

    `lifted`: dollars billed when an owner last reset the limit; `people`: usage by person since a reset;
    `inner`: dollars of the inner life.
    """

    began: float
    cost: float = 0.0
    worth: float = 0.0
    lifted: float = 0.0
    inner: float = 0.0
    people: Mapping[str, UsageTotals] = field(default_factory=dict)

    def can_spend(self, amount: float, daily: float) -> bool:
        return amount == 0 or self.cost - self.lifted + amount <= daily

    def with_entry(self, entry: Entry[CountedEvent], owners: Collection[str]) -> DailySpending:
        if not self.began <= entry.at < self.began + DAY:  # a time after the day: the clock was ahead
            return self
        if isinstance(entry.event, ModelCall):
            return self.with_call(entry.event, inner=root_of(entry.thread) == INNER)
        if isinstance(entry.event, LookUpCall):
            cost, worth = entry.event.cost, entry.event.worth
            return replace(self, cost=self.cost + cost, worth=self.worth + worth)
        if isinstance(entry.event, ActionStarted):
            return self._with_action(entry.event)
        match resets_limit(entry.event, owners):
            case "day":
                return replace(self, lifted=self.cost)
            case "person":
                person = str(entry.event.about.get("person"))
                return replace(self, people={**self.people, person: NO_USAGE})
        return self

    def _with_action(self, action: ActionStarted) -> DailySpending:
        people = dict(self.people)
        for person in action.args["for"] if action.is_tool_call else ():
            people[person] = self.people.get(person, NO_USAGE).with_action(action)
        return replace(self, people=people)

    def with_call(self, call: ModelCall, *, inner: bool) -> DailySpending:
        if call.taken_from:  # the call was paid before a restart
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
    """Dollars that may be spent in a UTC day, with reservations for running calls.

    `owners` are ids of people who may reset the limit.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        daily: float,
        owners: Collection[str] = (),
        reservations: CallReservations | None = None,
    ) -> None:
        self.daily = daily
        self.owners = owners
        self._clock = clock
        self._reservations = reservations or ProcessReservations()
        self._refused = 0.0
        """Highest cost refused, until it is affordable; else 0."""
        self._journal = journal
        self._preparing = asyncio.Lock()
        self._day = DailySpending(began=midnight(clock.now()))
        self._upto = 0
        self._newest: int | None = None

    async def preload(self) -> None:
        """Read the day outside of the event loop, so that later reads are short."""
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
        if began != self._day.began:
            self._day = DailySpending(began=began)
            self._upto, self._newest = 0, None
            self._refused = 0.0

    def today(self) -> DailySpending:
        """Return the spending since midnight (UTC)."""
        began = midnight(self._clock.now())
        self._begin(began)
        if not self._upto:
            self._day, self._upto = _read_day(self._journal, began, self.owners)
        newest = self._journal.change_counter(*COUNTED_KINDS)
        if newest == self._newest:
            return self._day
        self._newest = newest
        found: list[Entry[CountedEvent]]
        found = self._journal.entries_of_kind(*COUNTED_KINDS, since=self._upto, at=began)
        for entry in found:
            self._day = self._day.with_entry(entry, self.owners)
            self._upto = entry.seq
        return self._day

    def can_spend(self, amount: float) -> bool:
        """True if this many dollars may be spent today, as 0 always may."""
        return self.today().can_spend(amount, self.daily)

    @property
    def fault(self) -> Sequence[str]:
        """Return a sentence for the owner if the day's rest is too little for any call."""
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
        """Reserve dollars; yield True if granted, as 0 always is.

        Keep the reservation until the cost is recorded. If only other reservations leave too little, wait for
        their end, as real costs are lower; a `stop` ends the wait.
        """
        end = await self._reserved(amount, stop or asyncio.Event())
        if end is None:
            self._refused = max(self._refused, amount)
        elif amount >= self._refused:
            self._refused = 0.0
        try:
            yield end is not None
        finally:
            if end is not None:
                end(self._last_seq())

    async def _reserved(self, amount: float, stop: asyncio.Event) -> EndReservation | None:
        """Return the end of a new reservation; None if the day's rest is too little."""
        while True:
            upto = self._last_seq()
            day = self.today()
            if not day.can_spend(amount, self.daily):
                return None
            today = SpentToday(spent=day.cost - day.lifted, daily=self.daily, upto=upto)
            end = await self._reservations.reserve(amount, today)
            if end is not None:
                return end
            if stop.is_set():
                return lambda _upto: None  # nothing is sent after a stop
            with suppress(CallStopped):
                async with StreamDeadline(self._clock, math.inf, stop):
                    await self._reservations.wait_for_end()

    def _last_seq(self) -> int:
        """Return the seq up to which the journal is read; 0 if it cannot be read."""
        with suppress(JournalError):
            return self._journal.last_seq_of_all()
        return 0


COUNTED_FIELDS = (
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


def _read_day(journal: JournalReader, began: float, owners: Collection[str]) -> tuple[DailySpending, int]:
    """Return the spending of a day and the last seq read. A day can have thousands of calls, so only the
    counted fields are read.
    """
    upto = journal.last_seq_of_all()
    day = DailySpending(began=began)
    others: list[Entry[CountedEvent]]
    others = journal.entries_of_kind(LookUpCall, QuestionAnswered, ActionStarted, at=began)
    for seq, thread, _, at, fields in journal.fields_of_kind(
        [ModelCall], COUNTED_FIELDS, upto=upto, at=began
    ):
        while others and others[0].seq < seq:
            day = day.with_entry(others.pop(0), owners)
        if at < began + DAY:  # a time after the day: the clock was ahead
            day = day.with_call(_counted(json.loads(fields)), inner=root_of(thread) == INNER)
    for other in others:
        day = day.with_entry(other, owners)
    return day, upto


def _counted(fields: Sequence[Any]) -> ModelCall:
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
"""Percentages of a limit at which the soul is warned."""


MOST_CACHED_THREADS = 1_000
"""Most threads whose usage is cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitShare:
    """Used share of a limit; `resets` names the count that a reset clears."""

    resets: str
    bound: str
    used: float
    most: float

    @property
    def percent(self) -> float:
        return 100.0 * self.used / self.most

    @property
    def warning(self) -> int:
        """Highest of `WARNINGS` reached; 0 if none."""
        due = 0
        for percent in WARNINGS:
            if self.percent >= percent:
                due = percent
        return due

    @property
    def in_words(self) -> str:
        return make_element(
            "budget",
            bound=self.bound,
            of=self.resets,
            percent=self.warning,
            used=f"{self.used:g}",
            limit=f"{self.most:g}",
        )


class LimitChecker:
    """Checker of limits of executions, threads with branches, and people per UTC day."""

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
        single: Mapping[str, Limits] = NO_SINGLE_LIMITS,
    ) -> None:
        """Set the limits; `inner`: dollars of the inner life per UTC day, in place of other limits.

        `single` has limits of single people, in place of those of any `person`.
        """
        self._journal = journal
        self._clock = clock
        self._budget = budget
        self._turn = turn
        self._thread = thread
        self._person = person
        self._inner = inner
        self._single = single
        self._calling = Counter[str]()
        """Number of running calls by root thread."""
        self._tool_calls = Counter[str]()
        """Number of tool calls that are not recorded yet, by root thread."""
        self._trees: OrderedDict[tuple[str, str], tuple[int, UsageTotals]] = OrderedDict()

    def exceeded(
        self, entries: Sequence[Entry[Any]], people: Iterable[str], limits: Limits | None = None
    ) -> LimitReached | None:
        """Return the limit that forbids one more call.

        `entries` are all of the execution, `people` ids of people answered; `limits` hold in addition.
        """
        used = usage_of_execution(entries, self._clock.now(), self._budget.owners)
        bound = used.reached_limit(limits or Limits()) or used.reached_limit(self._turn)
        if bound:
            return LimitReached(bound=bound, resets="turn")
        return self._beyond_a_turn(root_of(entries[0].thread), people)

    def exceeded_in_tree(self, root: str, people: Iterable[str]) -> LimitReached | None:
        """Return the limit that a tree of open thought exceeds; None if it exceeds none.

        Everything since a person's last message counts as one turn.
        """
        if root == INNER:
            return self._beyond_a_turn(root, people)
        spent = self.usage_of_tree(root, "turn")
        on_their_way = replace(spent, calls=spent.calls + self._calling[root])
        bound = on_their_way.reached_limit(self._turn)
        if bound:
            return LimitReached(bound=bound, resets="turn")
        return self._beyond_a_turn(root, people)

    def exceeded_by_tool(
        self, entries: Sequence[Entry[Any]], people: Iterable[str], *, as_tree: bool = False
    ) -> LimitReached | None:
        """Return the limit that forbids one more call of a tool; parameters are as in `exceeded`.

        `as_tree`: everything in the tree since a person's last message counts as one turn.
        """
        root = root_of(entries[0].thread)
        if as_tree:
            of_turn = self.usage_of_tree(root, "turn").tools
        else:
            of_turn = usage_of_execution(entries, self._clock.now(), self._budget.owners).tools
        bounds = [("turn", "", of_turn, self._turn.tools)]
        if self._thread.tools is not None:
            bounds.append(("thread", "", self.usage_of_tree(root, "thread").tools, self._thread.tools))
        today = self._budget.today().people
        bounds += [("person", one, today.get(one, NO_USAGE).tools, self._person.tools) for one in people]
        for resets, person, used, most in bounds:
            if most is not None and used + self._tool_calls[root] >= most:
                return LimitReached(bound="tools", resets=resets, person=person)
        return None

    @contextmanager
    def count_tool_call(self, root: str) -> Iterator[Callable[[], None]]:
        """Count a tool call that is not recorded yet, so that parallel ones include it; yield a function that
        ends this when it is recorded.
        """
        is_counted = True

        def end() -> None:
            nonlocal is_counted
            if is_counted:
                is_counted = False
                self._tool_calls[root] -= 1
                if not self._tool_calls[root]:
                    del self._tool_calls[root]

        self._tool_calls[root] += 1
        try:
            yield end
        finally:
            end()

    def count_approvals(self, thread: str) -> int:
        """Return how often owners reset limits in this thread."""
        given = self._journal.thread_entries(thread, QuestionAnswered)
        return len([one for one in given if resets_limit(one.event, self._budget.owners)])

    @contextmanager
    def count_call_in_flight(self, root: str) -> Iterator[None]:
        """Count a running call, so that parallel branches include it."""
        self._calling[root] += 1
        try:
            yield
        finally:
            self._calling[root] -= 1
            if not self._calling[root]:
                del self._calling[root]

    def closest(self, root: str) -> LimitShare | None:
        """Return the limit of a root's turn or thread with the largest used share."""
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
            bound = today.get(person, NO_USAGE).reached_limit(self._single.get(person, self._person))
            if bound:
                return LimitReached(bound=bound, resets="person", person=person)
        return None

    def usage_of_tree(self, root: str, resets: str) -> UsageTotals:
        """Return the usage of a thread and its branches since a person's message or a reset."""
        seq, spent = self._trees.pop((root, resets), (0, NO_USAGE))
        for entry in self._journal.tree_entries(
            root, ModelCall, QuestionAnswered, IncomingMessage, ActionStarted, since=seq
        ):
            seq = entry.seq
            if isinstance(entry.event, ModelCall):
                spent = spent.with_call(entry.event)
            elif resets_limit(entry.event, self._budget.owners) == resets or is_from_person(entry.event):
                spent = NO_USAGE
            elif isinstance(entry.event, ActionStarted):
                spent = spent.with_action(entry.event)
        self._trees[root, resets] = seq, spent
        if len(self._trees) > MOST_CACHED_THREADS:
            self._trees.popitem(last=False)
        return spent


def is_from_person(event: Event) -> bool:
    """True for a person's message that the soul answers."""
    return isinstance(event, IncomingMessage) and not event.bot
