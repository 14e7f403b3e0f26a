"""Reading a journal: what may be asked of it, and how it is opened beside a program that writes it.

A query names classes of events: it means all kinds that derive from them. Reads are synchronous and small.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from daemon.engine.event import Entry, Event, EventCodec, Input, restarted_path
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal.journal_file import (
    RESTORE,
    damage_error,
    folded_kinds,
    journal_error,
    open_readonly,
)
from daemon.engine.journal.rows import JournalTables, Stored, entry_from_row, parse_seqs
from daemon.engine.kinds import TurnBegan, with_engine_kinds

E = TypeVar("E", bound=Event)


ALWAYS = 2**62
"""Comes after every seq."""


class EntryHead(NamedTuple):
    """An entry without its body."""

    seq: int
    thread: str
    kind: str
    closes: tuple[int, ...]


class JournalReader:
    """The entries of a journal, and what is folded from them.

    Every question raises JournalError where the file cannot be read, JournalDamaged where what stands in
    it is not what was written.
    """

    _leaves_out_damage = False
    """Does a damaged entry stop nobody who asks for those of many threads? In a live journal it does not."""

    def __init__(self, store: JournalTables, kinds: EventCodec) -> None:
        self._store = store
        self._question = QueryGuard(self._found)
        self.kinds = kinds
        self._first: tuple[int, int, float | None, float] = (0, 0, None, 0.0)
        """What `first_after` found last: for all seqs from the first to before the second one, and when."""
        self.erasures = 0
        """How often words were forgotten since it was opened: whoever keeps any at hand looks at this."""

    def get(self, key: str) -> Entry[Event] | None:
        """The entry under this key."""
        with self._question:
            found = self._store.get(key)
            if found is None:
                return None
            return self._entry(found)

    def seq_of(self, key: str) -> int:
        """That of the entry under this key, which may be damaged; 0 where there is none."""
        with self._question:
            return self._store.seq_of(key) or 0

    def entry(self, seq: int) -> Entry[Any]:
        """The entry of this seq. Raises KeyError where there is none."""
        return self.entries_at([seq])[0]

    def entries_at(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """The entries of these seqs, in the order given. Raises KeyError where one is not there."""
        if not seqs:
            return []
        with self._question:
            found = {row[0]: self._entry(row) for row in self._store.many(seqs)}
        return [found[seq] for seq in seqs]

    def entries_under(self, path: str) -> list[Entry[Event]]:
        """The entries whose key begins with `path/`, in order."""
        with self._question:
            return self._entries(self._store.under(path))

    def entries_of_step(self, key: str) -> list[Entry[Event]]:
        """The entries that belong to what has this key, in order."""
        with self._question:
            return self._entries(self._store.parts(key))

    def execution_paths(self, execution: str) -> list[str]:
        """Under which paths this execution has recorded anything: one more after each restart."""
        found = [execution]
        while self.get(f"{found[-1]}/restarted"):
            found.append(restarted_path(execution, len(found)))
        return found

    def execution_entries(self, execution: str) -> list[Entry[Event]]:
        """All that it has recorded, before each restart and since; its last words are not among it."""
        found = list[Entry[Event]]()
        for path in self.execution_paths(execution):
            found += self.entries_under(path)
        return found

    def thread_entries(
        self, thread: str, *kinds: type[E], since: int = 0, most: int | None = None
    ) -> list[Entry[E]]:
        """A thread's entries of these kinds (of all, where none is named) after a seq, in order.

        With `most`, for which there must be kinds, no more than that, the first ones.
        """
        names = self.kinds.kind_names(kinds)
        with self._question:
            return self._entries(self._store.of(thread, names, since, most))

    def tree_entries(self, root: str, *kinds: type[E], since: int = 0) -> list[Entry[E]]:
        """The same of a thread and of all threads under it."""
        names = self.kinds.kind_names(kinds)
        with self._question:
            rows = [*self._store.of(root, names, since), *self._store.below(root, names, since)]
            return self._of_all(sorted(rows))

    def latest_of_kind(self, thread: str, kind: type[E], before: int = ALWAYS) -> Entry[E] | None:
        """A thread's last entry of this kind, before a seq if one is given."""
        with self._question:
            found = self._latest(thread, kind, before)
            if found is None:
                return None
            return self._entry(found)

    def count_before(self, thread: str, *kinds: type[Event], before: int = ALWAYS) -> int:
        """How many entries of these kinds a thread has before a seq."""
        with self._question:
            return self._store.count(thread, self.kinds.kind_names(kinds), before)

    def latest_first(self, thread: str, kind: type[E], before: int = ALWAYS) -> Iterator[Entry[E]]:
        """A thread's entries of this kind, from the last one before a seq back; a live journal leaves out
        damaged ones."""
        with self._question:
            found = self._latest(thread, kind, before)
            while found:
                yield from self._of_all([found])
                found = self._latest(thread, kind, before=found[0])

    def last_seq(self, thread: str, kind: type[Event]) -> int:
        """That of a thread's last entry of this kind, which may be damaged; 0 where there is none."""
        with self._question:
            found = self._latest(thread, kind)
        if found is None:
            return 0
        return found[0]

    def _latest(self, thread: str, kind: type[Event], before: int = ALWAYS) -> Stored | None:
        last: Stored | None = None
        for name in self.kinds.kind_names([kind]):
            row = self._store.latest(thread, name, before)
            if row and (last is None or last < row):
                last = row
        return last

    def entries_of_kind(self, *kinds: type[E], since: int = 0, at: float = 0.0) -> list[Entry[E]]:
        """All entries of these kinds after a seq, from a time on, in order."""
        names = self.kinds.kind_names(kinds)
        with self._question:
            return self._of_all(self._store.kind(names, since, at))

    def change_counter(self, *kinds: type[Event]) -> int:
        """A number that is another one whenever an entry of these kinds was written."""
        return self.last_seq_of_all()

    def seqs_of_kind(self, *kinds: type[Event], since: int = 0, upto: int = ALWAYS) -> list[int]:
        """Which entries are of these kinds, after a seq and up to one, in order: for those who read them in
        parts."""
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._question:
            return self._store.seqs(self.kinds.kind_names(kinds), since, upto)

    def fields_of_kind(
        self,
        kinds: Sequence[type[Event]],
        paths: Sequence[str],
        *,
        since: int = 0,
        upto: int = ALWAYS,
        at: float = 0.0,
    ) -> list[tuple[Any, ...]]:
        """Of the entries of these kinds after a seq, up to another, from a time on, in order: seq, thread,
        kind, when it was written, and what their bodies hold under these paths (two at least, like
        `$.usage.input`), as a list in JSON.

        Makes no entries, and so is many times quicker; whether one is damaged nobody sees.
        """
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._question:
            return self._store.fields(self.kinds.kind_names(kinds), paths, since, upto, at)

    def fields_opened_under(
        self, prefix: str, kinds: Sequence[type[Event]], paths: Sequence[str], since: int, upto: int
    ) -> list[tuple[Any, ...]]:
        """The same of the threads that were opened under a key that begins with `prefix`, up to a seq.

        They are found by an index: nothing of other threads is read.
        """
        with self._question:
            return self._store.fields_below(prefix, self.kinds.kind_names(kinds), paths, since, upto)

    def threads_opened_under(self, prefix: str) -> list[str]:
        """The threads that were opened under a key that begins with `prefix`, the latest one first."""
        with self._question:
            return self._store.threads_below(prefix)

    def last_entry_under(self, prefix: str, before: int = ALWAYS) -> Entry[Any] | None:
        """The last entry before a seq whose key begins with `prefix`. A live journal leaves out damaged
        ones."""
        with self._question:
            while found := self._store.last_below(prefix, before):
                for entry in self._of_all([found]):
                    return entry
                before = found[0]
        return None

    def entries_containing(
        self, text: str, *kinds: type[E], since: int = 0, upto: int = ALWAYS
    ) -> list[Entry[E]]:
        """The entries of these kinds after a seq, up to another, that hold this string, in order.

        All rows of these kinds are looked through, but an entry is made only of those that hold it. A live
        journal leaves out what is damaged.
        """
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._question:
            names = self.kinds.kind_names(kinds)
            return self._of_all(self._store.naming(names, json.dumps(text), since, upto))

    def readable_entries(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """The entries of these seqs that are there, in order; a live journal leaves out what is damaged."""
        with self._question:
            return self._of_all(self._store.many(seqs))

    def entries_between(self, since: int, upto: int, *kinds: type[Event]) -> list[Entry[Any]]:
        """The entries of these kinds after a seq and up to another one, in order: for those who go through
        all that was written, part by part. A live journal leaves out what is damaged."""
        names = self.kinds.kind_names(kinds)
        with self._question:
            return self._of_all(self._store.between(since, upto, names))

    def recently_active(
        self, root: type[E], said: Sequence[type[Event]], at: float
    ) -> Iterator[tuple[Entry[E], float]]:
        """The entries of the kind `root` in the threads that have one of the kinds `said` from a time on.

        Each with when the last of those was written, the latest first. It looks at all that was said since
        then: see `Journal.apart`.
        """
        roots, names = self.kinds.kind_names([root]), self.kinds.kind_names(said)
        with self._question:
            for row, last in self._store.lately(roots, names, at):
                for entry in self._sound([row]):
                    yield entry, last

    def pending_entries(self, *kinds: type[E], thread: str | None = None) -> list[Entry[E]]:
        """What is pending, of these kinds or (none named) of all, in order: in one thread, or in all."""
        names = self.kinds.kind_names(kinds or [Event])
        with self._question:
            rows = self._store.pending(names, thread)
            if thread is None:
                return self._of_all(rows)
            return self._entries(rows)

    def pending_seqs(self, *kinds: type[Event]) -> list[int]:
        """Which pending entries are of these kinds, in order: for those who read them in parts."""
        with self._question:
            return self._store.pending_seqs(self.kinds.kind_names(kinds))

    def pending_inputs(self, thread: str) -> list[Entry[Input]]:
        """What waits for this thread to take it up, in order."""
        return self.pending_entries(Input, thread=thread)

    def threads_with_pending(self, *kinds: type[Event]) -> list[str]:
        """The threads in which entries of these kinds are pending, those that wait longest first.

        Reads no entry, so that a damaged one stands in no other thread's way.
        """
        with self._question:
            return self._store.waiting(self.kinds.kind_names(kinds))

    def busy_threads(self) -> list[str]:
        """The threads that have something to take up, or a half turn."""
        return self.threads_with_pending(Input, TurnBegan)

    def is_pending(self, seq: int) -> bool:
        """Has no later entry closed it?"""
        with self._question:
            return self._store.is_pending(seq)

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        """Those of these entries that no later one has closed."""
        if not seqs:
            return []
        with self._question:
            return self._store.still_pending(seqs)

    def holds_lease(self, thread: str, epoch: int) -> bool:
        """Is the attempt that began at `epoch` still the latest at this thread?"""
        return self.lease_epoch(thread) == epoch

    def lease_epoch(self, thread: str) -> int | None:
        """The seq of the attempt that holds this thread."""
        with self._question:
            return self._store.epoch(thread)

    def latest_attempts(self, since: int) -> list[tuple[str, int]]:
        """The threads whose latest attempt began after a seq, and with which seq; the latest last."""
        with self._question:
            return self._store.attempted(since)

    def entries_since(self, seq: int, limit: int = 1000) -> list[Entry[Event]]:
        """The entries after this seq, oldest first; one that is damaged is left out.

        For those who read all that was ever written: one entry must not hide all others from them.
        """
        with self._question, closing(self._store.since(seq)) as rows:
            return list(islice(self._sound(rows), limit))

    def heads_since(self, seq: int, limit: int = 1000) -> list[EntryHead]:
        """What the entries after this seq say beside their bodies, which are not read; oldest first."""
        with self._question:
            rows = self._store.heads(seq, limit)
        return [EntryHead(seq, thread, kind, parse_seqs(closes) or ()) for seq, thread, kind, closes in rows]

    def last_seq_of_all(self) -> int:
        """The newest seq; 0 in an empty journal."""
        with self._question:
            return self._store.last()

    def first_time_after(self, seq: int, now: float) -> float | None:
        """When the first entry after this seq was written that is not of the future; None: there is none.

        Whoever asks for many seqs asks for the lowest first: the others mostly have the same answer.
        """
        since, until, at, then = self._first
        lasts = at is not None and at <= now
        if at is None:
            lasts = now == then and self.last_seq_of_all() + 1 == until
        if not (lasts and since <= seq < until):
            with self._question:
                found = self._store.first_after(seq, now)
            until, at = found or (self.last_seq_of_all() + 1, None)
            self._first = (seq, until, at, now)
        return at

    def all_rows(self, upto: int = ALWAYS) -> Iterator[Stored]:
        """Every entry as it stands in the file, in order, up to a seq; few of them are in memory at once."""
        with self._question:
            yield from self._store.rows(upto)

    def all_rows_with_digests(self) -> Iterator[tuple[Stored, object]]:
        """The same rows, each with its digest; None where it has none."""
        with self._question:
            yield from self._store.rows_and_digests()

    def undigested_span(self) -> tuple[int, int] | None:
        """The entries after the first seq, up to the second, may have no digest yet: an older version wrote
        them. None: each must have one."""
        with self._question:
            return self._store.undigested()

    def all_entries(self, upto: int = ALWAYS) -> Iterator[Entry[Event]]:
        """The same as entries. Raises JournalDamaged at one that cannot be read."""
        for row in self.all_rows(upto):
            yield self._entry(row)

    def check_pages(self) -> None:
        """Look at every page of the file, though not at what is on it. Raises JournalDamaged."""
        with self._question:
            problems = self._store.problems(quick=True)
        if problems:
            raise damage_error(problems[0])

    def database_problems(self) -> list[tuple[int, str, str]]:
        """What the database itself finds wrong: the seq (0: the file), the rule, and what."""
        with self._question:
            found = [(0, "file", text) for text in self._store.problems()]
            for seq, key in self._store.doubled():
                found.append((seq, "key", f"the key {key} was there before"))
        return found

    def folded_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The folded tables, row by row: what a replay must give again."""
        with self._question:
            return {table: self._store.folded(table) for table in folded_kinds(self.kinds)}

    def _of_all(self, rows: Iterable[Stored]) -> list[Entry[Any]]:
        """What concerns more than one thread."""
        if self._leaves_out_damage:
            return list(self._sound(rows))
        return self._entries(rows)

    def _sound(self, rows: Iterable[Stored]) -> Iterator[Entry[Any]]:
        for row in rows:
            try:
                yield self._entry(row)
            except JournalDamaged as damage:
                self._found(damage)

    def _entries(self, rows: Iterable[Stored]) -> list[Entry[Any]]:
        return [self._entry(row) for row in rows]

    def _entry(self, row: Stored) -> Entry[Any]:
        try:
            return entry_from_row(row, self.kinds)
        except ValueError as error:
            raise JournalDamaged(
                f"The entry {row[0]} cannot be read ({error})."
                f" `python -m daemon verify` names all that is damaged; {RESTORE}."
            ) from error

    def _found(self, damage: JournalDamaged) -> None:
        """What a live journal remembers."""


class QueryGuard:
    """While inside, something is asked of the file: what goes wrong with it is a JournalError.

    A class, not a generator: that would cost as much as a small question does.
    """

    __slots__ = ("_found",)

    def __init__(self, found: Callable[[JournalDamaged], None]) -> None:
        self._found = found

    def __enter__(self) -> None:
        """There is nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        wrong = error
        if isinstance(error, sqlite3.Error):
            wrong = journal_error(error)
        if isinstance(wrong, JournalDamaged):
            self._found(wrong)
        if wrong is not error:
            raise wrong from error


@contextmanager
def open_reader(
    path: Path, kinds: Iterable[type[Event]], *, snapshot: bool = True
) -> Iterator[JournalReader]:
    """Open the journal at this path so that nothing can be written to it.

    Takes no lock: a program may write to it meanwhile. What is read is of the moment of opening, or without
    `snapshot` of the moment of each question: for whoever may pause between two of them.
    Raises JournalError where there is no journal.
    """
    store = open_readonly(path, snapshot=snapshot)
    try:
        yield JournalReader(store, with_engine_kinds(kinds))
    finally:
        store.close()
