"""What model calls have used, and which bound that reaches: values and pure folds.

Called by budget.py (for a day) and limits.py (for an execution and a thread).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from daemon.engine.event import Entry, Event, only
from daemon.engine.kinds import Outage, TurnResumed, Withdrawn
from daemon.kinds import Answered, ModelCall, TurnBegan
from daemon.limits import CONTINUE, Limits

PAUSES = (Answered, Withdrawn, TurnBegan, TurnResumed)
"""Kinds that end a time in which nothing was done: it waited for someone, or the daemon was away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls that were sent, their tokens (all, in and out), dollars that were billed for them, and seconds.

    The seconds are those of the calls; of an execution, they are its wall-clock.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    def after(self, call: ModelCall) -> Spent:
        """This and one more call, if it was made and is not the copy of one from before a restart."""
        if call.outcome == "over-budget" or call.taken_from:
            return self
        return Spent(
            calls=self.calls + 1,
            tokens=self.tokens + call.usage.total,
            usd=self.usd + call.cost,
            seconds=self.seconds + call.seconds,
        )

    def reaches(self, limits: Limits) -> str:
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


NOTHING = Spent()


def lifts(event: Event, owners: Collection[str]) -> str:
    """Whose count an owner begins anew with this answer: "turn", "thread", "person" or "day"; else empty.

    What somebody allowed who owns the soul no longer is allowed no longer; and what was allowed before a
    restart is allowed once.
    """
    if not isinstance(event, Answered) or event.taken_from:
        return ""
    if event.value != CONTINUE or event.by not in owners:
        return ""
    return str(event.about.get("resets", ""))


def by_execution(entries: Sequence[Entry[Any]], now: float, owners: Collection[str]) -> Spent:
    """What an execution has used since it began or was last let go on; these are all entries of its lifetime.

    The time in which it waited for someone, or the daemon was away, does not count.
    """
    since = 0
    for number, entry in enumerate(entries):
        if lifts(entry.event, owners) == "turn":
            since = number
    own = entries[since:]
    spent = NOTHING
    for call in only(ModelCall, own):
        spent = spent.after(call.event)
    lasted = [now - own[-1].at]
    for before, then in pairwise(own):
        if not isinstance(then.event, PAUSES) and not isinstance(before.event, Outage):
            lasted.append(then.at - before.at)
    return replace(spent, seconds=sum(max(one, 0.0) for one in lasted))  # a clock may have been set back
