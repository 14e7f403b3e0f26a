"""Projections for the page: spending, notes, known people.

They read the newest entries first, long spans in another thread. Answers do not wait, but say how many
entries are unread.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from daemon.engine.event import Entry, Event, root_of
from daemon.engine.journal.journal import Journal, Projection
from daemon.engine.journal.reader import JournalReader
from daemon.kinds import LookUpCall, MemoryNote, ModelCall, NoteCorrected, PersonModelWritten
from daemon.knowledge.person_notes import without_others
from daemon.knowledge.visibility import ChannelId, read_channel_of

SPAN = 5_000
"""Entries read at once in another thread."""

NEAR = 300
"""Number of new entries up to which no other thread reads them."""

PIECE = 200
"""Entries added before other tasks may run."""

Fields = Mapping[str, Any]
"""Values of fields by JSON path; None if the entry has no such field."""


class FoldedRow(NamedTuple):
    """Some fields of an entry. `more` is data that a subclass adds."""

    seq: int
    thread: str
    kind: str
    at: float
    fields: Fields
    more: Any = None


class FieldFold:
    """Base of projections of the fields `paths` of entries of `kinds`.

    `_add` gets rows newer than all before, `_add_older` older ones; `_clear` resets the state.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    paths: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._adding = asyncio.Lock()
        self._beginnings = 0
        self._begin()

    @property
    def entries_left(self) -> int:
        """Number of entries not read yet."""
        self._restart_if_forgotten()
        return self._low + self.journal.last_seq_of_all() - self._upto

    async def update(self) -> None:
        """Read all entries, newest first."""
        while self.entries_left:
            await self.update_some()

    async def update_some(self) -> None:
        async with self._adding:
            self._restart_if_forgotten()
            await self._update_newer()
            if self._low:
                await self._update_older()

    def _restart_if_forgotten(self) -> None:
        if self._erasures != self.journal.erasures:
            self._begin()

    def _begin(self) -> None:
        self._beginnings += 1
        self._erasures = self.journal.erasures
        self._low = self._upto = self.journal.last_seq_of_all()
        """Entries after `_low` up to `_upto` have been read."""
        self._clear()

    async def _update_newer(self) -> None:
        last = self.journal.last_seq_of_all()
        if self.journal.has_none(*self.kinds, since=self._upto, upto=last):
            self._upto = last
        while self._upto < last:
            upto = min(last, self._upto + SPAN)
            if not await self._add_span(self._upto, upto, newer=True):
                return
            self._upto = upto

    async def _update_older(self) -> None:
        low = max(self._low - SPAN, 0)
        if await self._add_span(low, self._low, newer=False):
            self._low = low

    async def _add_span(self, since: int, upto: int, *, newer: bool) -> bool:
        """Add the entries after `since` up to `upto`; False if everything was reset meanwhile."""
        beginnings = self._beginnings
        if upto - since <= NEAR:
            rows = self._read(self.journal, since, upto)
        else:
            rows = await self.journal.read_in_background(partial(self._read, since=since, upto=upto))
        add = self._add if newer else self._add_older
        in_order = rows if newer else rows[::-1]
        for start in range(0, len(in_order), PIECE):
            if start:
                await asyncio.sleep(0)
            self._restart_if_forgotten()
            if beginnings != self._beginnings:
                return False
            for row in in_order[start : start + PIECE]:
                add(row)
                if newer:
                    self._upto = row.seq
                else:
                    self._low = row.seq - 1
        self._restart_if_forgotten()
        return beginnings == self._beginnings

    def _read(self, journal: JournalReader, since: int, upto: int) -> Sequence[FoldedRow]:
        found = []
        for seq, thread, kind, at, fields in journal.fields_of_kind(
            self.kinds, self.paths, since=since, upto=upto
        ):
            values = dict(zip(self.paths, json.loads(fields), strict=True))
            found.append(FoldedRow(seq, thread, kind, at, values))
        return found

    def _clear(self) -> None:
        raise NotImplementedError

    def _add(self, row: FoldedRow) -> None:
        raise NotImplementedError

    def _add_older(self, row: FoldedRow) -> None:
        raise NotImplementedError


class NotesFold(Projection):
    """Notes by the name of their subject."""

    kinds = (MemoryNote, NoteCorrected)

    def notes_about(self, name: str) -> Mapping[int, int]:
        """Return the seq of each note's current text, by the note's seq."""
        return self._about.get(name.casefold(), {})

    @property
    def count(self) -> int:
        return len(self._threads)

    def subject_names(self) -> Iterable[str]:
        return self._about.keys()

    def thread_of_note(self, note: int) -> str:
        return self._threads[note]

    def _reset(self) -> None:
        self._about: dict[str, dict[int, int]] = {}
        self._first: dict[int, tuple[str, int]] = {}
        """Name and note to which an entry belongs, by the entry's seq."""
        self._threads: dict[int, str] = {}

    def _fold_entry(self, entry: Entry[Any]) -> None:
        event = entry.event
        if not event.text:  # forgotten
            return
        if isinstance(event, MemoryNote):
            self._threads[entry.seq] = root_of(entry.thread)
            self._keep(entry.seq, event.about.casefold(), entry.seq)
        elif event.of in self._first:
            self._keep(entry.seq, *self._first[event.of])

    def _keep(self, seq: int, name: str, note: int) -> None:
        self._first[seq] = (name, note)
        self._about.setdefault(name, {})[note] = seq


AT_ONCE = 10_000
"""Number of unread entries up to which an answer waits for them."""

PAUSE = 0.1
"""Seconds between two calls of gc.freeze."""


