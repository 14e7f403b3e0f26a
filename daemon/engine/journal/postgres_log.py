"""Connection to the log, which alone decides what is written and in which order."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from daemon.engine.journal.log_locks import LogLock
from daemon.engine.journal.log_schema import APPEND, LOG_TABLES, LOG_VERSION
from daemon.engine.journal.rows import EntryRow, WrittenRow
from daemon.engine.journal.writer import PendingAppend
from daemon.engine.kinds import EntriesForgotten

Connection = psycopg.Connection[tuple[Any, ...]]

COLUMNS = "seq, thread, kind, author, body, key, cause, closes, at, pending, leases"

SOCKET_OPTIONS: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5_000,
}
"""Options that notice a dead network within about five seconds (`tcp_user_timeout` is in milliseconds)."""

STATEMENT_TIMEOUT = "60s"
"""Bound of a statement. An append waits while the table is rewritten, which takes seconds."""

ROWS_AT_ONCE = 500
"""Rows that are read at once."""

BYTES_AT_ONCE = 16_000_000
"""Bytes of bodies that are read at once, unless one row has more."""

ROWS_AFTER = f"""
    select {COLUMNS} from (
      select *, sum(octet_length(body)) over (order by seq rows unbounded preceding) as size
      from entry where seq > %(seq)s order by seq limit %(limit)s) part
    where size <= %(bytes)s or seq = %(seq)s + 1 order by seq"""

AWAY = (
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.QueryCanceled,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
)
"""Errors of a server that cannot write for now: it counts as away, though its connection works."""


def connect(url: str, name: str) -> Connection:
    """Connect to the log; each statement is a transaction of its own. Raises psycopg.Error."""
    connection = psycopg.connect(
        url, autocommit=True, application_name=name, row_factory=tuple_row, **SOCKET_OPTIONS
    )
    connection.execute(f"set statement_timeout = '{STATEMENT_TIMEOUT}'")
    return connection


def away_reason(error: Exception) -> str:
    """Return in one line, and without data, why the log could not be used."""
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return "its server is read-only or in recovery"
    diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = diagnosis or str(error).strip() or type(error).__name__
    return text.splitlines()[0]


def install_log(connection: Connection) -> None:
    """Make the log's tables and functions if they are missing."""
    connection.execute(LOG_TABLES)
    connection.execute(APPEND)
    connection.execute("insert into soul_log(version) values(%s) on conflict do nothing", (LOG_VERSION,))


WRITTEN = "written"


class AppendOutcome(NamedTuple):
    """Outcome of one row: `what` is "written" or the condition that failed.

    `seq`, `cause` and `closes` are those of a written row.
    """

    what: str
    seq: int
    cause: int | None
    closes: Sequence[int]


class AppendedBatch(NamedTuple):
    """Outcomes of a batch, with the log's last seq before and after it."""

    before: int
    last: int
    outcomes: Sequence[AppendOutcome]


