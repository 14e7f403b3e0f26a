"""The journal: an append-only list of entries, from which all other state is projected.

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
from daemon.engine.event import Entry, Event, EventCodec, Input, in_chunks, root_of
from daemon.engine.exceptions import FencedError, JournalDamaged, JournalError, KeyConflict
from daemon.engine.journal.copy_mark import refuse_copy
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

log = logging.getLogger(__name__)
E = TypeVar("E", bound=Event)
F = TypeVar("F", bound=Event)
T = TypeVar("T")
Part = TypeVar("Part")


class BackgroundReader(JournalReader):
    """Reader for another thread, which skips damaged entries.

    It reads a snapshot or, if `live`, the current state. An open snapshot prevents erasing.
    """

    _skips_damage = True

    def __init__(
        self, path: Path, kinds: EventCodec, found: Callable[[JournalDamaged], None], *, live: bool = False
    ) -> None:
        store = open_readonly(path)
        if live:
            store.rollback()  # an open transaction would keep a snapshot
        super().__init__(store, kinds)
        self._report = found

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
        """Return seqs between `since` and `before` in order: the first or `newest` ones up to `limit`.

        They are of `root` and its descendants, of keys under `path/`, or of all entries.
        """
        with self._query_guard:
            return self._store.seqs_between(root, path, since, before, limit, newest=newest)

    def iterate_entries(self, seqs: Sequence[int], *, newest: bool = False) -> Iterator[Entry[Event]]:
        with self._query_guard:
            yield from self._readable(self._store.iterate(seqs, newest=newest))

    def entries_like(self, patterns: Sequence[str], *, since: int, before: int) -> Iterator[Entry[Event]]:
        """Yield entries whose body matches all these LIKE patterns, newest first."""
        with self._query_guard:
            yield from self._readable(self._store.like(patterns, since, before))

    def entries_like_among(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Entry[Event]]:
        with self._query_guard:
            yield from self._readable(self._store.like_among(patterns, seqs))

    def _found(self, damage: JournalDamaged) -> None:
        self._report(damage)


MOST_RECENT_ENTRIES = 256


class RecentEntries:
    """Latest entries, kept in memory without gaps."""

    def __init__(self, kinds: EventCodec) -> None:
        self._kinds = kinds
        self._written = deque[WrittenRow](maxlen=MOST_RECENT_ENTRIES)

    def add(self, written: WrittenRow) -> None:
        """Add the newest entry. Earlier ones are dropped if there is a gap, or if the entry forgets words."""
        others = bool(self._written) and self._written[-1].seq + 1 != written.seq
        if others or written.row.kind == EntriesForgotten.kind:
            self._written.clear()
        self._written.append(written)

    def holds_all_after(self, since: int, upto: int) -> bool:
        """True if all entries after `since` up to `upto` are kept."""
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


MOST_ARRIVED = 10_000
"""Threads whose latest input is cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft(Generic[E]):
    """Entry that is checked but not written. `event` is what readers will decode."""

    row: EntryRow
    event: E
    fence: Fence | None

    def entry(self, seq: int) -> Entry[E]:
        return entry_from_written(self.row, seq, self.event)


