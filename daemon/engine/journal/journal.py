"""The journal: append-only, the only memory. Everything else is folded from it. Words may be forgotten.

Reads are synchronous and small. An append is on disk when it has been awaited, and so are all before it.

A projection that is folded on from the journal whenever it is asked; where much is new, in pieces.

A journal that is read by a thread beside the loop: for what takes long.

The entries that were written last, kept in memory: whoever folds on need not ask the file for them.
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

from daemon.engine.clock import JournalClock
from daemon.engine.event import Entry, Event, EventCodec, Input, in_chunks
from daemon.engine.exceptions import JournalDamaged, JournalError, KeyConflict
from daemon.engine.journal.journal_file import hold_lock, open_readonly, open_store, rebuild_folded_tables
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.engine.journal.rows import EntryRow, JournalTables, WrittenRow, entry_from_written, index_path
from daemon.engine.journal.writer import (
    CHUNK,
    FEW_EXECUTIONS,
    Fence,
    JournalWriter,
    add_digests,
    blank_bodies,
    clear_hashes,
    erased_key,
    find_executions,
    finish_erasing,
)
from daemon.engine.kinds import LEASES, EntriesErased, EntriesForgotten, with_engine_kinds


class BackgroundReader(JournalReader):
    """The journal at one moment, or (`live`) as it is at each question. What of it is damaged is left out.

    Nothing can be erased from the file while one moment of it is read.
    """

    _leaves_out_damage = True

    def __init__(
        self, path: Path, kinds: EventCodec, found: Callable[[JournalDamaged], None], *, live: bool = False
    ) -> None:
        store = open_readonly(path)
        if live:
            store.rollback()  # it has begun to read, and would see that one moment for ever
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
        """Which entries a thread and all under it have between two seqs, both left out, in order: so many
        of the first ones, or of the newest. With `path` those whose key begins with `path/`, with neither
        those of all threads."""
        with self._question:
            return self._store.span(root, path, since, before, limit, newest=newest)

    def iterate_entries(self, seqs: Sequence[int], *, newest: bool = False) -> Iterator[Entry[Event]]:
        """The entries of these seqs one by one, the oldest first, or the newest; without what is damaged."""
        with self._question:
            yield from self._sound(self._store.each(seqs, newest=newest))

    def entries_like(self, patterns: Sequence[str], *, since: int, before: int) -> Iterator[Entry[Event]]:
        """The entries of a span whose body as JSON is like all these patterns of SQL, the newest first."""
        with self._question:
            yield from self._sound(self._store.holding(patterns, since, before))

    def entries_like_among(self, patterns: Sequence[str], seqs: Sequence[int]) -> Iterator[Entry[Event]]:
        """The same of the entries of these seqs."""
        with self._question:
            yield from self._sound(self._store.holding_of(patterns, seqs))

    def _found(self, damage: JournalDamaged) -> None:
        self._hears(damage)


MOST_RECENT_ENTRIES = 256
"""Entries that are kept."""


class RecentEntries:
    """Of one open journal. Each reader is given events of its own, as from the file."""

    def __init__(self, kinds: EventCodec) -> None:
        self._kinds = kinds
        self._written = deque[WrittenRow](maxlen=MOST_RECENT_ENTRIES)

    def add(self, written: WrittenRow) -> None:
        """This was written last. What a Forgotten names stands before it, and is here no more; nor is what
        comes before an entry of another daemon."""
        others = bool(self._written) and self._written[-1].seq + 1 != written.seq
        if others or written.row.kind == EntriesForgotten.kind:
            self._written.clear()
        self._written.append(written)

    def holds_all_after(self, since: int, upto: int) -> bool:
        """Is all here that stands in the file after this seq, up to its last entry?"""
        written = self._written
        return bool(written) and written[0].seq <= since + 1 and written[-1].seq == upto

    def entries_after(self, since: int, names: Sequence[str], at: float) -> list[Entry[Any]]:
        """What is here of these kinds after a seq, from a time on, in order."""
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
"""Threads of which it is known apart that something came for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft(Generic[E]):
    """An entry that is not written yet: checked, with its `event` as every reader will be given it."""

    row: EntryRow
    event: E
    fence: Fence | None

    def entry(self, seq: int) -> Entry[E]:
        """It, once it is on disk."""
        return entry_from_written(self.row, seq, self.event)


