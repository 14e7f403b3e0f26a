"""Which bound stands in the way of another call: of the turn, its thread, a person's day, or the day.

Counted from the journal.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from daemon.engine.event import Entry, Event
from daemon.engine.keys import root_of
from daemon.engine.reading import JournalReader
from daemon.kinds import INNER, IncomingMessage, LimitReached, ModelCall, QuestionAnswered
from daemon.limits import Limits
from daemon.mind.payloads import make_element
from daemon.ports import Clock
from daemon.soul.budget import DailyBudget
from daemon.soul.spent import NO_USAGE, UsageTotals, resets_limit, usage_of_execution

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