class BackgroundFoldReader:
    """Background reader. `left` returns the number of unread entries; `first` reads the newest."""

    def __init__(
        self,
        read: Callable[[], Coroutine[Any, Any, None]],
        left: Callable[[], int],
        at_once: int = AT_ONCE,
        first: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._read = read
        self._left = left
        self._at_once = at_once
        self._first = first
        self._task: asyncio.Task[None] | None = None

    async def entries_left(self) -> int:
        """Return the number of unread entries.

        Few are read at once, many in the background, whose error is raised by a later call.
        """
        if self._task and self._task.done():
            done, self._task = self._task, None
            done.result()
        if self._task is None and self._left() <= self._at_once:
            await self._read()
            return 0
        if self._task is None:
            self._task = asyncio.create_task(self._reading(), name="reading for the page")
            if self._first:
                await self._first()
        return self._left()

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _reading(self) -> None:
        """Read and freeze the results, or the garbage collector scans them repeatedly."""
        reading = asyncio.create_task(self._read())
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=PAUSE)
                gc.freeze()
            reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


T = TypeVar("T")
Part = Literal["day", "thread", "person", "model"]

BATCH = 1_000
"""Sums examined before other tasks may run."""


class SpendingKey(NamedTuple):
    """Key of a sum: UTC day (`2026-11-24`), conversation, person id (empty: nobody) and model."""

    day: str
    thread: str
    person: str
    model: str


@dataclass(slots=True, kw_only=True)
class SpendingTotal:
    """Sums of calls, dollars and tokens. A call for two people counts half for each.

    `worth` is the price without a rehearsal. Tokens are uncached (`read`), `cached`, or `written` by the
    model.
    """

    calls: float = 0.0
    cost: float = 0.0
    worth: float = 0.0
    read: float = 0.0
    cached: float = 0.0
    written: float = 0.0

    def add(self, other: SpendingTotal) -> None:
        self.calls += other.calls
        self.cost += other.cost
        self.worth += other.worth
        self.read += other.read
        self.cached += other.cached
        self.written += other.written

    def as_json(self) -> dict[str, float]:
        return {
            "calls": round(self.calls),
            "cost": self.cost,
            "worth": self.worth,
            "read": round(self.read),
            "cached": round(self.cached),
            "written": round(self.written),
        }


class SpendingFold(FieldFold):
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
        return self._threads.get(thread, SpendingTotal())

    def person_total(self, person: str) -> SpendingTotal:
        return self._people.get(person, SpendingTotal())

    async def totals_by(self, part: Part, since: str = "") -> defaultdict[str, SpendingTotal]:
        """Return the totals since a UTC day, by one `part` of their key."""
        sums: defaultdict[str, SpendingTotal] = defaultdict(SpendingTotal)
        for batch in _in_batches([*self._totals.items()]):
            for key, spent in batch:
                if key.day >= since:
                    sums[getattr(key, part)].add(spent)
            await asyncio.sleep(0)
        return sums

    async def dearest_by(self, part: Part, since: str, most: int) -> Sequence[tuple[str, SpendingTotal]]:
        """Return the `most` highest totals, dearest first. Other parameters are as in `totals_by`."""
        dearest: list[tuple[str, SpendingTotal]] = []
        for batch in _in_batches([*(await self.totals_by(part, since)).items()]):
            dearest = heapq.nsmallest(most, [*dearest, *batch], key=_by_price)
            await asyncio.sleep(0)
        return dearest

    def _clear(self) -> None:
        self._totals: dict[SpendingKey, SpendingTotal] = defaultdict(SpendingTotal)
        self._threads: dict[str, SpendingTotal] = defaultdict(SpendingTotal)
        self._people: dict[str, SpendingTotal] = defaultdict(SpendingTotal)

    def _add(self, row: FoldedRow) -> None:
        call = row.fields
        if call["$.taken_from"]:  # paid before a restart
            return
        day = utc_day(row.at)
        thread = root_of(row.thread)
        people = call["$.people"] or [""]
        spent = _spending_of(call, 1 / len(people))
        for person in people:
            self._totals[SpendingKey(day, thread, person, call["$.model"] or "")].add(spent)
            self._threads[thread].add(spent)
            self._people[person].add(spent)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)


def _in_batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _spending_of(call: Fields, share: float) -> SpendingTotal:
    read = (call["$.usage.input"] or 0) + (call["$.usage.cache_write"] or 0)
    return SpendingTotal(
        calls=share,
        cost=(call["$.cost"] or 0.0) * share,
        worth=(call["$.worth"] or 0.0) * share,
        read=read * share,
        cached=(call["$.usage.cache_read"] or 0) * share,
        written=(call["$.usage.output"] or 0) * share,
    )


def _by_price(priced: tuple[str, SpendingTotal]) -> tuple[float, float, str]:
    name, spent = priced
    return -spent.cost, -spent.worth, name


def utc_day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


class KnownPeopleFold(FieldFold):
    """Channels in which the soul learned about a person, by person id."""

    kinds = (PersonModelWritten,)
    paths = ("$.person", "$.name", "$.text")

    def _clear(self) -> None:
        self.channels: dict[str, set[ChannelId]] = {}

    def _read(self, journal: JournalReader, since: int, upto: int) -> list[FoldedRow]:
        rows = super()._read(journal, since, upto)
        return [row._replace(more=read_channel_of(journal, root_of(row.thread))) for row in rows]

    def _add(self, row: FoldedRow) -> None:
        name, text = row.fields["$.name"], row.fields["$.text"]
        if row.more and text and without_others(text, {name.casefold()}):  # no text: forgotten
            self.channels.setdefault(row.fields["$.person"], set()).add(row.more)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)
