"""Reader of a journal, which another program may write at the same time.

Queries for an event class also find its subclasses. Damaged entries raise JournalDamaged, or are skipped.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from daemon.engine.event import Entry, Event, EventCodec, Input, restarted_path, root_of
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
"""Seq beyond all others."""


class EntryHead(NamedTuple):
    seq: int
    thread: str
    kind: str
    closes: tuple[int, ...]


class JournalReader:
    """Queries on entries and projections. They raise JournalError, or JournalDamaged for damaged entries."""

    _skips_damage = False
    """True if queries over several threads skip damaged entries."""

    def __init__(self, store: JournalTables, kinds: EventCodec) -> None:
        self._store = store
        self._query_guard = QueryGuard(self._found)
        self.kinds = kinds
        self._first_time: tuple[int, int, float | None, float] = (0, 0, None, 0.0)
        """First and last seq (excluded) for which `first_time_after` has an answer, the answer, and its
        `now`.
        """
        self.erasures = 0

    def get(self, key: str) -> Entry[Event] | None:
        with self._query_guard:
            found = self._store.get(key)
            if found is None:
                return None
            return self._entry(found)

    def seq_of(self, key: str) -> int:
        """Return the seq of the entry with this key, which may be damaged; 0 if there is none."""
        with self._query_guard:
            return self._store.seq_of(key) or 0

    def entry(self, seq: int) -> Entry[Any]:
        return self.entries_at([seq])[0]

    def entries_at(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """Return the entries with these seqs, in the same order. Raises KeyError."""
        if not seqs:
            return []
        with self._query_guard:
            found = {row[0]: self._entry(row) for row in self._store.at_seqs(seqs)}
        return [found[seq] for seq in seqs]

    def entries_under(self, path: str) -> list[Entry[Event]]:
        """Return the entries with keys under `path/`."""
        with self._query_guard:
            return self._entries(self._store.under(path))

    def entries_of_step(self, key: str) -> list[Entry[Event]]:
        """Return the entries that are parts of the step with this key."""
        with self._query_guard:
            return self._entries(self._store.parts(key))

    def execution_paths(self, execution: str) -> list[str]:
        found = [execution]
        while self.get(f"{found[-1]}/restarted"):
            found.append(restarted_path(execution, len(found)))
        return found

    def execution_entries(self, execution: str) -> list[Entry[Event]]:
        """Return the entries of an execution and its restarts, without the report of its end."""
        found = list[Entry[Event]]()
        for path in self.execution_paths(execution):
            found += self.entries_under(path)
        return found

    def thread_entries(
        self, thread: str, *kinds: type[E], since: int = 0, most: int | None = None
    ) -> list[Entry[E]]:
        """Return a thread's entries of these kinds (default: all) after `since`, at most the first `most`."""
        names = self.kinds.kind_names(kinds)
        with self._query_guard:
            return self._entries(self._store.of_thread(thread, names, since, most))

    def tree_entries(self, root: str, *kinds: type[E], since: int = 0) -> list[Entry[E]]:
        """Return entries of these kinds (default: all) after `since`, of a thread and its descendants."""
        names = self.kinds.kind_names(kinds)
        with self._query_guard:
            rows = [
                *self._store.of_thread(root, names, since),
                *self._store.of_descendants(root, names, since),
            ]
            return self._entries_of_threads(sorted(rows))

    def latest_of_kind(self, thread: str, kind: type[E], before: int = ALWAYS) -> Entry[E] | None:
        with self._query_guard:
            found = self._latest(thread, kind, before)
            if found is None:
                return None
            return self._entry(found)

    def count_before(self, thread: str, *kinds: type[Event], before: int = ALWAYS) -> int:
        with self._query_guard:
            return self._store.count(thread, self.kinds.kind_names(kinds), before)

    def latest_first(self, thread: str, kind: type[E], before: int = ALWAYS) -> Iterator[Entry[E]]:
        """Yield the thread's entries of this kind before the seq `before`, newest first."""
        with self._query_guard:
            found = self._latest(thread, kind, before)
            while found:
                yield from self._entries_of_threads([found])
                found = self._latest(thread, kind, before=found[0])

    def last_seq(self, thread: str, kind: type[Event]) -> int:
        """Return the seq of the thread's last entry of this kind, which may be damaged; 0
        if there is none.
        """
        with self._query_guard:
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
        """Return the entries of these kinds after `since`, dated `at` or later."""
        names = self.kinds.kind_names(kinds)
        with self._query_guard:
            return self._entries_of_threads(self._store.of_kinds(names, since, at))

    def change_counter(self, *kinds: type[Event]) -> int:
        """Return a number that changes with each new entry of these kinds."""
        return self.last_seq_of_all()

    def seqs_of_kind(self, *kinds: type[Event], since: int = 0, upto: int = ALWAYS) -> list[int]:
        """Return the seqs of the entries of these kinds after `since` up to `upto`."""
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._query_guard:
            return self._store.seqs_of_kinds(self.kinds.kind_names(kinds), since, upto)

    def fields_of_kind(
        self,
        kinds: Sequence[type[Event]],
        paths: Sequence[str],
        *,
        since: int = 0,
        upto: int = ALWAYS,
        at: float = 0.0,
    ) -> list[tuple[Any, ...]]:
        """Return (seq, thread, kind, at, values) of entries of these kinds after `since` up to `upto`.

        `values` is a JSON list, for at least two `paths` like `$.usage.input`. Damage is not noticed.
        """
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._query_guard:
            return self._store.fields(self.kinds.kind_names(kinds), paths, since, upto, at)

    def fields_opened_under(
        self, prefix: str, kinds: Sequence[type[Event]], paths: Sequence[str], since: int, upto: int
    ) -> list[tuple[Any, ...]]:
        """Return rows as `fields_of_kind` does, of threads that were opened under a key with this prefix."""
        with self._query_guard:
            return self._store.fields_below(prefix, self.kinds.kind_names(kinds), paths, since, upto)

    def threads_opened_under(self, prefix: str) -> list[str]:
        """Return the threads that were opened under a key with this prefix, latest first."""
        with self._query_guard:
            return self._store.threads_below(prefix)

    def last_entry_under(self, prefix: str, before: int = ALWAYS) -> Entry[Any] | None:
        """Return the last entry before the seq `before` whose key has this prefix."""
        with self._query_guard:
            while found := self._store.last_below(prefix, before):
                for entry in self._entries_of_threads([found]):
                    return entry
                before = found[0]
        return None

    def entries_containing(
        self, text: str, *kinds: type[E], since: int = 0, upto: int = ALWAYS
    ) -> list[Entry[E]]:
        """Return the entries of these kinds after `since` up to `upto` that contain this text as a JSON
        string.
        """
        if upto == ALWAYS:
            upto = self.last_seq_of_all()
        with self._query_guard:
            names = self.kinds.kind_names(kinds)
            return self._entries_of_threads(self._store.containing(names, json.dumps(text), since, upto))

    def readable_entries(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """Return the entries with these seqs, in ascending order. Missing ones are left out."""
        with self._query_guard:
            return self._entries_of_threads(self._store.at_seqs(seqs))

    def entries_between(self, since: int, upto: int, *kinds: type[Event]) -> list[Entry[Any]]:
        """Return the entries of these kinds after `since` up to `upto`."""
        names = self.kinds.kind_names(kinds)
        with self._query_guard:
            return self._entries_of_threads(self._store.between(since, upto, names))

    def recently_active(
        self, root: type[E], active: Sequence[type[Event]], at: float
    ) -> Iterator[tuple[Entry[E], float]]:
        """Yield the `root` entry and latest time of each thread that has `active` entries since `at`, latest
        first.

        The query reads all entries since `at`: use a background reader.
        """
        roots, names = self.kinds.kind_names([root]), self.kinds.kind_names(active)
        with self._query_guard:
            for row, last in self._store.recently_active(roots, names, at):
                for entry in self._readable([row]):
                    yield entry, last

    def pending_entries(self, *kinds: type[E], thread: str | None = None) -> list[Entry[E]]:
        """Return the pending entries of these kinds (default: all), in this thread or (None) in all."""
        names = self.kinds.kind_names(kinds or [Event])
        with self._query_guard:
            rows = self._store.pending(names, thread)
            if thread is None:
                return self._entries_of_threads(rows)
            return self._entries(rows)

    def pending_seqs(self, *kinds: type[Event]) -> list[int]:
        """Return the seqs of the pending entries of these kinds."""
        with self._query_guard:
            return self._store.pending_seqs(self.kinds.kind_names(kinds))

    def pending_inputs(self, thread: str) -> list[Entry[Input]]:
        return self.pending_entries(Input, thread=thread)

    def threads_with_pending(self, *kinds: type[Event], root: str = "") -> list[str]:
        """Return the threads with pending entries of these kinds, longest waiting first.

        No bodies are read, so damage in one thread does not block others.
        """
        with self._query_guard:
            found = self._store.threads_with_pending(self.kinds.kind_names(kinds), root)
        return [thread for thread in found if not root or root_of(thread) == root]

    def busy_threads(self, root: str = "") -> list[str]:
        """Return the threads (of a tree) with pending inputs or an unfinished turn."""
        return self.threads_with_pending(Input, TurnBegan, root=root)

    def is_pending(self, seq: int) -> bool:
        with self._query_guard:
            return self._store.is_pending(seq)

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        if not seqs:
            return []
        with self._query_guard:
            return self._store.still_pending(seqs)

    def holds_lease(self, thread: str, epoch: int) -> bool:
        """True if the attempt that began with the entry `epoch` has the thread's lease."""
        return self.lease_epoch(thread) == epoch

    def lease_epoch(self, thread: str) -> int | None:
        """Return the seq of the first entry of the attempt that has the thread's lease; None without any."""
        with self._query_guard:
            return self._store.epoch(thread)

    def latest_attempts(self, since: int) -> list[tuple[str, int]]:
        """Return the threads that an attempt has leased after `since`, each with the attempt's seq."""
        with self._query_guard:
            return self._store.latest_attempts(since)

    def entries_since(self, seq: int, limit: int = 1000) -> list[Entry[Event]]:
        """Return up to `limit` entries after this seq, without damaged ones."""
        with self._query_guard, closing(self._store.after(seq)) as rows:
            return list(islice(self._readable(rows), limit))

    def heads_since(self, seq: int, limit: int = 1000) -> list[EntryHead]:
        with self._query_guard:
            rows = self._store.heads(seq, limit)
        return [EntryHead(seq, thread, kind, parse_seqs(closes) or ()) for seq, thread, kind, closes in rows]

    def last_seq_of_all(self) -> int:
        """Return the newest seq; 0 in an empty journal."""
        with self._query_guard:
            return self._store.last()

    def first_time_after(self, seq: int, now: float) -> float | None:
        """Return the time of the first entry after `seq` not dated later than `now`, or None.

        Ask for the lowest seq first: the result is cached for higher ones.
        """
        since, until, at, then = self._first_time
        lasts = at is not None and at <= now
        if at is None:
            lasts = now == then and self.last_seq_of_all() + 1 == until
        if not (lasts and since <= seq < until):
            with self._query_guard:
                found = self._store.first_after(seq, now)
            until, at = found or (self.last_seq_of_all() + 1, None)
            self._first_time = (seq, until, at, now)
        return at

    def all_rows(self, upto: int = ALWAYS) -> Iterator[Stored]:
        with self._query_guard:
            yield from self._store.rows(upto)

    def all_rows_with_digests(self) -> Iterator[tuple[Stored, object]]:
        with self._query_guard:
            yield from self._store.rows_and_digests()

    def undigested_span(self) -> tuple[int, int] | None:
        with self._query_guard:
            return self._store.undigested()

    def all_entries(self, upto: int = ALWAYS) -> Iterator[Entry[Event]]:
        for row in self.all_rows(upto):
            yield self._entry(row)

    def check_pages(self) -> None:
        """Check the pages of the file, but not its entries. Raises JournalDamaged."""
        with self._query_guard:
            problems = self._store.problems(quick=True)
        if problems:
            raise damage_error(problems[0])

    def database_problems(self) -> list[tuple[int, str, str]]:
        """Return the problems that SQLite finds, as (seq or 0, rule, text)."""
        with self._query_guard:
            found = [(0, "file", text) for text in self._store.problems()]
            for seq, key in self._store.duplicate_keys():
                found.append((seq, "key", f"the key {key} was there before"))
        return found

    def folded_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        with self._query_guard:
            return {table: self._store.folded(table) for table in folded_kinds(self.kinds)}

    def _entries_of_threads(self, rows: Iterable[Stored]) -> list[Entry[Any]]:
        if self._skips_damage:
            return list(self._readable(rows))
        return self._entries(rows)

    def _readable(self, rows: Iterable[Stored]) -> Iterator[Entry[Any]]:
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

    def _found(self, damage: JournalDamaged) -> None: ...


class QueryGuard:
    """Context manager that turns SQLite's errors into JournalError.

    A class, since a generator costs as much as a small query.
    """

    __slots__ = ("_found",)

    def __init__(self, found: Callable[[JournalDamaged], None]) -> None:
        self._found = found

    def __enter__(self) -> None: ...

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
    """Open a journal for reading, without the lock. Raises JournalError.

    With `snapshot`, all queries see the moment of opening; without it, each sees its own.
    """
    store = open_readonly(path, snapshot=snapshot)
    try:
        yield JournalReader(store, with_engine_kinds(kinds))
    finally:
        store.close()
