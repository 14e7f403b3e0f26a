"""Transfer of a journal in SQLite into the log, and comparison of the two.

Rows are compared by one running digest over all their columns and seqs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from daemon.engine.event import EventCodec
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.postgres_log import Connection, from_log, to_log
from daemon.engine.journal.rows import Stored, digest_of_row, parse_seqs
from daemon.engine.kinds import LEASES

COLUMNS = "seq, thread, kind, author, body, key, cause, closes, at"

ROWS_AT_ONCE = 200
"""Rows that are read at once from the log."""

MOST_DIFFERENCES = 10
"""Differing rows that are named."""

FOLD_PENDING = "insert into pending(seq, thread) select seq, thread from entry where pending and seq > %s"
FOLD_CLOSED = "delete from pending where seq in (select unnest(closes) from entry where seq > %s)"
FOLD_LEASES = (
    "insert into lease(thread, epoch) select thread, max(seq) from entry where leases and seq > %s"
    " group by thread on conflict(thread) do update set epoch = excluded.epoch"
)


@dataclass(slots=True)
class RunningDigest:
    """Count and digest of rows in their order."""

    count: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, row: Stored) -> bytes:
        """Add a row; return its own digest."""
        one = digest_of_row(row)
        self._digest.update(one)
        self.count += 1
        return one

    @property
    def hex(self) -> str:
        return str(self._digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class LogComparison:
    """Counts and digests of the entries here and in the log, and the first seqs at which they differ."""

    here: RunningDigest
    there: RunningDigest
    differences: Sequence[int]

    @property
    def are_equal(self) -> bool:
        return (self.here.count, self.here.hex) == (self.there.count, self.there.hex)


def compare_rows(here: Iterable[Stored], there: Iterable[Stored]) -> LogComparison:
    """Compare two journals row by row. Both are in the order of their seqs."""
    ours, theirs = RunningDigest(), RunningDigest()
    differences = list[int]()
    for mine, other in zip_longest(here, there):
        digests = (mine and ours.add(mine), other and theirs.add(other))
        if digests[0] != digests[1] and len(differences) < MOST_DIFFERENCES:
            differences.append((mine or other)[0])
    return LogComparison(here=ours, there=theirs, differences=differences)


def last_of_log(connection: Connection) -> int:
    found = connection.execute("select coalesce(max(seq), 0) from entry").fetchone()
    assert found is not None
    return int(found[0])


def log_rows(connection: Connection, upto: int, since: int = 0) -> Iterator[Stored]:
    """Yield the log's rows after `since` up to `upto`, as SQLite stores them. Raises psycopg.Error."""
    query = f"select {COLUMNS} from entry where seq > %s and seq <= %s order by seq limit {ROWS_AT_ONCE}"
    while part := connection.execute(query, (since, upto)).fetchall():
        yield from map(_stored, part)
        since = part[-1][0]


def fill_log(connection: Connection, rows: Iterable[Stored], kinds: EventCodec, since: int) -> None:
    """Copy rows with their seqs into a log whose last seq is `since`, and fold them.

    Raises JournalError for a damaged row, psycopg.Error.
    """
    pending = {each.kind for each in kinds if each.pending}
    leases = set(kinds.kind_names(LEASES))
    with connection.cursor().copy(f"copy entry({COLUMNS}, pending, leases, writer) from stdin") as copy:
        for row in rows:
            copy.write_row((*_as_log_row(row), row[2] in pending, row[2] in leases, 0))
    for fold in (FOLD_PENDING, FOLD_CLOSED, FOLD_LEASES):
        connection.execute(fold, (since,))


def folded_rows(connection: Connection) -> tuple[set[tuple[int, str]], set[tuple[str, int]]]:
    """Return seqs and threads of pending entries, and the leases by thread, as the log has them."""
    pending = connection.execute("select seq, thread from pending").fetchall()
    leases = connection.execute("select thread, epoch from lease").fetchall()
    return (
        {(seq, from_log(thread)) for seq, thread in pending},
        {(from_log(thread), epoch) for thread, epoch in leases},
    )


def _stored(row: tuple[Any, ...]) -> Stored:
    seq, thread, kind, author, body, key, cause, closes, at = row
    listed = f"[{', '.join(map(str, closes))}]"
    return (seq, from_log(thread), kind, from_log(author), body, from_log(key), cause, listed, at)


def _as_log_row(row: Stored) -> tuple[Any, ...]:
    seq, thread, kind, author, body, key, cause, closes, at = row
    seqs = parse_seqs(closes)
    if seqs is None:
        raise JournalError(f"The entry {seq} is damaged: its closes.")
    return (seq, to_log(thread), kind, to_log(author), body, to_log(key), cause, list(seqs), at)
