"""Journal that several daemons share: the log decides what is written, this daemon's copy is read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import time
from typing import Any, NamedTuple, Protocol, cast

import psycopg

from daemon.engine.clock import Clock
from daemon.engine.event import Event
from daemon.engine.exceptions import FencedError, JournalError
from daemon.engine.journal.follower import LogFollower
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_copy import JournalCopy, open_copy
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.postgres_writer import PostgresWriter
from daemon.engine.journal.rows import WrittenRow
from daemon.engine.journal.writer import JournalWriter, WritableTables


class LeaseConfirmation(Protocol):
    async def confirm(self, thread: str, epoch: int) -> bool:
        """Return True if the log says that the attempt `epoch` has the thread's lease.

        Returns only while nobody can count this daemon as dead; until then it waits.
        """


class LogState(NamedTuple):
    """State of the log: `since` is the time from which `reachable` has had its value, `behind` counts
    entries that the copy lacks.
    """

    reachable: bool
    behind: int
    since: float


class SharedJournal(Journal):
    """Journal over a log in PostgreSQL, with a copy at `path`.

    `name` begins the names of its connections. `jobs`: an append that makes a tree busy wakes a worker.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        kinds: Iterable[type[Event]],
        writer: type[JournalWriter] = JournalWriter,
        *,
        url: str,
        name: str = "soul",
        jobs: bool = False,
    ) -> None:
        super().__init__(path, clock, kinds, writer)
        self._url = url
        self._name = name
        self._jobs = jobs
        self._asking = threading.Lock()
        self._reachable, self._since = True, time()
        self.confirmation: LeaseConfirmation | None = None

    @property
    def log_state(self) -> LogState:
        behind = max(0, self._follower.last_told - self._copy.upto)
        return LogState(reachable=self._reachable, behind=behind, since=self._since)

    def write_as(self, worker: int) -> None:
        """Write further entries in the name of this worker."""
        writer = self._writer
        assert isinstance(writer, PostgresWriter)
        writer.worker = worker

    async def confirm_lease(self, thread: str, epoch: int) -> None:
        """Raise FencedError unless the copy, and then the log, say that the attempt has the lease."""
        await super().confirm_lease(thread, epoch)
        confirm = self.confirmation.confirm if self.confirmation else self._confirm
        if not await confirm(thread, epoch):
            raise FencedError(f"another attempt at {thread} began after this one")

    async def _confirm(self, thread: str, epoch: int) -> bool:
        return await asyncio.to_thread(self._ask_lease, thread) == epoch

    def _ask_lease(self, thread: str) -> int | None:
        with self._asking:
            try:
                return self._log.lease_epoch(thread)
            except psycopg.Error as error:
                try:
                    self._log.reconnect()
                    return self._log.lease_epoch(thread)
                except psycopg.Error:
                    raise JournalError(f"The lease of {thread} cannot be confirmed ({error}).") from error

    def _open_tables(self, opening: ExitStack) -> WritableTables:
        try:
            self._log = PostgresLog(self._url, f"{self._name}:asking")
            opening.callback(self._log.close)
            store = open_copy(self._path, self._log)
            opening.callback(store.close)
            self._copy = JournalCopy(store)
            self._copy.catch_up(self._log, self._log.last())
        except psycopg.Error as error:
            raise JournalError(f"The journal's database cannot be used ({error}).") from error
        return store

    def _start_writer(self, opening: ExitStack, store: WritableTables) -> None:
        loop = asyncio.get_running_loop()
        kind: type[PostgresWriter] = PostgresWriter
        if self._writer_class is not JournalWriter:  # one of a caller, in front of the log's
            kind = cast(Any, type)(self._writer_class.__name__, (self._writer_class, PostgresWriter), {})
        shared = PostgresLog(self._url, f"{self._name}:writer")
        self._writer = kind(store, self._notify, shared=shared, copy=self._copy, jobs=self._jobs)
        self._writer.start()
        opening.callback(self._writer.stop)

        def told(rows: Sequence[WrittenRow]) -> None:
            loop.call_soon_threadsafe(self._notify, rows)

        self._follower = LogFollower(
            self._url, f"{self._name}:follower", self._copy, told, self._note_reached
        )
        self._follower.start()
        opening.callback(self._follower.stop)

    def _note_reached(self, reachable: bool) -> None:
        if reachable != self._reachable:
            self._reachable, self._since = reachable, time()
