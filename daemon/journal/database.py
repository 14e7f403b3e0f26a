"""SQLite under the journal: how it is opened, and what its errors are to us. Used by the journal alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from daemon.errors import JournalError

PRAGMAS = ("journal_mode=wal", "synchronous=full", "busy_timeout=5000")


def sqlite(path: Path) -> Engine:
    """An engine on this file: durable, with transactions that begin by taking the write lock."""
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


@contextmanager
def readable() -> Iterator[None]:
    """What goes wrong with the file while reading is a JournalError."""
    try:
        yield
    except SQLAlchemyError as error:
        raise JournalError(
            f"The journal could not be read ({getattr(error, 'orig', None) or error})."
        ) from error


def _prepare(connection: Any, _record: object) -> None:
    """A new SQLite connection: durable, and with transactions that we begin ourselves."""
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"pragma {pragma}")


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("begin immediate")
