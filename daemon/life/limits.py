"""Which bound stands in the way of another call: of the turn, its thread, a person's day, or the day.

Counted from the journal; asked by turn.py before each call of a run, which records what it says.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from daemon.entry import Entry, rank
from daemon.journal.reading import Reading
from daemon.life.budget import Budget
from daemon.life.spent import NOTHING, Spent, by_body, lifts
from daemon.limits import Limits
from daemon.ports import Clock

MOST = 1_000
"""How many threads' counts are kept at hand; another one is counted anew."""
OURS = frozenset({"soul", "core"})
"""Authors of perceptions that no person said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The bound that stands in the way ("calls", "tokens", "money", "time"), and whose it is; empty: none.

    `scope` is "turn", "thread", "person" or "day"; `person` the id of whose day is over.
    """

    bound: str = ""
    scope: str = ""
    person: str = ""

    @property
    def about(self) -> Mapping[str, str]:
        """For `Question.about`: an owner who answers with CONTINUE begins this count anew."""
        return {"resets": self.scope, "bound": self.bound, "person": self.person}


class Gauge:
    """Counts what bodies, threads with all under them, and people (a UTC day) have used."""

    def __init__(
        self, journal: Reading, clock: Clock, budget: Budget, *, turn: Limits, thread: Limits, person: Limits
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._budget = budget
        self._turn, self._thread, self._person = turn, thread, person
        self._trees: OrderedDict[str, tuple[int, Spent]] = OrderedDict()

    def standing(
        self, body: Sequence[Entry], people: Iterable[str], limits: Limits | None = None
    ) -> Standing:
        """What stands in the way of one more call, which may cost this much (dollars).

        `body` are all entries under the turn's path, in order; `people` the ids of those it answers; `limits`
        hold for this body besides the owner's.
        """
        found = self._standings(body, people, limits or Limits())
        return next((one for one in found if one.bound), Standing())

    def thread(self, root: str) -> Spent:
        """What this thread and all under it have used since a person's last word, or an owner's consent."""
        seq, spent = self._trees.pop(root, (0, NOTHING))
        for entry in self._journal.tree(root, "model-call", "answered", "perception", since=seq):
            seq = entry.seq
            if entry.kind == "model-call":
                spent = spent.after(entry)
            elif lifts(entry, self._budget.owners) == "thread" or is_word(entry):
                spent = NOTHING
        self._trees[root] = seq, spent
        if len(self._trees) > MOST:
            self._trees.popitem(last=False)
        return spent

    def _standings(self, body: Sequence[Entry], people: Iterable[str], limits: Limits) -> Iterator[Standing]:
        used = by_body(body, self._clock.now(), self._budget.owners)
        yield Standing(bound=used.reaches(limits) or used.reaches(self._turn), scope="turn")
        if self._thread != Limits():
            root = body[0].thread.partition(".")[0]
            yield Standing(bound=self.thread(root).reaches(self._thread), scope="thread")
        today = self._budget.today().people
        for who in people:
            bound = today.get(who, NOTHING).reaches(self._person)
            yield Standing(bound=bound, scope="person", person=who)


def is_word(entry: Entry) -> bool:
    """Did a person say this? Then the soul does not go on by itself."""
    if entry.kind != "perception" or entry.author in OURS:
        return False
    return rank(entry) == "message" and not entry.body.get("bot")
