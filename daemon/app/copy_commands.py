"""This machine's copy of the log, for commands: brought up to date, compared with the log, and dropped."""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from daemon.cluster.log_server import Connection, LogUnreachable, connect_to_server, unreachable_sentence
from daemon.cluster.schema import LOG_SCHEMA, log_version
from daemon.engine.exceptions import JournalError, JournalLocked, JournalMisplaced
from daemon.engine.journal.copy_mark import copied_log
from daemon.engine.journal.journal_copy import NOT_MOVED, JournalCopy, open_copy
from daemon.engine.journal.journal_file import hold_lock, lock_holder, open_readonly
from daemon.engine.journal.log_transfer import LogComparison, compare_rows, last_of_log, log_rows
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.reader import open_reader
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS
from daemon.settings.database_url import shown_database_url
from daemon.settings.parse import ConfigError

NAME = "soul:command"

PATIENCE = 15.0
"""Seconds within which a running daemon's copy has to come up to date."""

LOOK_EVERY = 0.05


def update_copy(path: Path, url: str, machine: str = "") -> None:
    """Bring the copy at `path` up to date with the log, or make it; a running daemon does it by itself.

    Raises ConfigError, JournalError, LogUnreachable.
    """
    with connected(url) as connection:
        _check_log(connection, path, url)
        upto = last_of_log(connection)
        try:
            with hold_lock(path), closing(PostgresLog(url, NAME)) as shared:
                kinds, machine = with_engine_kinds(SOUL_KINDS), machine or socket.gethostname()
                with closing(open_copy(path, shared, kinds, machine)) as tables:
                    copy = JournalCopy(tables, kinds, machine)
                    copy.finish_forgetting()
                    copy.catch_up(shared, shared.last())
                    copy.clear(shared)
        except JournalLocked:
            _wait_for_follower(path, upto)


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
        if _is_own_journal(path):
            raise JournalMisplaced(NOT_MOVED.format(path=path))
        raise JournalError(
            f"There is no journal at {shown_database_url(url)}. Start the daemon to make one, or move one"
            " there with `python -m daemon move --to URL`."
        )
    if found > LOG_SCHEMA.version:
        raise ConfigError(newer_log_sentence(found, LOG_SCHEMA.version))


def _is_own_journal(path: Path) -> bool:
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
    """Compare the copy with the log, up to the last entry of both. Raises JournalError and psycopg.Error."""
    with open_reader(path, SOUL_KINDS) as copy:
        upto = max(copy.last_seq_of_all(), last_of_log(connection))
        return compare_rows(copy.all_rows(upto), log_rows(connection, upto))
