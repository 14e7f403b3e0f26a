"""Connection to the log, which alone decides what is written and in which order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from daemon.engine.journal.log_schema import APPEND, LOG_TABLES, LOG_VERSION
from daemon.engine.journal.rows import EntryRow, WrittenRow
from daemon.engine.journal.writer import PendingAppend

Connection = psycopg.Connection[tuple[Any, ...]]

COLUMNS = "seq, thread, kind, author, body, key, cause, closes, at, pending, leases"

SOCKET_OPTIONS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5_000,
}
"""Options that notice a dead network within about five seconds (`tcp_user_timeout` is in milliseconds)."""

STATEMENT_TIMEOUT = "10s"
ROWS_AT_ONCE = 500
"""Rows that are read at once."""


def connect(url: str, name: str) -> Connection:
    """Connect to the log; each statement is a transaction of its own. Raises psycopg.Error."""
    connection = psycopg.connect(
        url, autocommit=True, application_name=name, row_factory=tuple_row, **SOCKET_OPTIONS
    )
    connection.execute(f"set statement_timeout = '{STATEMENT_TIMEOUT}'")
    return connection


def install_log(connection: Connection) -> None:
    """Make the log's tables and functions if they are missing."""
    connection.execute(LOG_TABLES)
    connection.execute(APPEND)
    connection.execute("insert into soul_log(version) values(%s) on conflict do nothing", (LOG_VERSION,))


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

    def append(self, batch: Sequence[PendingAppend], writer: int, *, jobs: bool) -> AppendedBatch:
        """Append rows together; each is written or refused by itself."""
        rows = json.dumps([_as_json(one) for one in batch])
        said = self._value("select soul_append(%s::jsonb, %s, %s)", rows, writer, jobs)
        outcomes = [AppendOutcome(*one) for one in said["results"]]
        return AppendedBatch(said["before"], said["last"], outcomes)

    def find_written(self, row: EntryRow, writer: int) -> int | None:
        """Return the seq of exactly this row, if it was written although its answer was lost."""
        found = self._db.execute(
            "select seq from entry where soul_hash(key) = soul_hash(%s)"
            " and thread = %s and body = %s and at = %s and writer = %s",
            (to_log(row.key), to_log(row.thread), row.body, row.at, writer),
        ).fetchone()
        return found[0] if found else None

    def rows_after(self, seq: int, limit: int = ROWS_AT_ONCE) -> list[WrittenRow]:
        """Return the next rows, in order and without gaps."""
        query = f"select {COLUMNS} from entry where seq > %s order by seq limit %s"
        return [_written_row(row) for row in self._db.execute(query, (seq, limit)).fetchall()]

    def lease_epoch(self, thread: str) -> int | None:
        found = self._db.execute("select epoch from lease where thread = %s", (to_log(thread),)).fetchone()
        return found[0] if found else None

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
        "fence": [to_log(one.fence.thread), one.fence.epoch] if one.fence else None,
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
