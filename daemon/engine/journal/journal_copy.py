"""Copy of the log in SQLite, of one daemon: folded in the log's order, and read as any journal is.

A copy is never repaired: one that is damaged, or of another log, is made anew.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from daemon.engine.event import EventCodec
from daemon.engine.exceptions import CopyAhead, JournalDamaged, JournalError, JournalMisplaced
from daemon.engine.journal.copy_mark import copied_log, mark_as_copy
from daemon.engine.journal.journal_file import folded_kinds, is_damage, make_private, open_store
from daemon.engine.journal.log_erasing import forget_in_copy
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.rows import (
    EntryRow,
    JournalTables,
    Stored,
    WrittenRow,
    delete_database,
    digest_of_row,
    index_path,
    parse_seqs,
)
from daemon.engine.journal.writer import WritableTables
from daemon.engine.kinds import EntriesForgotten

log = logging.getLogger(__name__)


class JournalCopy:
    """Copy that its writer and its follower fold; who folds holds `folding`.

    It blanks what an entry of forgetting names when it folds that entry.
    """

    def __init__(self, store: WritableTables, kinds: EventCodec, machine: str) -> None:
        self._store = store
        self._machine = machine
        self._kinds = kinds
        self._file = _file_id(store.path)
        self.folding = threading.RLock()
        self.upto = store.last()
        """Seq of the last entry that it has."""
        self.is_reported = False
        """True if the log knows that the file holds no forgotten words."""

    @contextmanager
    def held(self, seconds: float) -> Iterator[bool]:
        """Hold `folding`, if it is free within this time; yield if so."""
        held = self.folding.acquire(timeout=seconds)
        try:
            yield held
        finally:
            if held:
                self.folding.release()

    def catch_up(self, log: PostgresLog, upto: int) -> list[WrittenRow]:
        """Fold all rows up to this seq; return them. Raises psycopg.Error and sqlite3.Error."""
        came = list[WrittenRow]()
        while self.upto < upto:
            rows = log.rows_after(self.upto)
            if not rows:
                break
            self.fold(rows)
            came += rows
        return came

    def fold(self, rows: Sequence[WrittenRow]) -> Sequence[WrittenRow]:
        """Add the next rows in one transaction, and return them. Raises sqlite3.Error, without changes."""
        if not rows:
            return rows
        if rows[0].seq != self.upto + 1:
            raise JournalError(f"expected the entry {self.upto + 1} of the log, got {rows[0].seq}")
        store = self._store
        try:
            store.begin()
            for one in rows:
                if store.insert(one.row, one.seq) is None:
                    raise JournalDamaged(f"The copy has another entry in the place of {one.seq}.")
                if one.row.kind == EntriesForgotten.kind:
                    self._forget(one)
            store.commit()
        except BaseException:
            store.rollback()
            raise
        self.upto = rows[-1].seq
        return rows

    def _forget(self, forgotten: WrittenRow) -> None:
        self.is_reported = False
        if forget_in_copy(self._store, self._kinds, forgotten):
            self._store.connection.execute("insert or ignore into copy_uncleared values(?)", (forgotten.seq,))

    def finish_forgetting(self) -> None:
        """Blank what a journal that became a copy had still to forget. Raises sqlite3.Error."""
        self._store.begin()
        for seq in self.unerased():
            [row] = self._store.at_seqs([seq])
            self._forget(_written(row))
        self._store.commit()

    def clear(self, log: PostgresLog) -> None:
        """Remove forgotten words from the file, delete its index, and report it to the log.

        Raises sqlite3.Error, OSError and psycopg.Error.
        """
        connection = self._store.connection
        if connection.execute("select 1 from copy_uncleared").fetchone():
            self._store.scrub()
            connection.execute("delete from copy_uncleared")
        log.report_cleared(self._machine, self.upto)
        self.is_reported = True

    def unerased(self) -> Sequence[int]:
        """Return the entries of forgetting whose words are somewhere yet."""
        return self._store.pending_seqs([EntriesForgotten.kind])

    def check_file(self) -> None:
        """Raise JournalDamaged if somebody has deleted or replaced the file."""
        path = self._store.path
        if _file_id(path) != self._file:
            raise JournalDamaged(
                f"The copy of the log in {path} was deleted or replaced while its daemon ran. Nothing is"
                " lost: the next start makes it anew from the log."
            )

    def check_log(self, log: PostgresLog) -> None:
        """Raise CopyAhead if the log has lost entries that this copy has, JournalDamaged if it has others."""
        there = log.last()
        if self.upto > there:
            log.note_ahead(self._machine, self.upto)
            raise copy_ahead(self._store, there)
        why = "" if copied_log(self._store) == log.log_id() else "it is of another log"
        why = why or _difference(self._store, log)
        if why:
            raise JournalDamaged(
                f"The copy {self._store.path} cannot follow the log any more: {why}."
                " The next start makes it anew."
            )


@contextmanager
def raise_damage() -> Iterator[None]:
    """Turn SQLite's errors about a damaged file into JournalDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        raise JournalDamaged(
            f"The copy of the log is damaged ({error}). Nothing is lost: the next start makes it anew."
        ) from error


