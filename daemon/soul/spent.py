"""What model calls have used, and which bound that reaches: values and pure folds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from daemon.engine.event import Entry, Event, of_kind
from daemon.engine.kinds import OutageBegan, QuestionWithdrawn, TurnResumed
from daemon.kinds import ModelCall, QuestionAnswered, ReadingBegan, ReadingEnded, SoulTurnBegan
from daemon.limits import CONTINUE, Limits

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
