"""The journal's tables in SQLite, and every statement that is run on them.

`entry` is the journal. `pending` and `lease` are folded from it in the transaction that appends, and can be
rebuilt by a replay. A store is one connection; it knows rows, not events.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from daemon.engine.exceptions import JournalError

VERSION = 2
"""Of the tables. Another one is refused."""

TABLES = """
create table entry(
  seq integer primary key, thread text not null, kind text not null, author text not null, body text not null,
  key text not null unique, cause integer, closes text not null, at real not null);
create index entry_by_thread on entry(thread, kind, seq);
create index entry_by_kind on entry(kind, seq);
create table pending(seq integer primary key, thread text not null, kind text not null);
create index pending_by_kind on pending(kind, thread);
create table lease(thread text primary key, epoch integer not null);
"""

ROW = "seq, thread, kind, author, body, key, cause, closes, at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An entry as it stands in the file. `pending` and `leases` say what it changes in the folded tables."""

    thread: str
    kind: str
    author: str
    body: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    at: float
    pending: bool
    leases: bool


Stored = tuple[int, str, str, str, str, str, int | None, str, float]
"""A row that was read, in the order of ROW."""


class Store:
    """One connection to the tables. Raises sqlite3.Error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def close(self) -> None:
        self._db.close()

    # Writing

    def begin(self) -> None:
        self._db.execute("begin immediate")

    def commit(self) -> None:
        self._db.execute("commit")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("rollback")

    def insert(self, row: Row) -> int | None:
        """Insert the row and fold it; returns its seq, or None where its key is there already."""
        found = self._db.execute(
            "insert into entry(thread, kind, author, body, key, cause, closes, at)"
            " values(?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict(key) do nothing returning seq",
            (row.thread, row.kind, row.author, row.body, row.key, row.cause, json.dumps(row.closes), row.at),
        ).fetchone()
        if found is None:
            return None
        seq: int = found[0]
        self._fold(seq, row)
        return seq

    def _fold(self, seq: int, row: Row) -> None:
        if row.pending:
            self._db.execute("insert into pending values(?, ?, ?)", (seq, row.thread, row.kind))
        if row.leases:
            self._db.execute("insert or replace into lease values(?, ?)", (row.thread, seq))
        for closed in row.closes:
            self._db.execute("delete from pending where seq = ?", (closed,))

    # Reading the folded tables

    def epoch(self, thread: str) -> int | None:
        """The seq of the attempt that holds this thread."""
        found = self._db.execute("select epoch from lease where thread = ?", (thread,)).fetchone()
        return found[0] if found else None

    def is_pending(self, seq: int) -> bool:
        """Has no later entry closed it?"""
        return self._db.execute("select 1 from pending where seq = ?", (seq,)).fetchone() is not None

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        """Those of these entries that no later one has closed."""
        found = self._db.execute(
            "select seq from pending where seq in (select value from json_each(?)) order by seq",
            (json.dumps(seqs),),
        )
        return [seq for (seq,) in found]

    def pending(self, kinds: Iterable[str], thread: str | None = None) -> list[Stored]:
        """The pending entries of these kinds, of one thread or of all, in order."""
        if thread is None:
            return self._rows(
                "seq in (select seq from pending where kind in (select value from json_each(?)))",
                _json(kinds),
            )
        return self._rows(
            "seq in (select seq from pending where kind in (select value from json_each(?)) and thread = ?)",
            _json(kinds),
            thread,
        )

    def waiting_threads(self, kinds: Iterable[str]) -> list[str]:
        """The threads in which an entry of one of these kinds is pending."""
        found = self._db.execute(
            "select distinct thread from pending where kind in (select value from json_each(?))",
            (_json(kinds),),
        )
        return [thread for (thread,) in found]

    # Reading entries

    def get(self, key: str) -> Stored | None:
        found = self._rows("key = ?", key)
        return found[0] if found else None

    def many(self, seqs: Sequence[int]) -> list[Stored]:
        """The entries of these seqs that are there, in order of seq."""
        return self._rows("seq in (select value from json_each(?))", json.dumps(list(seqs)))

    def under(self, path: str) -> list[Stored]:
        """The entries whose key begins with `path/`."""
        return self._rows("key >= ? and key < ?", f"{path}/", f"{path}0")  # "0" follows "/"

    def parts(self, key: str) -> list[Stored]:
        """The entries whose key begins with `key!`."""
        return self._rows("key >= ? and key < ?", f"{key}!", f'{key}"')  # '"' follows "!"

    def of(self, thread: str, kinds: Iterable[str], since: int = 0) -> list[Stored]:
        """A thread's entries of these kinds after a seq; of all kinds where none is named."""
        names = list(kinds)
        if not names:
            return self._rows("thread = ? and seq > ?", thread, since)
        return self._rows(
            "thread = ? and kind in (select value from json_each(?)) and seq > ?", thread, _json(names), since
        )

    def below(self, thread: str, kinds: Iterable[str], since: int = 0) -> list[Stored]:
        """The entries of these kinds of all threads under this one, after a seq."""
        return self._rows(
            "thread >= ? and thread < ? and kind in (select value from json_each(?)) and seq > ?",
            f"{thread}.",
            f"{thread}/",  # "/" follows "."
            _json(kinds),
            since,
        )

    def kind(self, kinds: Iterable[str], since: int = 0) -> list[Stored]:
        """All entries of these kinds after a seq."""
        return self._rows("kind in (select value from json_each(?)) and seq > ?", _json(kinds), since)

    def since(self, seq: int, limit: int) -> list[Stored]:
        """The entries after this seq, oldest first."""
        return self._rows("seq > ?", seq, limit=limit)

    def last(self) -> int:
        """The newest seq; 0 where there is none."""
        return self._db.execute("select max(seq) from entry").fetchone()[0] or 0

    def _rows(self, where: str, *values: object, limit: int = -1) -> list[Stored]:
        text = f"select {ROW} from entry where {where} order by seq limit {limit}"
        return self._db.execute(text, values).fetchall()

    # Looking at all of it

    def every(self) -> Iterator[Stored]:
        """Every entry, in order; few of them are in memory at once."""
        yield from self._db.execute(f"select {ROW} from entry order by seq")

    def folded(self) -> tuple[dict[int, tuple[str, str]], dict[str, int]]:
        """The folded tables: each pending seq with its thread and kind, and each thread's lease."""
        pending = self._db.execute("select seq, thread, kind from pending")
        leases = self._db.execute("select thread, epoch from lease")
        return {seq: (thread, kind) for seq, thread, kind in pending}, dict(leases)

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        found = [text for (text,) in self._db.execute("pragma integrity_check")]
        return [text for text in found if text != "ok"]


def open_store(path: Path) -> Store:
    """The tables in this file, made where there are none. Raises JournalError for what is no journal."""
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2.0)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        _prepare(connection, path)
    except sqlite3.Error as error:
        raise JournalError(
            f"{path} cannot be opened as a journal ({error})."
            " Put a copy back, or move it away to begin a new one."
        ) from error
    return Store(connection)


def open_readonly(path: Path) -> Store:
    """The same, so that nothing can be written; all that is read is of one moment."""
    if not path.is_file():
        raise JournalError(f"There is no journal at {path}. Name the file, or start the daemon to make one.")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
        connection.execute("begin")
        _check_version(connection, path)
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be read as a journal ({error}).") from error
    return Store(connection)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("begin immediate")
    empty = connection.execute("select count(*) from sqlite_master").fetchone() == (0,)
    if empty:
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {VERSION}")
    else:
        _check_version(connection, path)
    connection.execute("commit")


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    [version] = connection.execute("pragma user_version").fetchone()
    if version != VERSION:
        raise JournalError(
            f"{path} has tables of version {version}; this program reads version {VERSION}."
            " Move the file away to begin a new journal, or run the version that wrote it."
        )


def _json(names: Iterable[str]) -> str:
    return json.dumps(list(names))
