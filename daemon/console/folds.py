"""What model calls have cost, by day, conversation, person and model. For the page's costs.

What the soul noted, by whom it is about: a projection for the page's people.

A projection of the page's own, of a few fields of many entries, which nobody waits for.

It begins with the newest entries and goes back, so that a page soon has what its owner looks for. A span is
read beside the loop, and added in pieces; what comes meanwhile is added, too.

Of whom something was learned, and in how many channels: for the page's people.

What answers of the page are made of is read beside all else: no answer waits for a long journal.

Each answer says how much is still to be read, and holds what is there.
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
"""Entries that are read in one go, beside the loop."""


NEAR = 300
"""So few new entries are read on the loop: a thread costs more."""


PIECE = 200
"""Entries that are added at once: a millisecond or two, in which nobody else can do anything."""


Fields = Mapping[str, Any]
"""By path; None where an entry has no such field."""


class FoldedRow(NamedTuple):
    """What is read of one entry. `more` is what a fold has looked up besides."""

    seq: int
    thread: str
    kind: str
    at: float
    fields: Fields
    more: Any = None


class FieldFold:
    """Derive from it: `paths` are the fields of its `kinds` that are read.

    `_add` takes an entry that is newer than all others, `_add_older` one that is older than all others, and
    `_clear` begins anew.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    paths: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._adding = asyncio.Lock()
        self._beginnings = 0
        """How often it has begun anew."""
        self._begin()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        self._restart_if_forgotten()
        return self._low + self.journal.last_seq_of_all() - self._upto

    async def update(self) -> None:
        """Add all that is left, the newest first."""
        while self.entries_left:
            await self.update_some()

    async def update_some(self) -> None:
        """Add what is new, and a span of what is older than all that is in it."""
        async with self._adding:
            self._restart_if_forgotten()
            await self._update_newer()
            if self._low:
                await self._update_older()

    def _restart_if_forgotten(self) -> None:
        """Begin anew where words were forgotten: they may be in it."""
        if self._erasures != self.journal.erasures:
            self._begin()

    def _begin(self) -> None:
        self._beginnings += 1
        self._erasures = self.journal.erasures
        self._low = self._upto = self.journal.last_seq_of_all()
        """All between these two is in it."""
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
        """Add the entries after a seq, up to another, one by one; False: it began anew meanwhile, and nothing
        of them may be in it."""
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
        """What is to be added of the entries after a seq up to another, in order."""
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
    """The notes of all conversations, by the name of whom they are about. It holds names."""

    kinds = (MemoryNote, NoteCorrected)

    def notes_about(self, name: str) -> Mapping[int, int]:
        """Return the notes about whoever is called so: the entry of each, and that of how it reads now."""
        return self._about.get(name.casefold(), {})

    @property
    def count(self) -> int:
        """The number of notes."""
        return len(self._threads)

    def subject_names(self) -> Iterable[str]:
        """Return the names that notes are about, in small letters; empty for those about nobody."""
        return self._about.keys()

    def thread_of_note(self, note: int) -> str:
        """Return the conversation in which this note was made."""
        return self._threads[note]

    def _reset(self) -> None:
        self._about: dict[str, dict[int, int]] = {}
        """By the name in small letters: each note, and the entry that says how it reads now."""
        self._first: dict[int, tuple[str, int]] = {}
        """Of each of those entries: whom it is about, and the note."""
        self._threads: dict[int, str] = {}
        """The conversation of each note."""

    def _fold_entry(self, entry: Entry[Any]) -> None:
        event = entry.event
        if not event.text:  # it was forgotten
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
"""Entries that are read before an answer; where more are left, it does not wait for them."""


PAUSE = 0.1
"""Seconds after which the collector is told of what was read by then."""


class BackgroundFoldReader:
    """Reads with `read` when somebody asks; `left` says how many entries are not read yet. `first` reads what
    an answer waits for even then."""

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
        """How many entries are not read yet; 0 where all is there.

        Reads them: at once if they are few, else beside all else. Raises what went wrong at that, once.
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
        """End what is still read."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _reading(self) -> None:
        """What was read stays: the collector need not go through it again and again, and hold up all else."""
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


MANY = 1_000
"""Sums that are looked at in one go; between two goes everybody else may run."""


class SpendingKey(NamedTuple):
    """What is added up together: of one UTC day (`2026-11-24`), in one conversation, for one person (an id;
    empty: for nobody in particular), by one model."""

    day: str
    thread: str
    person: str
    model: str


