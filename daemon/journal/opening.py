"""What is looked at when a journal is opened: is it one, of this version, and do its projections fit it?"""

from __future__ import annotations

import logging

from sqlalchemy import Connection, Table, delete, func, insert, inspect, select, text

from daemon.entry import LEASES, OPENERS
from daemon.errors import JournalError, JournalOther
from daemon.journal.database import readable
from daemon.journal.schema import DEBT, ENTRY, LEASE, METADATA

VERSION = 1
"""Of the tables. A journal of another one was written by another daemon, and is not touched."""

OPENED = select(ENTRY.c.seq, ENTRY.c.thread, ENTRY.c.kind).where(ENTRY.c.kind.in_(OPENERS))
PAID = text("select value from entry, json_each(closes) where closes <> '[]'").columns(ENTRY.c.seq)
REPLAYED = {
    DEBT: OPENED.where(ENTRY.c.seq.not_in(PAID)),
    LEASE: select(ENTRY.c.thread, func.max(ENTRY.c.seq))
    .where(ENTRY.c.kind.in_(LEASES))
    .group_by(ENTRY.c.thread),
}
"""Each projection as a replay of all entries gives it: about a second for a million of them."""

log = logging.getLogger(__name__)


def prepare(connection: Connection) -> None:
    """Make the tables of a new journal; raises JournalError for what is none of this version."""
    if version_of(connection) == 0:
        METADATA.create_all(connection)
        connection.exec_driver_sql(f"pragma user_version = {VERSION}")
    else:
        METADATA.create_all(connection, tables=[*REPLAYED])  # what is lost of them is folded again


def version_of(connection: Connection) -> int:
    """The version of a journal that can be read here; 0 for one without, or a new one.

    Raises JournalOther where it is of another version, JournalError where it is no journal.
    """
    version = int(connection.exec_driver_sql("pragma user_version").scalar_one())
    tables = inspect(connection).get_table_names()
    if version not in (0, VERSION):
        raise JournalOther(
            f"It is of version {version}, and this daemon reads version {VERSION}. Run the daemon that wrote "
            "it, or give this one a SOUL_HOME of its own."
        )
    if ENTRY.name not in tables and (tables or version):
        raise JournalError("It has no table of entries.")
    return version


def fold_again(connection: Connection) -> None:
    """Compare each projection with a replay of the entries, and where they differ make it anew from them.

    Raises JournalDamaged where entries cannot be read; then all is left as it was.
    """
    for table, replay in REPLAYED.items():
        with readable():
            stored = {tuple(row) for row in connection.execute(select(table))}
            replayed = {tuple(row) for row in connection.execute(replay)}
        if stored != replayed:
            _replace(connection, table, replayed)
            log.warning(
                "The journal's table %s was not what its entries say (%d rows in place of %d, %d wrong): "
                "it was made anew from them.",
                *(table.name, len(stored), len(replayed), len(stored ^ replayed)),
            )


def _replace(connection: Connection, table: Table, rows: set[tuple[object, ...]]) -> None:
    connection.execute(delete(table))
    names = [column.name for column in table.c]
    if rows:
        connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])
