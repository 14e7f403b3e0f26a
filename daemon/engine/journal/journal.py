"""The journal: append-only, and the only memory; all other state is projected from it.

Reads are synchronous and small; long ones run in another thread. An awaited append is on disk, with all
before it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, EventCodec, Input, in_chunks
from daemon.engine.exceptions import JournalDamaged, JournalError, KeyConflict
from daemon.engine.journal.journal_file import hold_lock, open_readonly, open_store, rebuild_folded_tables
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.engine.journal.rows import EntryRow, WrittenRow, entry_from_written, index_path
from daemon.engine.journal.writer import (
    CHUNK,
    FEW_EXECUTIONS,
    Fence,
    JournalWriter,
    WritableTables,
    add_digests,
    blank_bodies,
    clear_hashes,
    erased_key,
    find_executions,
    finish_erasing,
)
from daemon.engine.kinds import LEASES, EntriesErased, EntriesForgotten, with_engine_kinds


class BackgroundReader(JournalReader):
    """Reader for another thread: a snapshot or, if `live`, current state. Skips damaged entries.

    An open snapshot prevents erasing.
    """

    _leaves_out_damage = True

    def __init__(
        self, path: Path, kinds: EventCodec, found: Callable[[JournalDamaged], None], *, live: bool = False
    ) -> None:
        store = open_readonly(path)
        if live:
            store.rollback()  # the transaction would pin a snapshot
        super().__init__(store, kinds)
        self._hears = found

    def close(self) -> None:
        self._store.close()

    def seqs_between(
        self,
        root: str = "",
        *,
        path: str = "",
        since: int = 0,
        before: int = ALWAYS,
        limit: int = ALWAYS,
        newest: bool = False,
    ) -> list[int]:
        """Return seqs between two others, in order: the first or newest `limit`.

        Of `root` and its descendants, of keys under `path/`, or of all.
        """
        with self._question:
            return self._store.span(root, path, since, before, limit, newest=newest)

    def iterate_entries(self, seqs: Sequence[int], *, newest: bool = False) -> Iterator[Entry[Event]]:
        """Yield these undamaged entries, oldest or newest first."""
        with self._question:
            yield from self._sound(self._store.each(seqs, newest=newest))

    def entries_like(self, patterns: Sequence[str], *, since: int, before: int) -> Iterator[Entry[Event]]:
        """Yield entries whose body matches all LIKE patterns, newest first."""
        with self._question:
            yield from self._sound(self._store.holding(patterns, since, before))

    def entries_like_among(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Entry[Event]]:
        with self._question:
            yield from self._sound(self._store.holding_of(patterns, seqs))

    def _found(self, damage: JournalDamaged) -> None:
        self._hears(damage)


MOST_RECENT_ENTRIES = 256
"""Entries kept in memory."""


class RecentEntries:
    """Latest entries in memory."""

    def __init__(self, kinds: EventCodec) -> None:
        self._kinds = kinds
        self._written = deque[WrittenRow](maxlen=MOST_RECENT_ENTRIES)

    def add(self, written: WrittenRow) -> None:
        """Add the newest entry; drop others if it forgets words or follows another daemon's."""
        others = bool(self._written) and self._written[-1].seq + 1 != written.seq
        if others or written.row.kind == EntriesForgotten.kind:
            self._written.clear()
        self._written.append(written)

    def holds_all_after(self, since: int, upto: int) -> bool:
        """True if it has the whole range."""
        written = self._written
        return bool(written) and written[0].seq <= since + 1 and written[-1].seq == upto

    def entries_after(self, since: int, names: Sequence[str], at: float) -> list[Entry[Any]]:
        found = list[Entry[Any]]()
        for one in reversed(self._written):
            if one.seq <= since:
                break
            if one.row.kind in names and one.row.at >= at:
                found.append(self._read(one))
        return found[::-1]

    def _read(self, one: WrittenRow) -> Entry[Any]:
        event = self._kinds.load(one.row.kind, one.row.body)
        return entry_from_written(one.row, one.seq, event)


E = TypeVar("E", bound=Event)


