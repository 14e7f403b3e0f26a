"""What model calls have used, and which bound that reaches: values and pure folds.

Called by budget.py (for a day) and limits.py (for a body and a thread).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from daemon.entry import Entry
from daemon.limits import CONTINUE, Limits

PAUSES = frozenset({"answered", "withdrawn", "turn-began", "turn-resumed"})
"""Kinds that end a time in which a body did nothing: it waited for someone, or the daemon was away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls that were sent, their tokens (all, in and out), dollars that were billed for them, and seconds.

    The seconds are those of the calls; of a body, they are its wall-clock.
    """

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0

    def after(self, call: Entry) -> Spent:
        """This and one more call; what the budget did not let through is none."""
        body = call.body
        if body["outcome"] == "over-budget":
            return self
        return Spent(
            calls=self.calls + 1,
            tokens=self.tokens + sum(body["usage"].values()),
            usd=self.usd + body["cost"],
            seconds=self.seconds + body["seconds"],
        )

    def reaches(self, limits: Limits) -> str:
        """The first bound that is reached: "calls", "tokens", "money" or "time"; empty where none is."""
        bounds = {
            "calls": (self.calls, limits.calls),
            "tokens": (self.tokens, limits.tokens),
            "money": (self.usd, limits.usd),
            "time": (self.seconds, limits.seconds),
        }
        return next((name for name, (used, most) in bounds.items() if most is not None and used >= most), "")


NOTHING = Spent()


def lifts(entry: Entry, owners: Collection[str]) -> str:
    """Whose count an owner begins anew with this answer: "turn", "thread", "person" or "day"; else empty.

    What somebody allowed who owns the soul no longer is allowed no longer.
    """
    if entry.kind != "answered" or entry.body["value"] != CONTINUE or entry.body["by"] not in owners:
        return ""
    return str(entry.body.get("about", {}).get("resets", ""))


def by_body(body: Sequence[Entry], now: float, owners: Collection[str]) -> Spent:
    """What a body, of which these are all entries, in order, has used since it began or was last let go on.

    The time in which it waited for someone, or the daemon was away, does not count.
    """
    since = max((i for i, entry in enumerate(body) if lifts(entry, owners) == "turn"), default=0)
    own, spent = body[since:], NOTHING
    for entry in own:
        spent = spent.after(entry) if entry.kind == "model-call" else spent
    steps = [then.at - before.at for before, then in pairwise(own) if then.kind not in PAUSES]
    lasted = [*steps, now - own[-1].at]
    return replace(spent, seconds=sum(max(one, 0.0) for one in lasted))  # a clock may have been set back