class PostgresLog:
    """One connection to the log, for one thread. Methods raise psycopg.Error."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._db = connect(url, name)

    def close(self) -> None:
        self._db.close()

    def hang_up(self) -> None:
        """End the connection from another thread, however long an answer is awaited."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self._db.fileno())) as doubled:
            doubled.shutdown(socket.SHUT_RDWR)

    @property
    def connection(self) -> Connection:
        return self._db

    def reconnect(self) -> None:
        """Replace the connection; the fate of its last statement is unknown."""
        self._db.close()
        self._db = connect(self._url, self._name)

    @property
    def is_broken(self) -> bool:
        return self._db.broken or self._db.closed

    def log_id(self) -> str:
        return str(self._value("select id from soul_log"))

    def last(self) -> int:
        return int(self._value("select coalesce(max(seq), 0) from entry"))

    def look(self) -> int:
        """Return the last seq. Raises ReadOnlySqlTransaction if nothing can be written for now."""
        row = self._db.execute(
            "select coalesce((select max(seq) from entry), 0), pg_is_in_recovery(),"
            " current_setting('transaction_read_only')::boolean"
        ).fetchone()
        last, *readonly = row or (0,)
        if any(readonly):
            raise psycopg.errors.ReadOnlySqlTransaction("the server is read-only or in recovery")
        return int(last)

    def append(self, batch: Sequence[PendingAppend], writer: int, *, jobs: bool) -> AppendedBatch:
        """Append rows together; each is written or refused by itself."""
        rows = json.dumps([_as_json(one) for one in batch])
        query = "select before, last, outcomes, refs from soul_append(%s::jsonb, %s, %s)"
        found = self._db.execute(query, (rows, writer, jobs)).fetchone()
        assert found is not None
        before, last, outcomes, refs = found
        known = {number: (cause, closes) for number, cause, closes in refs}
        seqs = count(before + 1)
        written = [
            AppendOutcome(what, next(seqs), *known.get(number, (one.row.cause, one.row.closes)))
            if what == WRITTEN
            else AppendOutcome(what, 0, None, ())
            for number, (what, one) in enumerate(zip(outcomes, batch, strict=True))
        ]
        return AppendedBatch(before, last, written)

    def find_written(self, row: EntryRow, writer: int, since: int) -> WrittenRow | None:
        """Return exactly this row, if it was written after `since` although its answer was lost."""
        query = f"""select {COLUMNS} from entry where soul_hash(key) = soul_hash(%s)
            and thread = %s and body = %s and at = %s and writer = %s and seq > %s"""
        asked = (to_log(row.key), to_log(row.thread), row.body, float(row.at), writer, since)
        found = self._db.execute(query, asked).fetchone()
        return _written_row(found) if found else None

    def rows_after(self, seq: int, limit: int = ROWS_AT_ONCE) -> list[WrittenRow]:
        """Return the next rows, in order and without gaps: the first one, and others as long as they are
        small enough.
        """
        asked = {"seq": seq, "limit": limit, "bytes": BYTES_AT_ONCE}
        return [_written_row(row) for row in self._db.execute(ROWS_AFTER, asked).fetchall()]

    def lease_epoch(self, thread: str) -> int | None:
        found = self._db.execute("select epoch from lease where thread = %s", (to_log(thread),)).fetchone()
        return found[0] if found else None

    # Copies and their erasure

    def register_copy(self, machine: str) -> None:
        """Note that this machine has a copy, of which nobody knows what words it holds."""
        self._db.execute(
            "insert into soul_copy(machine) values(%s)"
            " on conflict(machine) do update set cleared = 0, has = 0",
            (to_log(machine),),
        )

    def has_copy(self, machine: str) -> bool:
        """Return True if this machine has had a copy of the log."""
        return bool(self._value("select exists(select from soul_copy where machine = %s)", to_log(machine)))

    def note_ahead(self, machine: str, last: int) -> None:
        """Note that this machine's copy has entries up to `last`, which the log lacks."""
        self._db.execute(
            "insert into soul_copy(machine, has) values(%s, %s)"
            " on conflict(machine) do update set has = excluded.has",
            (to_log(machine), last),
        )

    def report_cleared(self, machine: str, upto: int) -> None:
        """Note that this machine's copy holds no words that were forgotten by entries up to `upto`."""
        self._db.execute(
            "update soul_copy set cleared = greatest(cleared, %s) where machine = %s",
            (upto, to_log(machine)),
        )

    def uncleared_machines(self, by: int) -> Sequence[str]:
        """Return the machines whose copies may hold words that the entry `by` forgets."""
        query = "select machine from soul_copy where cleared < %s order by machine"
        return [from_log(machine) for (machine,) in self._db.execute(query, (by,))]

    def try_lock(self, lock: LogLock) -> bool:
        """Take an advisory lock of this log until the connection ends; return False if another has it."""
        return bool(self._value("select pg_try_advisory_lock(%s, hashtext(current_schema))", lock))

    def clean_upto(self) -> int:
        """Return the last entry of forgetting whose words the log holds no more."""
        return int(self._value("select clean from soul_log"))

    def forgets_after(self, seq: int) -> bool:
        """Return True if words were to be forgotten after this entry."""
        query = "select exists(select 1 from entry where seq > %s and kind = %s)"
        return bool(self._value(query, seq, EntriesForgotten.kind))

    def note_clean(self, upto: int) -> None:
        self._db.execute("update soul_log set clean = greatest(clean, %s)", (upto,))

    # Following

    def listen(self) -> None:
        schema = self._value("select current_schema")
        self._db.execute(f'listen "soul_{schema}"')

    def wait_for_news(self, seconds: float) -> int | None:
        """Return the newest seq that was told meanwhile; None if nothing was."""
        newest = None
        for told in self._db.notifies(timeout=seconds, stop_after=1):
            newest = int(told.payload)
        return newest

    def _value(self, query: str, *values: object) -> Any:
        found = self._db.execute(query, values).fetchone()
        assert found is not None
        return found[0]


def _as_json(one: PendingAppend) -> dict[str, Any]:
    row = one.row
    return {
        "thread": to_log(row.thread),
        "kind": row.kind,
        "author": to_log(row.author),
        "body": row.body,
        "key": to_log(row.key),
        "cause": row.cause,
        "closes": row.closes,
        "moot": row.moot,
        "at": row.at,
        "pending": row.pending,
        "leases": row.leases,
        "tree": to_log(row.tree),
        "fence": to_log(one.fence.thread) if one.fence else None,
        "epoch": one.fence.epoch if one.fence else None,
        "requires": one.requires,
        "after": to_log(one.after),
        "receipt_of": to_log(one.receipt_of),
        "opened_by": to_log(one.opened_by),
    }


def _written_row(row: tuple[Any, ...]) -> WrittenRow:
    seq, thread, kind, author, body, key, cause, closes, at, pending, leases = row
    entry = EntryRow(
        thread=from_log(thread),
        kind=kind,
        author=from_log(author),
        body=body,
        key=from_log(key),
        cause=cause,
        closes=tuple(closes),
        moot=(),
        at=at,
        pending=pending,
        leases=leases,
    )
    return WrittenRow(seq=seq, row=entry)


NUL, ESCAPE = "\x00", "\x1a"


def to_log(text: str) -> str:
    """Escape NUL, which PostgreSQL takes in no text. A body needs none: it is JSON, which escapes it."""
    if NUL in text or ESCAPE in text:
        return text.replace(ESCAPE, f"{ESCAPE}1").replace(NUL, f"{ESCAPE}0")
    return text


def from_log(text: str) -> str:
    """Undo `to_log`."""
    if ESCAPE in text:
        return text.replace(f"{ESCAPE}0", NUL).replace(f"{ESCAPE}1", ESCAPE)
    return text
