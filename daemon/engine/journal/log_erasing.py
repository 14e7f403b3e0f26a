"""Forgetting in the log and in its copies.

Each copy blanks entries when it folds the entry that forgets them, clears its file, and reports. One daemon
blanks them in the log and rewrites its table. An erasure is at its end when all known copies have reported.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import psycopg

from daemon.engine.event import EventCodec, in_chunks
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.log_locks import LogLock
from daemon.engine.journal.postgres_log import PostgresLog, to_log
from daemon.engine.journal.rows import Stored, WrittenRow
from daemon.engine.journal.writer import (
    CHUNK,
    WritableTables,
    blank_rows,
    clear_hashes_of,
    find_executions,
)
from daemon.engine.kinds import EntriesForgotten

LOCK_SECONDS = 3
"""Seconds that an erasure waits for other erasures, and a rewrite for readers of the table: meanwhile, that
holds up everybody else.
"""

DEAD_ROWS = re.compile(r"\d+")


class ForgottenEntries(NamedTuple):
    """Entries `seqs`, forgotten by the entry `by`."""

    by: int
    seqs: Sequence[int]


def forget_in_copy(store: WritableTables, kinds: EventCodec, forgotten: WrittenRow) -> bool:
    """Blank what an entry forgets, within a transaction; return True if there were words or hashes of them.

    All copies do it at the same place in the order of entries, and so come to the same. Raises sqlite3.Error.
    """
    event = kinds.load(forgotten.row.kind, forgotten.row.body)
    assert isinstance(event, EntriesForgotten)
    changed = sum(blank_rows(store, kinds, some, forgotten.seq) for some in in_chunks(event.seqs, CHUNK))
    for names in find_executions(store, kinds, event.seqs):
        changed += clear_hashes_of(store, kinds, names)
    return changed > 0


class LogEraser:
    """Erasing of the log by what the copy at `path` holds. May be repeated at any point, on any machine."""

    def __init__(self, shared: PostgresLog, path: Path, kinds: EventCodec) -> None:
        self._log = shared
        self._path = path
        self._kinds = kinds

    def clean_log(self, forgotten: Iterable[ForgottenEntries]) -> None:
        """Remove the words of all these entries from the log. Raises JournalError and psycopg.Error."""
        _await(lambda: self._log.try_lock(LogLock.ERASING), "Another daemon erases words from the log.")
        clean = self._log.clean_upto()
        left = [one for one in forgotten if one.by > clean]
        if left:
            for one in left:
                self._blank(self._rows_of(one.seqs))
            await_snapshots(self._log)
            rewrite_table(self._log)
            self._log.note_clean(left[-1].by)

    def _rows_of(self, seqs: Sequence[int]) -> list[Stored]:
        """Return the copy's rows that may be blank, or cleared of hashes."""
        with closing(open_readonly(self._path)) as copy:
            found = {row[0]: row for some in in_chunks(seqs, CHUNK) for row in copy.at_seqs(some)}
            for names in find_executions(copy, self._kinds, seqs):
                found.update({row[0]: row for name in names for row in copy.beginning_with(name)})
        return [found[seq] for seq in sorted(found)]

    def _blank(self, rows: Sequence[Stored]) -> None:
        """Give the log's rows the bodies and keys of the copy's, all at once: a copy that is made meanwhile
        has an execution's names of before or of after.
        """
        db = self._log.connection
        with db.transaction():
            for some in in_chunks(rows, CHUNK):
                there = {seq: (key, digest) for seq, key, digest in db.execute(DIGESTS, (_seqs(some),))}
                differing = [
                    (to_log(row[5]), row[4], row[0])
                    for row in some
                    if there.get(row[0]) != (to_log(row[5]), hashlib.sha256(row[4].encode()).digest())
                ]
                if differing:
                    db.cursor().executemany("update entry set key = %s, body = %s where seq = %s", differing)


DIGESTS = "select seq, key, sha256(convert_to(body, 'UTF8')) from entry where seq = any(%s)"


def _seqs(rows: Sequence[Stored]) -> list[int]:
    return [row[0] for row in rows]


def await_snapshots(shared: PostgresLog) -> None:
    """Wait until no transaction sees the log as it was. Raises JournalError if one goes on to."""
    db = shared.connection
    [[now]] = db.execute("select pg_current_xact_id()::xid::text").fetchall()
    _await(lambda: not db.execute(OLD_SNAPSHOTS, (now,)).fetchone(), STILL_SEEN)


OLD_SNAPSHOTS = """select 1 from pg_stat_activity
    where age(backend_xmin) >= age(%s::xid) and datname = current_database() and pid <> pg_backend_pid()
    limit 1"""

STILL_SEEN = (
    "Forgotten words stay in the log's table for now: a transaction that began before they were blanked is"
    " open (a backup, a replica or an idle session)."
)


def _await(is_so: Callable[[], bool], else_fails: str) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while not is_so():
        if time.monotonic() > until:
            raise JournalError(else_fails)
        time.sleep(0.02)


def rewrite_table(shared: PostgresLog) -> None:
    """Remove dead rows from the table's files. Nothing is appended meanwhile.

    Raises JournalError if somebody still reads the table, or may still see what it was.
    """
    db = shared.connection
    told = list[str]()
    db.add_notice_handler(lambda notice: told.append(notice.message_detail or ""))
    db.execute("set statement_timeout = 0")
    db.execute(f"set lock_timeout = '{LOCK_SECONDS}s'")
    try:
        db.execute("vacuum (full, verbose) entry")
    except psycopg.errors.LockNotAvailable as error:
        raise JournalError(
            "Forgotten words stay in the log's table for now: another program reads it (a backup?)."
        ) from error
    if any(_dead_rows(detail) for detail in told):
        raise JournalError(STILL_SEEN)


def _dead_rows(detail: str) -> int:
    """Return the number of rows that could not be removed, which the detail begins with in any language."""
    first = DEAD_ROWS.search(detail)
    return int(first[0]) if first else 0


def away_sentence(machines: Sequence[str]) -> str:
    names = ", ".join(machines)
    return (
        f"Forgotten words may be in the copies of these machines yet, which have not reported: {names}. Start"
        " them; if the disk of one is gone, run `python -m daemon drop-copy NAME`."
    )