F = TypeVar("F", bound=Event)


T = TypeVar("T")


log = logging.getLogger(__name__)


MOST_ARRIVED = 10_000
"""Threads with a cached last input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft(Generic[E]):
    """Checked entry, not written yet; `event` is as readers will decode it."""

    row: EntryRow
    event: E
    fence: Fence | None

    def entry(self, seq: int) -> Entry[E]:
        return entry_from_written(self.row, seq, self.event)


class Journal(JournalReader):
    """Open journal: an async context manager that holds its lock.

    Engine kinds are added to the program's `kinds`, unless overridden.
    """

    _leaves_out_damage = True

    def __init__(
        self,
        path: Path,
        clock: Clock,
        kinds: Iterable[type[Event]],
        writer: type[JournalWriter] = JournalWriter,
    ) -> None:
        self._path = path
        self._clock = clock
        self._kinds = with_engine_kinds(kinds)
        self._writer_class = writer
        self._open = ExitStack()
        self._changed = asyncio.Event()
        self._arrived: dict[str, int] = {}
        """Latest input by thread."""
        self._arrived_before = 0
        self._newest: dict[str, int] = {}
        """Latest entry by kind."""
        self._wrote_first, self._wrote_last = 0, -1
        self._at_hand = RecentEntries(self._kinds)
        self._inputs = frozenset(self._kinds.kind_names([Input]))
        self.damage = ""
        """Damage found, with advice."""

    async def __aenter__(self) -> Self:
        """Open the journal. Raises JournalError."""
        with ExitStack() as opening:
            opening.enter_context(hold_lock(self._path))  # before the first connection
            written = open_store(self._path)
            opening.callback(written.close)
            try:
                rebuild_folded_tables(written, self._kinds)
            except JournalDamaged as damage:  # undamaged entries can still be read
                self._found(damage)
            self._finish_forgetting(written)
            self._add_digests(written)
            reader = open_store(self._path)
            opening.callback(reader.close)
            super().__init__(reader, self._kinds)
            self._writer = self._writer_class(written, self._notify)
            self._writer.start()
            opening.callback(self._writer.stop)
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open.close()

    def _finish_forgetting(self, store: WritableTables) -> None:
        """Finish interrupted erasures; on failure they stay pending."""
        try:
            finish_erasing(store, self._kinds, self._clock.now())
        except (sqlite3.Error, OSError, ValueError) as error:
            store.rollback()
            log.error("Could not finish erasing forgotten entries (%s); they stay pending.", error)

    def _add_digests(self, store: WritableTables) -> None:
        """Add missing digests; on failure the next opening retries."""
        try:
            add_digests(store, self._kinds)
        except (sqlite3.Error, OSError, ValueError) as error:
            store.rollback()
            log.error("Older entries have no digests yet (%s): the next start goes on.", error)

    def _found(self, damage: JournalDamaged) -> None:
        if not self.damage:
            log.critical("%s Work that needs damaged entries waits; everything else continues.", damage)
            self.damage = str(damage)

    @property
    def index_path(self) -> Path:
        """Path of the search index, deleted by each erasure after blanking.

        Open it before reading entries into it: then forgotten words are only in the deleted file.
        """
        return index_path(self._path)

    def make_background_reader(self) -> BackgroundReader:
        """Return a live reader for another thread."""
        return BackgroundReader(self._path, self.kinds, self._found, live=True)

    @property
    def died(self) -> asyncio.Future[None]:
        """Future that fails when the writer dies."""
        return self._writer.died

    @property
    def is_writable(self) -> bool:
        """True if the last append reached the disk."""
        return not (self.died.done() or self._writer.failing)

    @property
    def is_well(self) -> bool:
        """True if writable and undamaged."""
        return self.is_writable and not self.damage

    async def append(
        self,
        thread: str,
        event: E,
        *,
        key: str,
        author: str = "engine",
        cause: int | None = None,
        closes: Sequence[int] = (),
        moot: Sequence[int] = (),
        fence: Fence | None = None,
        requires: int | None = None,
    ) -> tuple[Entry[E], bool]:
        """Append an entry; return it once on disk, or the existing one under `key`; True if new.

        Closes `moot` entries if still pending. Raises FencedError after a takeover or if `requires` is not
        pending, ValueError or TypeError for an invalid event, JournalError if it cannot be written.
        """
        draft = self.make_draft(
            thread, event, key=key, author=author, cause=cause, closes=closes, moot=moot, fence=fence
        )
        try:
            seq = await self._writer.submit(draft.row, fence, requires)
        except KeyConflict:
            found = self.get(key)
            if found is None:
                raise
            return cast(Entry[E], found), False
        if moot:
            return self.entry(seq), True
        return draft.entry(seq), True

    def make_draft(
        self,
        thread: str,
        event: E,
        *,
        key: str,
        author: str = "engine",
        cause: int | None = None,
        closes: Sequence[int] = (),
        moot: Sequence[int] = (),
        fence: Fence | None = None,
    ) -> EntryDraft[E]:
        """Check an entry. Raises ValueError or TypeError."""
        _check_names(thread, key, author)
        event = self.kinds.in_own_class(event)
        body, read = self.kinds.read_back(event)
        row = EntryRow(
            thread=thread,
            kind=event.kind,
            author=author,
            body=body,
            key=key,
            cause=cause,
            closes=tuple(closes),
            moot=tuple(moot),
            at=self._clock.now(),
            pending=event.pending,
            leases=isinstance(event, LEASES),
        )
        return EntryDraft(row=row, event=read, fence=fence)

    def submit(
        self, draft: EntryDraft[Any], *, after: str = "", receipt_of: str = "", opened_by: str = ""
    ) -> asyncio.Future[int]:
        """Send a draft; the future of its seq fails with KeyConflict, FencedError or JournalError.

        The key `after` must exist. `receipt_of` is the key of its cause, which it closes; `opened_by` that of
        its thread's first entry, its cause.
        """
        return self._writer.submit(draft.row, draft.fence, None, after, receipt_of, opened_by)

    async def forget(
        self,
        seqs: Sequence[int],
        *,
        thread: str,
        key: str,
        why: str,
        author: str = "engine",
        cause: int | None = None,
        lets_go: Sequence[int] = (),
    ) -> Entry[EntriesForgotten]:
        """Blank these entries, and return when none of their words are left in the file.

        Closes `lets_go` entries if pending. Raises JournalError, also while a snapshot is open; `erase`
        retries.
        """
        event = EntriesForgotten(seqs=tuple(seqs), why=why)
        forgotten, _ = await self.append(
            thread, event, key=key, author=author, cause=cause, moot=tuple(lets_go)
        )
        await self.erase(forgotten)
        return forgotten

    async def erase(self, forgotten: Entry[EntriesForgotten]) -> None:
        """Finish forgetting: blank bodies, clear the file, record the end."""
        seqs, touched = forgotten.event.seqs, list[set[str]]()
        for some in in_chunks(seqs, CHUNK):
            await self._writer.run_job(partial(blank_bodies, kinds=self.kinds, seqs=some, by=forgotten.seq))
            self.erasures += 1
        await self._writer.run_job(lambda store: touched.extend(find_executions(store, self.kinds, seqs)))
        for few in in_chunks(touched, FEW_EXECUTIONS):
            await self._writer.run_job(partial(clear_hashes, kinds=self.kinds, executions=few))
        await self._writer.run_job(WritableTables.scrub)
        await self.append(
            forgotten.thread,
            EntriesErased(),
            key=erased_key(forgotten.key),
            author=forgotten.author,
            cause=forgotten.seq,
            closes=[forgotten.seq],
        )

    async def open_thread(self, key: str, event: E) -> tuple[Entry[E], bool]:
        """Open a thread or return its first entry; True if new.

        On conflict its id gets more digits: eight collide at about nine thousand threads.
        """
        for thread in _candidate_thread_ids(key):
            try:
                return await self.append(thread, event, key=key, author="core")
            except KeyConflict:
                continue
        raise JournalError(f"no free id for {key}")

    async def open_with(
        self, key: str, event: E, first: F, *, first_key: str, author: str
    ) -> tuple[Entry[E], Entry[F]]:
        """Open a thread with a `first` entry, in one commit."""
        thread = next(_candidate_thread_ids(key))
        opened = self.make_draft(thread, event, key=key, author="core")
        said = self.make_draft(thread, first, key=first_key, author=author)
        seqs = await asyncio.gather(
            self.submit(opened), self.submit(said, opened_by=key), return_exceptions=True
        )
        match seqs:
            case [int(of_opened), int(of_said)]:
                return opened.entry(of_opened), replace(said.entry(of_said), cause=of_opened)
        there, _ = await self.open_thread(key, event)
        found, _ = await self.append(there.thread, first, key=first_key, author=author, cause=there.seq)
        return there, found

    async def read_in_background(self, ask: Callable[[BackgroundReader], T]) -> T:
        """Query a snapshot in another thread; repeat if words were forgotten meanwhile."""
        while True:
            erasures = self.erasures
            found = await asyncio.to_thread(self._read_in_background, ask)
            if erasures == self.erasures:
                return found

    def _read_in_background(self, ask: Callable[[BackgroundReader], T]) -> T:
        with closing(BackgroundReader(self._path, self.kinds, self._found)) as past:
            return ask(past)

    async def follow_entries(self, since: int, limit: int = 1000) -> AsyncIterator[list[Entry[Event]]]:
        """Yield entries after this seq as they come."""
        while True:
            changed = self._changed
            entries = self.entries_since(since, limit)
            if entries:
                since = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    @property
    def next_change(self) -> asyncio.Event:
        """Event of the next write only."""
        return self._changed

    def arrival_counter(self, thread: str) -> int:
        """Return a marker that changes with inputs of this thread, and sometimes of others."""
        return self._arrived.get(thread, self._arrived_before)

    def change_counter(self, *kinds: type[Event]) -> int:
        """Return a marker that changes with these kinds."""
        return max(self._newest.get(name, 0) for name in self.kinds.kind_names(kinds))

    def has_none(self, *kinds: type[Event], since: int, upto: int) -> bool:
        """True if it is known without a query that this range has none."""
        mine = 0 < self._wrote_first <= since + 1 and self._wrote_last >= upto
        return mine and self.change_counter(*kinds) <= since

    def entries_of_kind(self, *kinds: type[E], since: int = 0, at: float = 0.0) -> list[Entry[E]]:
        """Return entries of these kinds, from memory if possible."""
        if self._at_hand.holds_all_after(since, self.last_seq_of_all()):
            return self._at_hand.entries_after(since, self.kinds.kind_names(kinds), at)
        return super().entries_of_kind(*kinds, since=since, at=at)

    def _notify(self, written: Sequence[WrittenRow]) -> None:
        """Update caches before awaited appends return."""
        for one in written:
            row, seq = one.row, one.seq
            if seq != self._wrote_last + 1:  # another daemon wrote in between
                self._wrote_first = seq
            self._at_hand.add(one)
            self._newest[row.kind] = self._wrote_last = seq
            if row.kind in self._inputs:
                if len(self._arrived) >= MOST_ARRIVED:
                    self._arrived.clear()
                    self._arrived_before = seq
                self._arrived[row.thread] = seq
        self._changed.set()
        self._changed = asyncio.Event()


def _candidate_thread_ids(key: str) -> Iterator[str]:
    digits = hashlib.sha256(key.encode()).hexdigest()
    return (f"sess-{digits[:length]}" for length in range(8, len(digits)))


def _check_names(thread: str, key: str, author: str) -> None:
    for name in (thread, key, author):
        if not name:
            raise ValueError(
                f"an entry needs a thread, a key and an author; got {thread!r}, {key!r}, {author!r}"
            )
        name.encode()  # fail here, not in the writer


Part = TypeVar("Part")


PIECE = 100
"""Entries applied while the loop is blocked: a few milliseconds."""


class Projection:
    """State projected from entries of `kinds`; derived classes clear it and apply one entry.

    `fold` applies all at once; `update` works in pieces, for whoever can await.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    holds_words: ClassVar[bool] = True
    """True if it is rebuilt after forgetting."""
    far_behind: ClassVar[int] = 5_000
    """Entries behind from which a thread looks up seqs; nearer, it costs more."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """Seq of its last entry."""
        self._upto = 0
        """Seq up to which it is complete."""
        self._whole = False
        self._folding = asyncio.Lock()
        """Held during updates, so that a burst of turns does one."""
        self._erasures = journal.erasures
        self._reset()

    @property
    def entries_left(self) -> int:
        """Entries not looked at."""
        self._reset_if_invalid(ALWAYS)
        return self.journal.last_seq_of_all() - self._upto

    async def update(self, before: int = ALWAYS) -> None:
        """Update in pieces, to now or to when the entry `before` was written.

        Going back rebuilds everything; only replays do.
        """
        async with self._folding:
            last = self._last(before)
            while last - self._upto > PIECE:
                await self._fold_in_pieces(last)
                last = self._last(before)
            self._fold(last)

    def fold(self, before: int = ALWAYS) -> None:
        self._fold(self._last(before))

    def _fold(self, last: int) -> None:
        if last > self._upto and not self.journal.has_none(*self.kinds, since=self._upto, upto=last):
            self._fold_entries(self._to_fold(self.journal, last))
        self._upto = max(self._upto, last)
        self._whole = True

    async def _fold_in_pieces(self, last: int) -> None:
        """Apply entries unless words are forgotten meanwhile."""
        erasures = self.journal.erasures
        if last - self._upto > self.far_behind:
            found = await self.journal.read_in_background(partial(self._to_fold, last=last))
        else:
            found = self._to_fold(self.journal, last)
        for start in range(0, len(found), PIECE):
            if erasures != self.journal.erasures:
                return
            self._fold_entries(found[start : start + PIECE])
            await asyncio.sleep(0)
        self._upto = max(self._upto, last)

    def _last(self, before: int) -> int:
        self._reset_if_invalid(before)
        return min(self.journal.last_seq_of_all(), before - 1)

    def _to_fold(self, journal: JournalReader, last: int) -> Sequence[Any]:
        return journal.seqs_of_kind(*self.kinds, since=self._upto, upto=last)

    def _fold_entries(self, found: Sequence[Any]) -> None:
        for entry in self.journal.readable_entries([seq for seq in found if seq > self._upto]):
            self._fold_entry(entry)
            self.folded = self._upto = entry.seq

    def _reset_if_invalid(self, before: int) -> None:
        """Clear it if it is past `before` or holds forgotten words."""
        forgotten = self.holds_words and self._erasures != self.journal.erasures
        if forgotten or self.folded >= before:
            self.folded = self._upto = 0
            self._erasures = self.journal.erasures
            self._reset()

    def _reset(self) -> None:
        raise NotImplementedError

    def _fold_entry(self, entry: Entry[Any]) -> None:
        raise NotImplementedError


class PartialProjection(Projection):
    """Projection that reads only requested parts of history.

    It begins at the journal's end; new entries go to existing parts.
    """

    def _last(self, before: int) -> int:
        last = super()._last(before)
        if not self._upto:
            self._upto = last
        return last

    async def _read_in_thread(
        self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]
    ) -> Part:
        """Read a part in another thread; `add` adds the entries after one seq, up to another.

        Store it before the next await, to miss nothing.
        """
        self.fold()
        while self._upto > self.far_behind:
            upto = self._upto
            erasures = self.journal.erasures
            part = await self.journal.read_in_background(partial(_read_copy, new=new, add=add, upto=upto))
            self.fold()
            if erasures == self.journal.erasures:
                add(part, self.journal, upto, self._upto)
                return part
        return self._read(new, add)

    def _read(self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]) -> Part:
        return _read_copy(self.journal, new, add, self._upto)


def _read_copy(
    journal: JournalReader,
    new: Callable[[], Part],
    add: Callable[[Part, JournalReader, int, int], None],
    upto: int,
) -> Part:
    part = new()
    add(part, journal, 0, upto)
    return part
