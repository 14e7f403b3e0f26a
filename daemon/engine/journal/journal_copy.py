"""Copy of the log in SQLite, of one daemon: folded in the log's order, and read as any journal is.

A copy is never repaired: one that is damaged, or of another log, is made anew.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from daemon.engine.exceptions import CopyAhead, JournalDamaged, JournalError
from daemon.engine.journal.journal_file import open_store
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.rows import (
    EntryRow,
    JournalTables,
    Stored,
    WrittenRow,
    delete_database,
    digest_of_row,
    index_path,
)
from daemon.engine.journal.writer import WritableTables

log = logging.getLogger(__name__)

COPY_MARK = "create table if not exists copy_of(log text not null)"


class JournalCopy:
    """Copy that its writer and its follower fold; who folds holds `folding`."""

    def __init__(self, store: WritableTables) -> None:
        self._store = store
        self.folding = threading.RLock()
        self.upto = store.last()
        """Seq of the last entry that it has."""

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
            store.commit()
        except BaseException:
            store.rollback()
            raise
        self.upto = rows[-1].seq
        return rows


def open_copy(path: Path, shared: PostgresLog) -> WritableTables:
    """Open the copy of this log, or make it anew. Raises CopyAhead, JournalError and psycopg.Error."""
    why = why_unusable(path, shared)
    if why:
        log.warning("The copy of the log in %s is made anew: %s.", path, why)
        delete_database(path)
        delete_database(index_path(path))
    store = open_store(path)
    connection = store.connection
    connection.execute(COPY_MARK)
    if copied_log(store) is None:
        connection.execute("insert into copy_of values(?)", (shared.log_id(),))
    connection.execute("pragma synchronous = normal")  # what is lost of a copy is copied again
    return store


def copied_log(store: JournalTables) -> str | None:
    """Return the id of the log that these tables are a copy of; None if they are a journal of their own."""
    try:
        found = store.connection.execute("select log from copy_of").fetchone()
    except sqlite3.OperationalError:
        return None
    return found[0] if found else None


def why_unusable(path: Path, shared: PostgresLog) -> str:
    """Return why the file cannot go on as a copy of this log; empty if it can, or does not exist.

    Raises CopyAhead if the log lacks entries of the copy.
    """
    if not path.exists() or path.stat().st_size == 0:
        return ""
    try:
        store = open_store(path)
    except JournalDamaged as damage:
        return str(damage)
    with closing(store):
        if copied_log(store) not in (None, shared.log_id()):
            return "it is a copy of another log"
        try:
            return _difference(store, shared)
        except (sqlite3.Error, ValueError) as error:
            return f"it is damaged ({error})"


def _difference(store: WritableTables, shared: PostgresLog) -> str:
    last, there = store.last(), shared.last()
    if last > there:
        raise CopyAhead(
            f"The log lacks {last - there} entries that the copy {store.path} has: its database lost commits."
            " Stop all daemons, and run `python -m daemon move --to URL --tail` where the copy is"
            " that has most of them: it writes them back."
        )
    if last == 0:
        return ""
    [row] = store.at_seqs([last])
    [written] = shared.rows_after(last - 1, 1)
    if digest_of_row(row) != digest_of_row(stored(written.seq, written.row)):
        return f"its entry {last} differs from the log's"
    return ""


def stored(seq: int, row: EntryRow) -> Stored:
    """Return a row as SQLite stores it."""
    closes = f"[{', '.join(map(str, row.closes))}]"
    return (seq, row.thread, row.kind, row.author, row.body, row.key, row.cause, closes, float(row.at))
