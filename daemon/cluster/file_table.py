"""Private files in the log's database, where each daemon of the workspace finds them.

Reads are of a copy in memory, which is read again twice a second; what the copy lacks is asked of the
database. One thread has the connection, so that a database that does not answer delays the event loop by
little.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

import psycopg

from daemon.engine.journal.postgres_log import Connection, connect

FILE_TABLES = """
create table if not exists soul_file(name text primary key, text text not null, changed uuid not null);
create table if not exists soul_file_lock(
  name text primary key, holder uuid not null, ends timestamptz not null);
"""

TAKE_LOCK = """
insert into soul_file_lock values(%s, %s, clock_timestamp() + make_interval(secs => %s))
  on conflict(name) do update set holder = excluded.holder, ends = excluded.ends
  where soul_file_lock.ends < clock_timestamp() returning name
"""

LOOK_SECONDS = 0.5
"""Seconds between two looks for changes by other daemons."""

ANSWER_SECONDS = 1.5
"""Seconds that the event loop waits for the database at most."""

AWAY_SECONDS = 1.0
"""Seconds for which nothing is asked after a question without an answer."""

LOCK_SECONDS = 120.0
"""Seconds after which a lock ends whose holder may be dead, far longer than what is done under it."""

LOCK_PAUSE = 0.1
"""Seconds between two tries to get a lock."""

AWAY = "The log's database does not answer."

log = logging.getLogger(__name__)


class FilesAway(OSError):
    """The database with the private files does not answer."""

    recorded_name = "FilesAway"

    def __init__(self) -> None:
        super().__init__(errno.EHOSTUNREACH, AWAY)


class FileTable:
    """Private files of a workspace; an async context manager. `name` is that of the application."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._texts: dict[str, str] = {}
        self._marks: dict[str, uuid.UUID] = {}
        """Mark of the newest change of each text in memory."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="private files")
        self._connection: Connection | None = None
        self._away_until = 0.0
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        with suppress(psycopg.Error):  # while the database is away, each question says so
            await asyncio.wrap_future(self._thread.submit(self._load))
        self._following = asyncio.create_task(self._follow(), name="private files")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        self._thread.submit(self._disconnect)
        self._thread.shutdown(wait=False)

    def read(self, name: str) -> str | None:
        text = self._texts.get(name)
        if text is None:
            found = self._ask("select text from soul_file where name = %s", name)
            text = found[0][0] if found else None
        return text

    def write(self, name: str, text: str) -> None:
        self._put(name, text, "do update set text = excluded.text, changed = excluded.changed")

    def create(self, name: str, text: str) -> str:
        self._put(name, text, "do nothing")
        [[found]] = self._ask("select text from soul_file where name = %s", name)
        return str(found)

    def remove(self, name: str) -> bool:
        return bool(self._change(name, "delete from soul_file where name = %s returning name", name))

    def names(self, folder: str) -> Sequence[str]:
        found = self._ask("select name from soul_file where starts_with(name, %s)", f"{folder}/")
        return sorted(name for [name] in found)

    @asynccontextmanager
    async def locked(self, name: str) -> AsyncIterator[None]:
        holder = uuid.uuid4()
        while True:
            if self._ask(TAKE_LOCK, name, holder, LOCK_SECONDS):
                break
            await asyncio.sleep(LOCK_PAUSE)
        try:
            self._forget(name)  # another holder may have changed it
            yield
        finally:
            with suppress(OSError):
                self._ask("delete from soul_file_lock where name = %s and holder = %s", name, holder)

    def _put(self, name: str, text: str, otherwise: str) -> None:
        query = f"insert into soul_file values(%s, %s, %s) on conflict(name) {otherwise}"
        self._change(name, query, name, text, uuid.uuid4())

    def _change(self, name: str, query: str, *values: object) -> Sequence[tuple[Any, ...]]:
        try:
            return self._ask(query, *values)
        finally:
            self._forget(name)  # afterwards, since the copy may have been read just before the change

    def _forget(self, name: str) -> None:
        self._texts.pop(name, None)
        self._marks.pop(name, None)

    def _ask(self, query: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Ask the database, and wait for little. Raises FilesAway."""
        if time.monotonic() < self._away_until:
            raise FilesAway
        asked: Future[Sequence[tuple[Any, ...]]] = self._thread.submit(self._execute, query, values)
        try:
            return asked.result(ANSWER_SECONDS)
        except (psycopg.OperationalError, psycopg.InterfaceError, TimeoutError) as error:
            asked.cancel()
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise FilesAway from error

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await asyncio.wrap_future(self._thread.submit(self._load))
            except psycopg.Error as error:
                log.info("Private files could not be read, which is retried: %s", type(error).__name__)

    # In the thread

    def _load(self) -> None:
        marks = dict(self._execute("select name, changed from soul_file", ()))
        new = [name for name, mark in marks.items() if self._marks.get(name) != mark]
        found = self._execute("select name, text, changed from soul_file where name = any(%s)", (new,))
        for name, text, mark in found:
            self._texts[name], self._marks[name] = text, mark
        for name in {*self._texts}.difference(marks):
            self._forget(name)

    def _execute(self, query: str, values: Sequence[object]) -> Sequence[tuple[Any, ...]]:
        try:
            if self._connection is None:
                self._connection = connect(self._url, self._name)
            cursor = self._connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
