"""Copy of the log on this machine, for commands: brought up to date, compared with the log, and dropped."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from daemon.cluster.log_server import Connection, LogUnreachable, connect_to_server, unreachable_sentence
from daemon.cluster.schema import LogSchema, log_version, machines_alive, make_schema, newer_log_sentence
from daemon.engine.exceptions import JournalError, JournalLocked, JournalMisplaced
from daemon.engine.journal.copy_mark import copied_log
from daemon.engine.journal.journal_copy import JournalCopy, not_moved_sentence, open_copy
from daemon.engine.journal.journal_file import hold_lock, lock_holder, open_readonly
from daemon.engine.journal.log_schema import LOG_VERSION
from daemon.engine.journal.log_transfer import LogComparison, compare_rows, last_of_log, log_rows
from daemon.engine.journal.postgres_log import PostgresLog, from_log, to_log
from daemon.engine.journal.reader import open_reader
from daemon.engine.kinds import EntriesForgotten, with_engine_kinds
from daemon.kinds import SOUL_KINDS
from daemon.settings.database_url import shown_database_url
from daemon.settings.parse import ConfigError

NAME = "soul:command"

PATIENCE = 15.0
"""Seconds within which a running daemon's copy has to come up to date."""

LOOK_EVERY = 0.05


def soul_schema() -> LogSchema:
    """Return the log's schema with the kinds of this program."""
    return make_schema(each.kind for each in with_engine_kinds(SOUL_KINDS))


def update_copy(path: Path, url: str, machine: str = "") -> None:
    """Bring the copy at `path` up to date with the log, or make it; a running daemon does it by itself.

    Raises ConfigError, JournalError, LogUnreachable.
    """
    with connected(url) as connection:
        _check_log(connection, path, url)
        upto = last_of_log(connection)
        try:
            with hold_lock(path), closing(PostgresLog(url, NAME)) as shared:
                _catch_up(path, shared, machine or os.uname().nodename)
        except JournalLocked:
            _wait_for_follower(path, upto)


def _catch_up(path: Path, shared: PostgresLog, machine: str) -> None:
    kinds = with_engine_kinds(SOUL_KINDS)
    with closing(open_copy(path, shared, kinds, machine)) as tables:
        copy = JournalCopy(tables, kinds, machine)
        copy.finish_forgetting()
        copy.catch_up(shared, shared.last())
        copy.clear(shared)


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """Connect to the log's server; its errors inside the block are LogUnreachable. Raises ConfigError."""
    with closing(connect_to_server(url, NAME)) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise LogUnreachable(unreachable_sentence(error, url)) from None


def _check_log(connection: Connection, path: Path, url: str) -> None:
    found = log_version(connection)
    if found is None:
        if is_own_journal(path):
            raise JournalMisplaced(not_moved_sentence(path))
        raise JournalError(no_log_sentence(url))
    if found > LOG_VERSION:
        raise ConfigError(newer_log_sentence(found, LOG_VERSION))


def is_own_journal(path: Path) -> bool:
    """True if the file holds entries, and is no copy of a log."""
    try:
        with closing(open_readonly(path)) as tables:
            return copied_log(tables) is None and tables.last() > 0
    except (JournalError, sqlite3.Error):
        return False


def _wait_for_follower(path: Path, upto: int) -> None:
    """Wait until the copy of a running daemon has the entry `upto`. Raises JournalError."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with closing(open_readonly(path)) as tables:
            behind = upto - tables.last()
        if behind <= 0:
            return
        if time.monotonic() > deadline:
            raise JournalError(
                f"The daemon that runs here (process {lock_holder(path)}) does not bring {path} up to date:"
                f" {behind} entries are missing. Its /healthz says why; --journal {path} reads it as it is."
            )
        time.sleep(LOOK_EVERY)


def compare_with_log(path: Path, connection: Connection) -> LogComparison:
    """Compare the copy, as it is now, with the log. Raises JournalError and psycopg.Error."""
    with open_reader(path, SOUL_KINDS) as copy:
        upto = copy.last_seq_of_all()
        return compare_rows(copy.all_rows(upto), log_rows(connection, upto))


def check_against_log(path: Path, url: str) -> tuple[str, bool]:
    """Compare the copy with the log; return a line about it, and True if they are equal."""
    with connected(url) as connection:
        compared = compare_with_log(path, connection)
    if compared.are_equal:
        counted = f"{compared.there.count} entries, digest {compared.there.hex[:16]}"
        return f"{shown_database_url(url)}: {counted}: the same as the copy", True
    return difference_sentence(path, compared), False


def difference_sentence(path: Path, compared: LogComparison) -> str:
    """Return how the copy differs. During a forgetting, it may: words go from one place after the other."""
    here, there = compared.here, compared.there
    places = ", ".join(map(str, compared.differences))
    with open_reader(path, SOUL_KINDS) as copy:
        forgetting = bool(copy.pending_seqs(EntriesForgotten))
    remedy = (
        "a forgetting is under way: try again after it" if forgetting else "stop its daemon, and delete it"
    )
    return (
        f"The copy {path} differs from the log ({here.count} entries, digest {here.hex[:16]}, and there"
        f" {there.count}, {there.hex[:16]}), first at {places}: {remedy}."
    )


def drop_copy(url: str, machine: str) -> str:
    """Forget that this machine has a copy, as its disk is gone; return a line about it.

    Raises LookupError for a machine without a copy, JournalError while its daemon is alive, ConfigError.
    """
    with connected(url) as connection, connection.transaction():
        if log_version(connection) is None:
            raise JournalError(no_log_sentence(url))
        if machine in machines_alive(connection):
            raise JournalError(f"The daemon of {machine} is alive: stop it first, and delete its copy.")
        copies = [name for (name,) in connection.execute("select machine from soul_copy order by machine")]
        if to_log(machine) not in copies:
            known = ", ".join(map(from_log, copies)) or "none"
            raise LookupError(f"No machine {machine} has a copy; machines with one: {known}")
        connection.execute("delete from soul_copy where machine = %s", (to_log(machine),))
    return f"Dropped the copy of {machine}: no forgetting waits for it any more."


def no_log_sentence(url: str) -> str:
    return (
        f"There is no journal at {shown_database_url(url)}. Start the daemon to make one, or move one there"
        " with `python -m daemon move --to URL`."
    )
