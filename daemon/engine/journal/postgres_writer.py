"""Writer of a shared journal: commits batches to the log, and folds them into the copy.

While the log is away, appends wait: nothing is acknowledged that may be lost.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import psycopg

from daemon.engine.exceptions import FencedError, JournalError, KeyConflict
from daemon.engine.journal.journal_copy import JournalCopy
from daemon.engine.journal.postgres_log import AppendOutcome, PostgresLog
from daemon.engine.journal.rows import WrittenRow
from daemon.engine.journal.writer import (
    JournalWriter,
    PendingAppend,
    Result,
    WritableTables,
)

log = logging.getLogger(__name__)

RECONNECT_PAUSE = 0.2
"""Seconds between attempts to reach the log."""

AWAY = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.CannotConnectNow)
"""Errors of a server that cannot write for now: it counts as away."""


class PostgresWriter(JournalWriter):
    """Thread that appends to the log.

    What others wrote before a batch is told together with the batch, in the log's order.
    """

    def __init__(
        self,
        store: WritableTables,
        committed: Callable[[Sequence[WrittenRow]], None],
        *,
        shared: PostgresLog,
        copy: JournalCopy,
        jobs: bool,
    ) -> None:
        super().__init__(store, committed)
        self._log = shared
        self._copy = copy
        self._jobs = jobs
        self._came = list[WrittenRow]()
        self._ends = threading.Event()
        self.worker = 0
        """Id of the worker in whose name rows are written."""

    def stop(self) -> None:
        self._ends.set()
        super().stop()
        self._log.close()

    def undisturbed(self) -> AbstractContextManager[object]:
        return self._copy.folding

    def written_rows(self, results: Sequence[Result]) -> Sequence[WrittenRow]:
        came, self._came = self._came, []
        return came

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        results = self._appended(batch)
        if any(isinstance(result, WrittenRow) for result in results):
            self._report_recovery()
        return results

    def _appended(self, batch: Sequence[PendingAppend]) -> list[Result]:
        """Append these rows or, if that fails, each by itself, so that only bad ones fail."""
        try:
            return self._append_once(batch)
        except AWAY as error:
            return self._settle(batch, error)
        except psycopg.Error as error:
            if self._log.is_broken:
                return self._settle(batch, error)
            if len(batch) == 1:
                self._report_fault(error)
                return [JournalError(f"The journal could not be written ({error}).")]
        results = list[Result]()
        for one in batch:
            results += self._appended([one])
        return results

    def _append_once(self, batch: Sequence[PendingAppend]) -> list[Result]:
        done = self._log.append(batch, self.worker, jobs=self._jobs)
        results = [_result(one, outcome) for one, outcome in zip(batch, done.outcomes, strict=True)]
        if self._copy.upto == done.before:
            own = [one for one in results if isinstance(one, WrittenRow)]
            self._fold(lambda: self._copy.fold(own))
        else:
            self._fold(lambda: self._copy.catch_up(self._log, done.last))
        return results

    def _fold(self, fold: Callable[[], Sequence[WrittenRow]]) -> None:
        """Fold what was written, however long the copy's disk is full: nothing goes on without it."""
        while True:
            try:
                self._came += fold()
                return
            except sqlite3.Error as error:
                self._report_fault(error)
                if self._ends.wait(RECONNECT_PAUSE):
                    raise

    def _settle(self, batch: Sequence[PendingAppend], error: Exception) -> list[Result]:
        """Find out what became of a batch whose answer was lost; append again what was not written."""
        self._report_fault(error)
        seqs = self._look_up(batch)
        if seqs is None:
            return [JournalError("The journal could not be written: its database is away.") for _ in batch]
        known = {one.seq: one for one in self._came}
        results: list[Result] = [known[seq] if seq else None for seq in seqs]
        missing = [one for one, seq in zip(batch, seqs, strict=True) if seq is None]
        again = iter(self._appended(missing) if missing else [])
        return [result if result is not None else next(again) for result in results]

    def _look_up(self, batch: Sequence[PendingAppend]) -> Sequence[int | None] | None:
        """Return the seqs of the rows that were written; None if this writer ends before the log is back."""
        while not self._ends.wait(RECONNECT_PAUSE):
            try:
                self._log.reconnect()
                self._fold(lambda: self._copy.catch_up(self._log, self._log.last()))
                return [self._log.find_written(one.row, self.worker) for one in batch]
            except psycopg.Error as error:
                log.debug("The log is away (%s).", error)
        return None


def _result(one: PendingAppend, outcome: AppendOutcome) -> Result:
    row, what = one.row, outcome.what
    match what:
        case "written":
            written = replace(row, cause=outcome.cause, closes=tuple(outcome.closes))
            return WrittenRow(seq=outcome.seq, row=written)
        case "conflict":
            return KeyConflict(row.key)
        case "fenced":
            return FencedError(f"{row.key}: another attempt at {row.thread} began after this one")
        case "closed":
            return FencedError(f"{row.key}: {one.requires} was closed meanwhile")
        case "opened_by":
            return JournalError(f"{row.key}: {one.opened_by} did not open {row.thread}.")
    first = one.after if what == "after" else one.receipt_of
    return JournalError(f"Did not write {row.key}: {first} must come first, and was not written.")