SQLITE_MAGIC = b"SQLite format 3\0"


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a SQLite file; None if there is none."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if file.read(len(SQLITE_MAGIC)) != SQLITE_MAGIC:
                return None
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_copy(path: Path, shared: PostgresLog, kinds: EventCodec, machine: str) -> WritableTables:
    """Open the copy of this log, or make it anew; the log knows of it before it holds a word.

    Raises CopyAhead, JournalError and psycopg.Error.
    """
    try:
        why = why_unusable(path, shared, kinds, machine)
    except CopyAhead as ahead:
        shared.note_ahead(machine, ahead.last)
        raise
    shared.register_copy(machine)
    if why:
        log.warning("The copy of the log in %s is made anew: %s.", path, why)
    if why or _is_empty(path):
        delete_database(path)
        delete_database(index_path(path))
        make_private(path)
    store = open_store(path)
    connection = store.connection
    mark_as_copy(connection, shared.log_id())
    connection.execute("pragma synchronous = normal")  # what is lost of a copy is copied again
    return store


def _is_empty(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def why_unusable(path: Path, shared: PostgresLog, kinds: EventCodec, machine: str) -> str:
    """Return why the file cannot go on as a copy of this log; empty if it can, or does not exist.

    Raises CopyAhead if the log lacks entries of the copy, JournalMisplaced for a journal of its own.
    """
    if _is_empty(path):
        return ""
    try:
        store = open_store(path)
        copied_log(store)
    except (sqlite3.DatabaseError, JournalError) as error:
        if not is_damage(error):
            raise
        if shared.has_copy(machine):
            return f"it is damaged ({error})"
        return _keep_unreadable(path, error)
    with closing(store):
        try:
            why = why_of_another_log(store, shared)
            diverged = store.last() if why and copied_log(store) == shared.log_id() else 0
            why = why or _wrong_table(store, kinds)
        except (sqlite3.Error, ValueError) as error:
            return f"it is damaged ({error})"
    return _keep_diverged(path, why, diverged) if diverged else why


def why_of_another_log(tables: JournalTables, shared: PostgresLog) -> str:
    """Return why these tables are no copy of this log; empty if they are, up to some entry.

    Raises CopyAhead if the log lacks entries of them, JournalMisplaced for a journal of its own.
    """
    origin = copied_log(tables)
    if origin is None:
        _check_moved(tables, shared)
    elif origin != shared.log_id() and shared.last():  # an empty log may have lost what the copy has
        return "it is a copy of another log"
    return _difference(tables, shared)


def _wrong_table(store: WritableTables, kinds: EventCodec) -> str:
    for table, names in folded_kinds(kinds).items():
        if set(store.folded(table)) != set(store.replay(table, names)):
            return f"its table {table} is not what its entries say"
    return ""


def _keep_unreadable(path: Path, damage: Exception) -> str:
    """Move a file aside that may be a journal of its own; return why it cannot go on."""
    aside = path.with_name(f"{path.name}.unreadable")
    path.replace(aside)
    return f"it is damaged ({damage}); it is kept as {aside}: delete it unless it was a journal of its own"


def _keep_diverged(path: Path, why: str, last: int) -> str:
    """Move a copy aside whose last entries the log may have lost; return why it cannot go on."""
    aside = path.with_name(f"{path.name}.diverged-{last}")
    path.replace(aside)
    return f"{why}; it is kept as {aside}: the log may have lost entries of it. Delete it if none is needed"


def not_moved_sentence(path: Path) -> str:
    return (
        f"DATABASE_URL is set, and {path} is a journal that was never moved there: the soul would have"
        " forgotten everything. Stop its daemon, and run `python -m daemon move --to URL`; or leave"
        " DATABASE_URL out."
    )


def _check_moved(store: JournalTables, shared: PostgresLog) -> None:
    """Raise JournalMisplaced unless the log begins with all the entries of this journal.

    So it is if a move was killed between its last two steps, or if a backup was put back.
    """
    last = store.last()
    if last and (last > shared.last() or _difference(store, shared)):
        raise JournalMisplaced(not_moved_sentence(store.path))


def _difference(store: JournalTables, shared: PostgresLog) -> str:
    last, newest = store.last(), shared.last()
    if last > newest:
        raise copy_ahead(store, newest)
    if last == 0:
        return ""
    [row] = store.at_seqs([last])
    [written] = shared.rows_after(last - 1, 1)
    there = stored(written.seq, written.row)
    if digest_of_row(row) == digest_of_row(there):
        return ""
    if shared.forgets_after(last) and _without_words(row) == _without_words(there):
        return ""  # the log has forgotten words that this copy forgets as soon as it follows
    return f"its entry {last} differs from the log's"


def _without_words(row: Stored) -> Sequence[object]:
    """Return what forgetting leaves as it is: all but body and key."""
    seq, thread, kind, author, _, _, cause, closes, at = row
    return seq, thread, kind, author, cause, closes, at


def _written(row: Stored) -> WrittenRow:
    seq, thread, kind, author, body, key, cause, closes, at = row
    entry = EntryRow(
        thread=thread,
        kind=kind,
        author=author,
        body=body,
        key=key,
        cause=cause,
        closes=parse_seqs(closes) or (),
        moot=(),
        at=at,
        pending=True,
        leases=False,
    )
    return WrittenRow(seq=seq, row=entry)


def stored(seq: int, row: EntryRow) -> Stored:
    """Return a row as SQLite stores it."""
    closes = f"[{', '.join(map(str, row.closes))}]"
    return (seq, row.thread, row.kind, row.author, row.body, row.key, row.cause, closes, float(row.at))


def copy_ahead(store: JournalTables, there: int) -> CopyAhead:
    last = store.last()
    return CopyAhead(
        f"The log lacks {last - there} entries that the copy {store.path} has: its database lost commits."
        " Stop all daemons, and run `python -m daemon move --to URL --tail` where the copy is"
        " that has most of them: it writes them back.",
        last,
    )
