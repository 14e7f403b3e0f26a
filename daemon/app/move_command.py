"""`python -m daemon move`: the journal from SQLite to PostgreSQL, and back.

Entries go into the log in one transaction: a move that is killed leaves the log empty, and may run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from daemon.app.copy_commands import compare_with_log, difference_sentence, soul_schema, update_copy
from daemon.app.journal_commands import backup_journal, verify_journal
from daemon.cluster.log_server import (
    Connection,
    LogUnreachable,
    connect_to_server,
    examine_server,
    unreachable_sentence,
)
from daemon.cluster.schema import lock_schema, log_version, machines_alive, prepare_locked, value
from daemon.engine.event import EventCodec
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.copy_mark import copied_log, mark_as_copy, unmark_copy
from daemon.engine.journal.journal_file import as_journal_errors, hold_lock, open_readonly, open_store
from daemon.engine.journal.log_transfer import (
    LogComparison,
    compare_rows,
    fill_log,
    folded_rows,
    last_of_log,
    log_rows,
)
from daemon.engine.journal.postgres_log import from_log
from daemon.engine.journal.reader import JournalReader
from daemon.engine.journal.writer import WritableTables, add_digests
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS
from daemon.settings.database_url import shown_database_url

NAME = "soul:move"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalMove:
    """Journal at `path`, and the log at `url`."""

    path: Path
    url: str
    kinds: EventCodec

    @property
    def where(self) -> str:
        return shown_database_url(self.url)


def move_to_log(path: Path, url: str, *, tail: bool) -> Iterator[str]:
    """Copy a journal into an empty log or, with `tail`, what the log has lost of it; yield lines about it.

    Raises ConfigError, JournalLocked while a daemon has the file, JournalError, LogUnreachable.
    """
    move = JournalMove(path=path, url=url, kinds=with_engine_kinds(SOUL_KINDS))
    open_readonly(path).close()  # reports a missing file before anything is made
    yield from examine_server(url).warnings
    with hold_lock(path), closing(open_store(path)) as tables:
        with as_journal_errors():
            add_digests(tables, move.kinds)  # of an older journal; a copy gets none later
        yield f"{path}: {_verified(tables, move.kinds)}"
        with _as_unreachable(url), closing(connect_to_server(url, NAME)) as connection:
            yield _transfer(move, tables, connection, tail=tail)
            yield from _missing_still(connection)
    yield (
        f"{path} stays, as the copy of this machine. With DATABASE_URL={move.where} and the user and password"
        " in .env, the daemon goes on there."
    )


def _verified(tables: WritableTables, kinds: EventCodec) -> str:
    verdict = verify_journal(JournalReader(tables, kinds))
    if verdict.violations:
        raise JournalError(
            f"{tables.path} breaks rules of the journal, and is not moved: {verdict.violations[0]}. Run"
            " `python -m daemon verify`."
        )
    return str(verdict)


def _transfer(move: JournalMove, tables: WritableTables, connection: Connection, *, tail: bool) -> str:
    """Fill the log and mark the file as its copy, as nearly at once as two databases can."""
    tables.begin()
    with connection.transaction():
        lock_schema(connection)
        alive = prepare_locked(connection, soul_schema()) or machines_alive(connection)
        if alive:
            raise JournalError(f"Daemons that use this log are alive ({', '.join(alive)}): stop them first.")
        connection.execute("lock table entry in exclusive mode")
        log_id = str(value(connection, "select id from soul_log"))
        if copied_log(tables) not in (None, log_id) and not tail:
            raise JournalError(
                f"{move.path} is a copy of another log. If that one is gone for good, `--tail` writes the"
                f" entries of the copy to {move.where}."
            )
        done = _fill(move, tables, connection, tail=tail)
        unmark_copy(tables.connection)
        mark_as_copy(tables.connection, log_id)
    tables.commit()
    return done


def _missing_still(connection: Connection) -> Iterator[str]:
    """Yield a line for each machine whose copy has entries that the log lacks even now."""
    rows = connection.execute(
        "select machine, has - (select max(seq) from entry) from soul_copy"
        " where has > (select max(seq) from entry) order by has"
    )
    for machine, missing in rows:
        yield (
            f"The copy of {from_log(machine)} has {missing} entries more: run `move --to URL --tail` there,"
            " too. Until then nothing is written. If its disk is gone: `python -m daemon drop-copy NAME`."
        )


def _fill(move: JournalMove, tables: WritableTables, connection: Connection, *, tail: bool) -> str:
    """Write what the log lacks, read all back, and return a line about it. Raises JournalError."""
    last, there = tables.last(), last_of_log(connection)
    begins = compare_rows(tables.rows(min(there, last)), log_rows(connection, min(there, last)))
    if begins.are_equal and there >= last > 0:
        return f"{move.where} has all its {last} entries already."
    if there and not (tail and begins.are_equal):
        raise JournalError(_refusal(move, there, begins))
    fill_log(connection, tables.after(there), move.kinds, there)
    connection.execute("select pg_notify('soul_' || current_schema, %s)", (str(last),))
    read = compare_rows(tables.rows(last), log_rows(connection, last))
    if not read.are_equal or folded_rows(connection) != _folded(tables):
        raise JournalError(f"What was read back from {move.where} differs: nothing was moved.")
    digest, said = read.there.hex[:16], f"{last - there} entries written; all {last} were read back"
    return f"{move.where}: {said}, and are the same ({digest})"


def _refusal(move: JournalMove, there: int, begins: LogComparison) -> str:
    if begins.are_equal:
        return (
            f"The log at {move.where} is not empty: it has the first {there} entries of {move.path}. If it"
            " has lost the others, `--tail` writes them back."
        )
    return (
        f"The log at {move.where} is not empty, and differs from {move.path} from entry"
        f" {begins.differences[0]} on: nothing was written. Give the journal an empty schema of its own."
    )


def _folded(tables: WritableTables) -> tuple[set[tuple[int, str]], set[tuple[str, int]]]:
    return {(seq, thread) for seq, thread, _ in tables.folded("pending")}, set(tables.folded("lease"))


def move_back(path: Path, url: str, out: Path) -> Iterator[str]:
    """Make a journal in SQLite out of the log; yield lines about it.

    Raises ConfigError, JournalError, also while daemons are alive, LogUnreachable.
    """
    with _as_unreachable(url), closing(connect_to_server(url, NAME)) as connection, connection.transaction():
        lock_schema(connection)  # no daemon starts meanwhile
        alive = machines_alive(connection) if log_version(connection) else ()
        if alive:
            raise JournalError(f"Daemons are alive ({', '.join(alive)}): stop them first.")
        update_copy(path, url)
        compared = compare_with_log(path, connection)
        if not compared.are_equal:
            raise JournalError(difference_sentence(path, compared))
        yield backup_journal(path, out)
    yield f"Take DATABASE_URL out of .env, and put {out} in the place of {path}, without its -wal and -shm."


@contextmanager
def _as_unreachable(url: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise LogUnreachable(unreachable_sentence(error, url)) from None