class Journal(JournalReader):
    """An open journal; an async context manager that holds its lock.

    `kinds` are the program's own; the engine's are added, but where the program has a class of the same kind.
    """

    _leaves_out_damage = True

    def __init__(
        self,
        path: Path,
        clock: JournalClock,
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
        """The last input that came for a thread since it was opened; of the latest few thousand threads."""
        self._arrived_before = 0
        self._newest: dict[str, int] = {}
        """The last entry of each kind that was written since it was opened."""
        self._wrote_first, self._wrote_last = 0, -1
        """It wrote all from the one to the other; nothing so far."""
        self._at_hand = RecentEntries(self._kinds)
        self._inputs = frozenset(self._kinds.kind_names([Input]))
        self.damage = ""
        """What of it could not be read, and what to do; empty as long as all could be."""

    async def __aenter__(self) -> Self:
        """Raises JournalError where it cannot be opened."""
        with ExitStack() as opening:
            opening.enter_context(hold_lock(self._path))  # before the first connection
            written = open_store(self._path)
            opening.callback(written.close)
            try:
                rebuild_folded_tables(written, self._kinds)
            except JournalDamaged as damage:  # what can be read may still be answered
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

    def _finish_forgetting(self, store: JournalTables) -> None:
        """What cannot be done now is done by whoever forgets: it is still pending."""
        try:
            finish_erasing(store, self._kinds, self._clock.now())
        except (sqlite3.Error, OSError, ValueError) as error:
            store.rollback()
            log.error("What was being forgotten is not erased yet (%s).", error)

    def _add_digests(self, store: JournalTables) -> None:
        """What cannot be done now is done at the next opening: `verify` says what is left."""
        try:
            add_digests(store, self._kinds)
        except (sqlite3.Error, OSError, ValueError) as error:
            store.rollback()
            log.error("Older entries have no digests yet (%s): the next start goes on.", error)

    def _found(self, damage: JournalDamaged) -> None:
        """An owner reads it once; `damage` says it for as long as this program lives."""
        if not self.damage:
            log.critical("%s What needs what is damaged waits; all else goes on.", damage)
            self.damage = str(damage)

    @property
    def index_path(self) -> Path:
        """Where what is folded of it may be kept. That file is deleted when words are forgotten, once they
        are blank: whoever opens it before he reads entries into it leaves none of them there."""
        return index_path(self._path)

    def make_background_reader(self) -> BackgroundReader:
        """Another reader, for a thread of its own, in which it is made, asked and closed."""
        return BackgroundReader(self._path, self.kinds, self._found, live=True)

    @property
    def died(self) -> asyncio.Future[None]:
        """Fails when the writer died: the program cannot go on."""
        return self._writer.died

    @property
    def is_writable(self) -> bool:
        """Did the last append reach the disk?"""
        return not (self.died.done() or self._writer.failing)

    @property
    def is_well(self) -> bool:
        """Can it be written, and could all be read so far?"""
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
        """The entry under this key, and whether it is new, once it is on disk.

        It closes what is `moot`, too, as far as nothing has closed that by then: a wait may end meanwhile.
        Raises Fenced where another attempt has taken over, or the entry `requires` is no longer pending;
        ValueError or TypeError for an event that is no JSON, or not of its type; JournalError where it
        cannot be written.
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
        """The same, not on its way yet. Raises ValueError or TypeError."""
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
        """Send it to disk; a future of its seq, which fails with Conflict, Fenced or JournalError.

        It fails where the entry under the key `after` is not there by then. The one of `receipt_of` is its
        cause, and closed by it; the one of `opened_by` is its cause, and must stand in its thread.
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
        """Blank the bodies of these entries, and return when no byte of what they said is left in the file.

        All else of them stays. Of `lets_go` it closes what is pending still: nobody goes on with that. What
        is recorded under the key already is only brought to its end. Raises JournalError, also as long as
        somebody reads the file as it was; `erase` tries again.
        """
        event = EntriesForgotten(seqs=tuple(seqs), why=why)
        forgotten, _ = await self.append(
            thread, event, key=key, author=author, cause=cause, moot=tuple(lets_go)
        )
        await self.erase(forgotten)
        return forgotten

    async def erase(self, forgotten: Entry[EntriesForgotten]) -> None:
        """Bring it to its end: blank what is not blank yet, clear the file, and say so."""
        seqs, touched = forgotten.event.seqs, list[set[str]]()
        for some in in_chunks(seqs, CHUNK):
            await self._writer.run_job(partial(blank_bodies, kinds=self.kinds, seqs=some, by=forgotten.seq))
            self.erasures += 1
        await self._writer.run_job(lambda store: touched.extend(find_executions(store, self.kinds, seqs)))
        for few in in_chunks(touched, FEW_EXECUTIONS):
            await self._writer.run_job(partial(clear_hashes, kinds=self.kinds, executions=few))
        await self._writer.run_job(JournalTables.scrub)
        await self.append(
            forgotten.thread,
            EntriesErased(),
            key=erased_key(forgotten.key),
            author=forgotten.author,
            cause=forgotten.seq,
            closes=[forgotten.seq],
        )

    async def open_thread(self, key: str, event: E) -> tuple[Entry[E], bool]:
        """The first entry of a thread, under a natural key; the thread's id is assigned when it is new.

        Eight digits collide at about nine thousand threads: on conflict, one digit more.
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
        """The same, and the `first` thing that is said there: both in one commit where both are new."""
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
        """What this finds in the journal as it is now, looked for beside the loop: for what takes long.

        It is asked again where words were forgotten meanwhile. Raises JournalError.
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
        """All entries after this seq, as they come, so many at once."""
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
        """Set when something is written from now on; ask for it anew after that."""
        return self._changed

    def arrival_counter(self, thread: str) -> int:
        """A number that is another one whenever an input has come for this thread: whoever found none need
        not ask again as long as it is the same. Others' inputs may change it, too."""
        return self._arrived.get(thread, self._arrived_before)

    def change_counter(self, *kinds: type[Event]) -> int:
        """The same of all entries of these kinds. It knows of what was written here; the lock sees to it
        that nobody else writes."""
        return max(self._newest.get(name, 0) for name in self.kinds.kind_names(kinds))

    def has_none(self, *kinds: type[Event], since: int, upto: int) -> bool:
        """Is it known without a search that no entry of these kinds comes after one seq, up to another?"""
        mine = 0 < self._wrote_first <= since + 1 and self._wrote_last >= upto
        return mine and self.change_counter(*kinds) <= since

    def entries_of_kind(self, *kinds: type[E], since: int = 0, at: float = 0.0) -> list[Entry[E]]:
        """All entries of these kinds after a seq, from a time on, in order; from memory if there."""
        if self._at_hand.holds_all_after(since, self.last_seq_of_all()):
            return self._at_hand.entries_after(since, self.kinds.kind_names(kinds), at)
        return super().entries_of_kind(*kinds, since=since, at=at)

    def _notify(self, written: Sequence[WrittenRow]) -> None:
        """Told of what is on disk before whoever waits for it goes on."""
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
    """The ids that a thread opened under this key may have, in the order in which they are tried."""
    digits = hashlib.sha256(key.encode()).hexdigest()
    return (f"sess-{digits[:length]}" for length in range(8, len(digits)))


def _check_names(thread: str, key: str, author: str) -> None:
    for name in (thread, key, author):
        if not name:
            raise ValueError(
                f"an entry needs a thread, a key and an author; got {thread!r}, {key!r}, {author!r}"
            )
        name.encode()  # a name that is no text fails here, not in the writer


Part = TypeVar("Part")


PIECE = 100
"""Entries that are folded at once: a few milliseconds, in which nobody else can do anything."""


class Projection:
    """Derive from it: `kinds` are what it is made of, `_clear` begins anew, `_take` adds one entry.

    Nobody is told from half of it: `fold` folds all that came, however long that takes. Whoever can wait
    awaits `update` first, which leaves nothing that takes long.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    holds_words: ClassVar[bool] = True
    """Does it begin anew where words were forgotten?"""
    far_behind: ClassVar[int] = 5_000
    """So many entries behind, it looks for its own beside the loop. Nearer, a thread costs more than that."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """The seq of the last entry in it."""
        self._upto = 0
        """Up to here there is nothing left to fold."""
        self._whole = False
        """Was it ever folded to the end?"""
        self._folding = asyncio.Lock()
        """Held by the one who folds, so that a burst of turns does not do it once each."""
        self._erasures = journal.erasures
        self._reset()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        self._reset_if_invalid(ALWAYS)
        return self.journal.last_seq_of_all() - self._upto

    async def update(self, before: int = ALWAYS) -> None:
        """Make it what it was when the entry `before` was written; without that, what it is now.

        It is folded in pieces: others go on meanwhile, and may ask it. Going back is dear, as it begins anew:
        only what replays does.
        """
        async with self._folding:
            last = self._last(before)
            while last - self._upto > PIECE:
                await self._fold_in_pieces(last)
                last = self._last(before)
            self._fold(last)

    def fold(self, before: int = ALWAYS) -> None:
        """The same at once."""
        self._fold(self._last(before))

    def _fold(self, last: int) -> None:
        if last > self._upto and not self.journal.has_none(*self.kinds, since=self._upto, upto=last):
            self._fold_entries(self._to_fold(self.journal, last))
        self._upto = max(self._upto, last)
        self._whole = True

    async def _fold_in_pieces(self, last: int) -> None:
        """Fold what there is up to this entry. What is forgotten meanwhile ends it: whoever called looks
        again."""
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
        """Up to where it can be folded now; it begins anew where it has to."""
        self._reset_if_invalid(before)
        return min(self.journal.last_seq_of_all(), before - 1)

    def _to_fold(self, journal: JournalReader, last: int) -> Sequence[Any]:
        """What `_take_all` is given: the entries that are to be folded, up to this one."""
        return journal.seqs_of_kind(*self.kinds, since=self._upto, upto=last)

    def _fold_entries(self, found: Sequence[Any]) -> None:
        for entry in self.journal.readable_entries([seq for seq in found if seq > self._upto]):
            self._fold_entry(entry)
            self.folded = self._upto = entry.seq

    def _reset_if_invalid(self, before: int) -> None:
        """Begin anew where it is too far, or holds words that were forgotten."""
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
    """A projection that reads only those parts of the past that somebody asks for: nobody waits for the rest.

    It begins at the end of the journal: `_take` adds what comes from then on to the parts that are there, and
    `_read` reads what came before it of one part.
    """

    def _last(self, before: int) -> int:
        last = super()._last(before)
        if not self._upto:
            self._upto = last
        return last

    async def _read_in_thread(
        self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]
    ) -> Part:
        """Read a part beside the loop. `add` adds what the journal holds of it after a seq, up to another.

        Nothing is missing from it until the next await: whoever called keeps it at once.
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
        """The same at once."""
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
