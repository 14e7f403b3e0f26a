"""A life of which only what it spends is written: entries as turns, calls and owners leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.life.budget import Budget
from daemon.life.limits import Gauge, Standing
from daemon.limits import CONTINUE, Limits
from tests.clock import FakeClock

ANY = Limits()


class Life:
    """A journal, into which a story is written entry by entry, and what counts it."""

    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.journal, self.clock = journal, clock
        self.budget = Budget(journal, clock, 5.0, ("UOWNER",))
        self._n = 0

    async def write(
        self, kind: str, body: Mapping[str, Any], path: str = "t@1", author: str = "soul", name: str = ""
    ) -> Entry:
        """An entry under this path, of the thread that it names."""
        self._n += 1
        key = f"{path}/{name or f'{kind}#{self._n}'}"
        entry, _ = await self.journal.append(path.partition("@")[0], kind, body, key=key, author=author)
        return entry

    async def begin(self, path: str = "t@1") -> None:
        await self.write("turn-began", {}, path, "core", "began")

    async def call(
        self,
        path: str = "t@1",
        people: Sequence[str] = ("U1",),
        usage: tuple[int, int, int, int] = (1, 2, 3, 4),
        **more: Any,
    ) -> None:
        """A call is recorded: ten tokens, a cent and two seconds, if nothing else is said."""
        counted = dict(zip(("input", "cache_read", "cache_write", "output"), usage, strict=True))
        body = {"outcome": "ok", "cost": 0.01, "worth": 0.01, "seconds": 2.0, "people": list(people)}
        self.budget.spent(await self.write("model-call", {**body, "usage": counted, **more}, path))

    async def answer(self, about: Mapping[str, Any], path: str = "t@1", value: str = CONTINUE) -> None:
        """An owner presses a button."""
        body = {"value": value, "by": "UOWNER", "text": "", "meanwhile": [], "about": dict(about)}
        self.budget.spent(await self.write("answered", body, path, "UOWNER"))

    async def word(self, author: str = "U1", thread: str = "t", **more: Any) -> None:
        """Someone says something."""
        await self.write("perception", {"text": "hm", **more}, thread, author)

    def gauge(self, turn: Limits = ANY, thread: Limits = ANY, person: Limits = ANY) -> Gauge:
        return Gauge(self.journal, self.clock, self.budget, turn=turn, thread=thread, person=person)

    def standing(self, gauge: Gauge, path: str = "t@1", people: Sequence[str] = ("U1",)) -> Standing:
        return gauge.standing(self.journal.under(path), people)