class Journal(JournalReader):
    """The journal, open for writing: an async context manager that holds the journal's lock.

    `kinds` are the program's; the engine's are added.
    """

    _skips_damage = True

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
        """Seq of each thread's latest input."""
        self._arrived_before = 0
        self._newest: dict[str, int] = {}
        """Seq of each kind's latest entry."""
        self._wrote_first, self._wrote_last = 0, -1
        self._recent = RecentEntries(self._kinds)
        self._inputs = frozenset(self._kinds.kind_names([Input]))
        self.damage = ""
        """The first damage found, with advice; empty if none."""

    async def __aenter__(self) -> Self:
        with ExitStack() as opening:
            opening.enter_context(hold_lock(self._path))  # no connection without the lock
            written = self._open_tables(opening)
            self._prepare_tables(written)
            reader = open_store(self._path)
            opening.callback(reader.close)
            super().__init__(reader, self._kinds)
            self._start_writer(opening, written)
            self._open = opening.pop_all()
        return self

    def _open_tables(self, opening: ExitStack) -> WritableTables:
        store = open_store(self._path)
        opening.callback(store.close)
        refuse_copy(store)
        return store

    def _prepare_tables(self, store: WritableTables) -> None:
        try:
            rebuild_folded_tables(store, self._kinds)
        except JournalDamaged as damage:  # readable entries can still be used
            self._found(damage)
        self._finish_forgetting(store)
        self._add_digests(store)

    def _start_writer(self, opening: ExitStack, store: WritableTables) -> None:
        self._writer = self._writer_class(store, self._notify)
        self._writer.start()
        opening.callback(self._writer.stop)

    async def __aexit__(self, *_: object) -> None:
        self._open.close()

    def _finish_forgetting(self, store: WritableTables) -> None:
        try:
            finish_erasing(store, self._kinds, self._clock.now())
        except (sqlite3.Error, OSError, ValueError) as error:
            store.rollback()
            log.error("Could not finish erasing forgotten entries (%s); they stay pending.", error)

    def _add_digests(self, store: WritableTables) -> None:
        """Add digests to older entries. If that fails, the next start continues."""
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
        """Path of the search index. Each erasure blanks entries, and then deletes this file.

        Open the file before you read entries for it, or it may keep forgotten words.
        """
        return index_path(self._path)

    def make_background_reader(self) -> BackgroundReader:
        """Return a live reader for another thread."""
        return BackgroundReader(self._path, self.kinds, self._found, live=True)

    @property
    def died(self) -> asyncio.Future[None]:
        """Future that fails if the writer's thread ends."""
        return self._writer.died

    @property
    def is_writable(self) -> bool:
        return not (self.died.done() or self._writer.failing)

    @property
    def is_well(self) -> bool:
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
        """Append an entry; return it once it is on disk, and True, or the existing entry under `key`, and
        False.

        Pending entries of `moot` are closed, too. Raises FencedError if `fence` fails or the entry `requires`
        is not pending, ValueError or TypeError for an invalid event, JournalError if writing fails.
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
        """Check an entry, and return it as a draft. Raises ValueError or TypeError."""
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
            tree=root_of(thread) if isinstance(event, Input) else "",
        )
        return EntryDraft(row=row, event=read, fence=fence)

    def submit(
        self, draft: EntryDraft[Any], *, after: str = "", receipt_of: str = "", opened_by: str = ""
    ) -> asyncio.Future[int]:
        """Queue a draft. The future of its seq may fail with KeyConflict, FencedError or JournalError.

        An entry with the key `after` must exist. The cause is the entry with the key `receipt_of`, which is
        closed, or `opened_by`, which opened the thread.
        """
        return self._writer.submit(draft.row, draft.fence, None, after, receipt_of, opened_by)

    def is_own(self, seq: int) -> bool:
        """True if this process wrote the entry since its start; others may share the journal."""
        return True

    async def confirm_lease(self, thread: str, epoch: int) -> None:
        """Raise FencedError unless the attempt `epoch` has the thread's lease."""
        if not self.holds_lease(thread, epoch):
            raise FencedError(f"another attempt at {thread} began after this one")

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
        """Blank these entries; return when their words are gone from the file.

        Pending entries of `lets_go` are closed. Raises JournalError, also while a snapshot is open; then
        `erase` may be retried.
        """
        event = EntriesForgotten(seqs=tuple(seqs), why=why)
        forgotten, _ = await self.append(
            thread, event, key=key, author=author, cause=cause, moot=tuple(lets_go)
        )
        await self.erase(forgotten)
        return forgotten

    async def erase(self, forgotten: Entry[EntriesForgotten]) -> None:
        """Finish forgetting: blank the bodies, remove old bytes from the files, and record the end."""
        seqs, touched = forgotten.event.seqs, list[set[str]]()
        for some in in_chunks(seqs, CHUNK):
            await self._writer.run_job(partial(blank_bodies, kinds=self.kinds, seqs=some, by=forgotten.seq))
            self.erasures += 1
        await self._writer.run_job(lambda store: touched.extend(find_executions(store, self.kinds, seqs)))
        for few in in_chunks(touched, FEW_EXECUTIONS):
            await self._writer.run_job(partial(clear_hashes, kinds=self.kinds, executions=few))
        await self._writer.run_job(WritableTables.scrub)
        await self._record_erased(forgotten)

    async def _record_erased(self, forgotten: Entry[EntriesForgotten]) -> None:
        await self.append(
            forgotten.thread,
            EntriesErased(),
            key=erased_key(forgotten.key),
            author=forgotten.author,
            cause=forgotten.seq,
            closes=[forgotten.seq],
        )

    async def open_thread(self, key: str, event: E) -> tuple[Entry[E], bool]:
        """Return the first entry of the thread with this key, and True if it was opened now.

        Thread ids have eight digits of a hash, or more if taken.
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
        """Open a thread and append the entry `first`, in one commit."""
        thread = next(_candidate_thread_ids(key))
        opened = self.make_draft(thread, event, key=key, author="core")
        first_draft = self.make_draft(thread, first, key=first_key, author=author)
        seqs = await asyncio.gather(
            self.submit(opened), self.submit(first_draft, opened_by=key), return_exceptions=True
        )
        match seqs:
            case [int(of_opened), int(of_first)]:
                return opened.entry(of_opened), replace(first_draft.entry(of_first), cause=of_opened)
        there, _ = await self.open_thread(key, event)
        found, _ = await self.append(there.thread, first, key=first_key, author=author, cause=there.seq)
        return there, found

    async def read_in_background(self, ask: Callable[[BackgroundReader], T]) -> T:
        """Call `ask` with a snapshot in another thread; again if words were forgotten meanwhile. Return its
        result.
        """
        while True:
            erasures = self.erasures
            found = await asyncio.to_thread(self._read_in_background, ask)
            if erasures == self.erasures:
                return found

    def _read_in_background(self, ask: Callable[[BackgroundReader], T]) -> T:
        with closing(BackgroundReader(self._path, self.kinds, self._found)) as past:
            return ask(past)

    async def follow_entries(self, since: int, limit: int = 1000) -> AsyncIterator[list[Entry[Event]]]:
        """Yield all entries after `since`, and then new ones as they come."""
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
        """Event that is set at the next write."""
        return self._changed

    def arrival_counter(self, thread: str) -> int:
        """Return a number that changes with each new input of this thread (and sometimes of others)."""
        return self._arrived.get(thread, self._arrived_before)

    def change_counter(self, *kinds: type[Event]) -> int:
        """Return a number that changes with each new entry of these kinds."""
        return max(self._newest.get(name, 0) for name in self.kinds.kind_names(kinds))

    def has_none(self, *kinds: type[Event], since: int, upto: int) -> bool:
        """True if memory shows that no entry of these kinds is after `since` up to `upto`."""
        mine = 0 < self._wrote_first <= since + 1 and self._wrote_last >= upto
        return mine and self.change_counter(*kinds) <= since

    def entries_of_kind(self, *kinds: type[E], since: int = 0, at: float = 0.0) -> list[Entry[E]]:
        if self._recent.holds_all_after(since, self.last_seq_of_all()):
            return self._recent.entries_after(since, self.kinds.kind_names(kinds), at)
        return super().entries_of_kind(*kinds, since=since, at=at)

    def _notify(self, written: Sequence[WrittenRow]) -> None:
        for one in written:
            row, seq = one.row, one.seq
            if seq != self._wrote_last + 1:  # another daemon has written
                self._wrote_first = seq
            self._recent.add(one)
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
        name.encode()  # raises here, not in the writer


FOLD_PIECE = 100
"""Entries applied before other tasks may run."""


class Projection:
    """State projected from entries of `kinds`. A derived class resets it, and applies an entry.

    `fold` applies all new entries at once; `update` lets other tasks run meanwhile.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    holds_words: ClassVar[bool] = True
    """True if the state has words, so that forgetting resets it."""
    far_behind: ClassVar[int] = 5_000
    """Number of new entries above which another thread looks up their seqs."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """Seq of the last entry applied."""
        self._upto = 0
        """Seq up to which all entries were examined."""
        self._whole = False
        self._folding = asyncio.Lock()
        """Held during an update, so that parallel calls share one."""
        self._erasures = journal.erasures
        self._reset()

    @property
    def entries_left(self) -> int:
        """Number of entries not examined yet."""
        self._reset_if_invalid(ALWAYS)
        return self.journal.last_seq_of_all() - self._upto

    async def update(self, before: int = ALWAYS) -> None:
        """Apply all entries before the seq `before`. If later ones were applied already, begin anew."""
        async with self._folding:
            last = self._last(before)
            while last - self._upto > FOLD_PIECE:
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
        erasures = self.journal.erasures
        if last - self._upto > self.far_behind:
            found = await self.journal.read_in_background(partial(self._to_fold, last=last))
        else:
            found = self._to_fold(self.journal, last)
        for start in range(0, len(found), FOLD_PIECE):
            if erasures != self.journal.erasures:
                return
            self._fold_entries(found[start : start + FOLD_PIECE])
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
    """Projection that reads old entries only for the parts that are asked for.

    It begins at the end of the journal; new entries are added to the parts it has.
    """

    def _last(self, before: int) -> int:
        last = super()._last(before)
        if not self._upto:
            self._upto = last
        return last

    async def _read_in_thread(
        self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]
    ) -> Part:
        """Make a part with `new`, and read it in another thread; `add` adds the entries after one seq up to
        another.

        Store the part before the next await, or it misses entries.
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
