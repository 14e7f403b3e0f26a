"""The one writer: a thread that commits what is waiting, together and in order.

Used by the journal alone. Awaiting one append means that it, and all before it, are on disk.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, bindparam
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from daemon.entry import Entry
from daemon.errors import Fenced, JournalError
from daemon.journal.database import run
from daemon.journal.queries import HELD, IS_OPEN
from daemon.journal.schema import ENTRY, fold, read

log = logging.getLogger(__name__)

GROUP = 256
"""How many appends one commit takes at the most."""
COLUMNS = [column.name for column in ENTRY.c if column.name != "seq"]
INSERT = (
    insert(ENTRY)
    .values({name: bindparam(name) for name in COLUMNS})
    .on_conflict_do_nothing()
    .returning(ENTRY.c.seq)
)


class Conflict(JournalError):
    """The key was there already, or the thread's id belongs to another conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One entry on its way to disk, and who waits for it. It needs the debt `owed`, if one is named."""

    row: dict[str, Any]
    fence: tuple[str, int] | None
    owed: int | None
    done: asyncio.Future[Entry] = field(compare=False)


Result = Entry | Exception


class Writer:
    """Takes appends from the event loop, commits them in its own thread, and answers there."""

    def __init__(self, engine: Engine, committed: Callable[[], None]) -> None:
        self._engine = engine
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[Append | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self.died: asyncio.Future[None] = self._loop.create_future()
        self.failing = False
        """Could the last append not be written?"""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Commit what is waiting, then end."""
        self._waiting.put(None)
        self._thread.join()

    def submit(
        self, row: dict[str, Any], fence: tuple[str, int] | None, owed: int | None
    ) -> asyncio.Future[Entry]:
        """A future of the new entry; it fails with Conflict, Fenced or JournalError."""
        if self.died.done():
            raise JournalError("The journal's writer has died; see the log and restart the daemon.")
        append = Append(row=row, fence=fence, owed=owed, done=self._loop.create_future())
        self._waiting.put(append)
        return append.done

    def _run(self) -> None:
        batch: list[Append] = []
        try:
            with self._engine.connect() as connection:
                while batch := self._next():
                    results = self.commit(connection, batch)
                    self._loop.call_soon_threadsafe(self._answer, batch, results)
        except BaseException as error:
            log.critical("The journal's writer died; nothing more can be remembered.", exc_info=True)
            self._loop.call_soon_threadsafe(self._die, batch, error)
            raise

    def _next(self) -> list[Append]:
        """All that waits, in order, up to a group; empty when the writer is to end."""
        if (append := self._waiting.get()) is None:
            return []
        batch = [append]
        while len(batch) < GROUP and not self._waiting.empty():
            if (append := self._waiting.get()) is None:
                self._waiting.put(None)  # seen again when this batch is on disk
                break
            batch.append(append)
        return batch

    def commit(self, connection: Connection, batch: Sequence[Append]) -> list[Result]:
        """One transaction for all; when it fails, one for each, so that one bad row fails alone."""
        try:
            with connection.begin():
                results = [_insert(connection, append) for append in batch]
            self._well()
            return results
        except (SQLAlchemyError, sqlite3.Error, OverflowError) as error:
            if len(batch) > 1:
                return [result for append in batch for result in self.commit(connection, [append])]
            reason = getattr(error, "orig", None) or error
            self._ill(reason)
            return [JournalError(f"The journal could not be written ({reason}).")]

    def _ill(self, reason: BaseException) -> None:
        """An owner reads it once, and not once a second."""
        level = logging.DEBUG if self.failing else logging.ERROR
        self.failing = True
        log.log(level, "The journal could not be written (%s): nothing is acked until it can be.", reason)

    def _well(self) -> None:
        if self.failing:
            log.warning("The journal can be written again.")
        self.failing = False

    def _answer(self, batch: Sequence[Append], results: Sequence[Result]) -> None:
        for append, result in zip(batch, results, strict=True):
            if append.done.done():
                continue
            if isinstance(result, Entry):
                append.done.set_result(result)
            else:
                append.done.set_exception(result)
        self._committed()

    def _die(self, batch: Sequence[Append], error: BaseException) -> None:
        """Everyone who waits is told, now and later."""
        lost = JournalError(f"The journal's writer died ({error.__class__.__name__}).")
        rest = list(batch)
        while not self._waiting.empty():
            if append := self._waiting.get():
                rest.append(append)
        for append in rest:
            if not append.done.done():
                append.done.set_exception(lost)
        self.died.set_exception(lost)


def _insert(connection: Connection, append: Append) -> Result:
    if append.fence:
        thread, epoch = append.fence
        [held] = run(connection, HELD, {"thread": thread}).fetchone() or [None]
        if held != epoch:
            return Fenced(f"{append.row['key']}: another attempt at {thread} began after this one")
    if append.owed is not None and run(connection, IS_OPEN, {"seq": append.owed}).fetchone() is None:
        return Fenced(f"{append.row['key']}: another daemon has paid {append.owed} meanwhile")
    row = run(connection, INSERT, append.row).fetchone()
    if row is None:
        return Conflict(append.row["key"])
    entry = read(seq=row[0], **append.row)
    fold(connection, entry)
    return entry