@dataclass(slots=True, kw_only=True)
class SpendingTotal:
    """Calls, dollars that were billed, what it would have cost unrehearsed, and tokens: read anew, read from
    the provider's cache, and written. A call for two people is half a call for each."""

    calls: float = 0.0
    cost: float = 0.0
    worth: float = 0.0
    read: float = 0.0
    cached: float = 0.0
    written: float = 0.0

    def add(self, other: SpendingTotal) -> None:
        """Count that one in, too."""
        self.calls += other.calls
        self.cost += other.cost
        self.worth += other.worth
        self.read += other.read
        self.cached += other.cached
        self.written += other.written

    def as_json(self) -> dict[str, float]:
        """As JSON."""
        return {
            "calls": round(self.calls),
            "cost": self.cost,
            "worth": self.worth,
            "read": round(self.read),
            "cached": round(self.cached),
            "written": round(self.written),
        }


class SpendingFold(FieldFold):
    """All that was spent."""

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
        """What this conversation has cost in all."""
        return self._threads.get(thread, SpendingTotal())

    def person_total(self, person: str) -> SpendingTotal:
        """What was spent for this person in all."""
        return self._people.get(person, SpendingTotal())

    async def totals_by(self, part: Part, since: str = "") -> defaultdict[str, SpendingTotal]:
        """The sums by this part of a cell, from a day on; nothing for what was not paid for."""
        sums: defaultdict[str, SpendingTotal] = defaultdict(SpendingTotal)
        for some in _in_goes([*self._cells.items()]):
            for cell, spent in some:
                if cell.day >= since:
                    sums[getattr(cell, part)].add(spent)
            await asyncio.sleep(0)
        return sums

    async def dearest_by(self, part: Part, since: str, most: int) -> Sequence[tuple[str, SpendingTotal]]:
        """The same, the dearest first, so many of them."""
        dearest: list[tuple[str, SpendingTotal]] = []
        for some in _in_goes([*(await self.totals_by(part, since)).items()]):
            dearest = heapq.nsmallest(most, [*dearest, *some], key=_price)
            await asyncio.sleep(0)
        return dearest

    def _clear(self) -> None:
        self._cells: dict[SpendingKey, SpendingTotal] = defaultdict(SpendingTotal)
        self._threads: dict[str, SpendingTotal] = defaultdict(SpendingTotal)
        self._people: dict[str, SpendingTotal] = defaultdict(SpendingTotal)

    def _add(self, row: FoldedRow) -> None:
        call = row.fields
        if call["$.taken_from"]:  # it was paid before a restart
            return
        day = utc_day(row.at)
        thread = root_of(row.thread)
        people = call["$.people"] or [""]
        spent = _of(call, 1 / len(people))
        for person in people:
            self._cells[SpendingKey(day, thread, person, call["$.model"] or "")].add(spent)
            self._threads[thread].add(spent)
            self._people[person].add(spent)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)


def _in_goes(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), MANY):
        yield items[start : start + MANY]


def _of(call: Fields, share: float) -> SpendingTotal:
    """What this share of a call came to."""
    read = (call["$.usage.input"] or 0) + (call["$.usage.cache_write"] or 0)
    return SpendingTotal(
        calls=share,
        cost=(call["$.cost"] or 0.0) * share,
        worth=(call["$.worth"] or 0.0) * share,
        read=read * share,
        cached=(call["$.usage.cache_read"] or 0) * share,
        written=(call["$.usage.output"] or 0) * share,
    )


def _price(priced: tuple[str, SpendingTotal]) -> tuple[float, float, str]:
    name, spent = priced
    return -spent.cost, -spent.worth, name


def utc_day(at: float) -> str:
    """The UTC day of a time."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


class KnownPeopleFold(FieldFold):
    """The channels in which something was learned of each person, by id."""

    kinds = (PersonModelWritten,)
    paths = ("$.person", "$.name", "$.text")

    def _clear(self) -> None:
        self.channels: dict[str, set[ChannelId]] = {}

    def _read(self, journal: JournalReader, since: int, upto: int) -> list[FoldedRow]:
        """Each with its channel."""
        rows = super()._read(journal, since, upto)
        return [row._replace(more=read_channel_of(journal, root_of(row.thread))) for row in rows]

    def _add(self, row: FoldedRow) -> None:
        name, text = row.fields["$.name"], row.fields["$.text"]
        if row.more and text and without_others(text, {name.casefold()}):  # no text: it was forgotten
            self.channels.setdefault(row.fields["$.person"], set()).add(row.more)

    def _add_older(self, row: FoldedRow) -> None:
        self._add(row)
