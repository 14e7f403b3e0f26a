"""Journal that several daemons share: the log decides what is written, this daemon's copy is read."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, cast

import psycopg

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event
from daemon.engine.exceptions import FencedError, JournalDamaged, JournalError
from daemon.engine.journal.follower import LogFollower
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_copy import JournalCopy, open_copy
from daemon.engine.journal.log_contact import LogContact, LogState
from daemon.engine.journal.log_erasing import ForgottenEntries, LogEraser, away_sentence
from daemon.engine.journal.postgres_log import PostgresLog, away_reason
from daemon.engine.journal.postgres_writer import PostgresWriter
from daemon.engine.journal.rows import WrittenRow, delete_database, index_path
from daemon.engine.journal.writer import JournalWriter, WritableTables
from daemon.engine.kinds import EntriesForgotten

log = logging.getLogger(__name__)

STOP_SECONDS = 2.0
"""Seconds for which a stop waits for an answer of the log."""

REPORT_SECONDS = 10.0
"""Seconds within which copies have to report that they are cleared, or are named as away."""

REPORT_PAUSE = 0.05


class LeaseConfirmation(Protocol):
    async def confirm(self, thread: str, epoch: int) -> bool:
        """Return True if the log says that the attempt `epoch` has the thread's lease.

        Returns only while nobody can count this daemon as dead; until then it waits.
        """


class SharedJournal(Journal):
    """Journal over a log in PostgreSQL, with a copy at `path`.

    `name` begins the names of its connections. `machine` names the copy; two of a name are never open.
    `jobs`: an append that makes a tree busy wakes a worker.
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
        machine: str = "",
        jobs: bool = False,
    ) -> None:
        super().__init__(path, clock, kinds, writer)
        self._url = url
        self._name = name
        self._machine = machine or name
        self._jobs = jobs
        self._asking = threading.Lock()
        self._ends = threading.Event()
        self._contact = LogContact(clock.now, lambda: self._call_in_loop(self._notify, ()))
        self._erasing_one = asyncio.Lock()
        self._erasing: PostgresLog | None = None
        self._known_away = set[str]()
        """Machines that had not reported when an erasure last waited for them."""
        self.report_seconds = REPORT_SECONDS
        self.confirmation: LeaseConfirmation | None = None

    @property
    def log_state(self) -> LogState:
        return self._contact.state(max(0, self._follower.last_told - self._copy.upto))

    @property
    def uncleared_machines(self) -> Sequence[str]:
        """Machines whose copies may hold words that are being forgotten: they have not reported."""
        return self._follower.uncleared

    def is_own(self, seq: int) -> bool:
        writer = self._writer
        return isinstance(writer, PostgresWriter) and seq in writer.own

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

    async def erase(self, forgotten: Entry[EntriesForgotten]) -> None:
        """Finish forgetting: erase the log, and record the end once all copies have reported.

        Raises JournalError, which names the machines that are away.
        """
        async with self._erasing_one:
            left = [
                ForgottenEntries(one.seq, one.event.seqs) for one in self.pending_entries(EntriesForgotten)
            ]
            upto = [one for one in left if one.by <= forgotten.seq]
            if not upto or upto[-1].by != forgotten.seq:
                return  # it is finished
            away = await asyncio.to_thread(self._erase_log, upto)
            if away:
                raise JournalError(away_sentence(away))
            await self._record_erased(forgotten)

    def _erase_log(self, forgotten: Sequence[ForgottenEntries]) -> Sequence[str]:
        """Erase the words from the log; return the machines that do not report within some seconds."""
        try:
            with closing(PostgresLog(self._url, f"{self._name}:eraser")) as self._erasing:
                LogEraser(self._erasing, self._path, self.kinds).clean_log(forgotten)
                return self._await_reports(self._erasing, forgotten[-1].by)
        except psycopg.Error as error:
            raise JournalError(f"The log cannot be erased ({away_reason(error)}).") from error

    def _await_reports(self, shared: PostgresLog, by: int) -> Sequence[str]:
        until = monotonic() + self.report_seconds
        while True:
            away = shared.uncleared_machines(by)
            is_over = monotonic() > until or set(away) <= self._known_away
            if is_over or self._ends.wait(REPORT_PAUSE):
                self._known_away = set(away)
                return away

    def _open_tables(self, opening: ExitStack) -> WritableTables:
        try:
            self._log = PostgresLog(self._url, f"{self._name}:asking")
            opening.callback(self._log.close)
            opening.callback(self._delete_damaged_copy)
            self._writing = PostgresLog(self._url, f"{self._name}:writer")
            opening.callback(self._writing.close)
            store = open_copy(self._path, self._log, self._kinds, self._machine)
            opening.callback(store.close)
            self._copy = JournalCopy(store, self._kinds, self._machine)
            self._copy.finish_forgetting()
            self._copy.catch_up(self._log, self._log.last())
        except psycopg.Error as error:
            raise JournalError(f"The journal's database cannot be used ({away_reason(error)}).") from error
        return store

    def _prepare_tables(self, store: WritableTables) -> None:
        """Leave the tables as they are: the log is right, and a copy that differs is made anew."""

    def _start_writer(self, opening: ExitStack, store: WritableTables) -> None:
        self._loop = asyncio.get_running_loop()
        kind: type[PostgresWriter] = PostgresWriter
        if self._writer_class is not JournalWriter:  # one of a caller, in front of the log's
            kind = cast(Any, type)(self._writer_class.__name__, (self._writer_class, PostgresWriter), {})
        self._writer = writer = kind(
            store, self._notify, shared=self._writing, copy=self._copy, jobs=self._jobs, ends=self._ends
        )
        self._follower = LogFollower(
            self._url,
            f"{self._name}:follower",
            self._copy,
            self._contact,
            told=lambda rows: self._call_in_loop(self._notify, rows),
            failed=self._fail,
            ends=self._ends,
        )
        writer.start()
        opening.callback(writer.end, STOP_SECONDS)
        self._follower.start()
        opening.callback(self._follower.stop, STOP_SECONDS)
        opening.callback(self._end)

    def _end(self) -> None:
        self._ends.set()
        if self._erasing:
            self._erasing.hang_up()

    def _call_in_loop(self, call: Callable[..., object], *values: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *values)

    def _notify(self, written: Sequence[WrittenRow]) -> None:
        if any(one.row.kind == EntriesForgotten.kind for one in written):
            self.erasures += 1  # the copy has blanked them
        super()._notify(written)

    def _found(self, damage: JournalDamaged) -> None:
        super()._found(damage)
        self._fail(damage)

    def _fail(self, error: JournalError) -> None:
        """Let the journal end, from any thread."""
        self._call_in_loop(self._end_with, error)

    def _end_with(self, error: JournalError) -> None:
        if not self._writer.died.done():
            log.critical("%s", error)
            self._writer.died.set_exception(error)

    def _delete_damaged_copy(self) -> None:
        """Delete the copy if it was found damaged: the next start makes it anew."""
        writer = self.__dict__.get("_writer")
        if writer and writer.died.done() and isinstance(writer.died.exception(), JournalDamaged):
            delete_database(self._path)
            delete_database(index_path(self._path))
