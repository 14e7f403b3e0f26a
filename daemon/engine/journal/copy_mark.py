"""Mark of a SQLite file that is a copy of a log in PostgreSQL, and no journal of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from daemon.engine.exceptions import JournalError, JournalMisplaced
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.rows import JournalTables

COPY_TABLES = (
    "create table if not exists copy_of(log text not null)",
    "create table if not exists copy_uncleared(seq integer primary key)",
)
"""Tables of a copy alone: its log, and the forgetting entries whose words its file may still hold."""

UNMEANT_COPY = (
    "{path} is a copy of a journal in PostgreSQL, and DATABASE_URL is not set: set it, or make a journal of"
    " your own out of the copy with `python -m daemon move --back FILE`."
)


def mark_as_copy(connection: sqlite3.Connection, log_id: str) -> None:
    """Note that these tables are a copy of this log, unless they are marked."""
    for table in COPY_TABLES:
        connection.execute(table)
    connection.execute("insert into copy_of select ? where not exists(select 1 from copy_of)", (log_id,))


def unmark_copy(connection: sqlite3.Connection) -> None:
    """Make these tables a journal of its own."""
    for table in ("copy_of", "copy_uncleared"):
        connection.execute(f"drop table if exists {table}")


def copied_log(tables: JournalTables) -> str | None:
    """Return the id of the log that these tables are a copy of; None for a journal of its own.

    Raises sqlite3.DatabaseError.
    """
    connection = tables.connection
    if not connection.execute("select 1 from sqlite_master where name = 'copy_of'").fetchone():
        return None
    found = connection.execute("select log from copy_of").fetchone()
    return found[0] if found else None


def refuse_copy(tables: JournalTables) -> None:
    """Raise JournalMisplaced if these tables are a copy of a log."""
    if copied_log(tables) is not None:
        raise JournalMisplaced(UNMEANT_COPY.format(path=tables.path))


def refuse_copy_at(path: Path) -> None:
    """Raise JournalMisplaced if the file is a copy of a log; whoever reads the file reports other faults."""
    try:
        with closing(open_readonly(path)) as tables:
            refuse_copy(tables)
    except JournalMisplaced:
        raise
    except (JournalError, sqlite3.Error):
        return
