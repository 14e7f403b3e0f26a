"""Writer of a shared journal: commits batches to the log, and folds them into the copy.

While the log is away, appends wait: nothing is acknowledged that may be lost.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import psycopg

from daemon.engine.exceptions import CopyAhead, FencedError, JournalError, KeyConflict
from daemon.engine.journal.journal_copy import JournalCopy, raise_damage
from daemon.engine.journal.log_schema import LACKS_ENTRIES
from daemon.engine.journal.postgres_log import AWAY, AppendOutcome, PostgresLog, away_reason
from daemon.engine.journal.rows import WrittenRow
from daemon.engine.journal.seq_ranges import SeqRanges
from daemon.engine.journal.writer import (
    JournalWriter,
    PendingAppend,
    Result,
    WritableTables,
)

RECONNECT_PAUSE = 0.2
"""Seconds between attempts to reach the log."""


class PostgresWriter(JournalWriter):
    """Thread that appends to the log.

    While the log is away, it waits; a batch whose answer was lost is appended again, and what was written
    all the same is looked up. What others wrote before a batch is told together with it, in the log's order.
    """

    def __init__(
        self,
        store: WritableTables,
        committed: Callable[[Sequence[WrittenRow]], None],
        *,
        shared: PostgresLog,
        copy: JournalCopy,
        jobs: bool,
        ends: threading.Event,
    ) -> None:
        super().__init__(store, committed)
        self._log = shared
        self._copy = copy
        self._jobs = jobs
        self._came = list[WrittenRow]()
        self._ends = ends
        self.own = SeqRanges()
        """Seqs of rows that this writer wrote."""
        self.worker = 0
        """Id of the worker in whose name rows are written."""

    def end(self, patience: float) -> None:
        """End the thread, after `ends` was set; an answer is awaited for `patience` seconds."""
        self._waiting.put(None)
        self._thread.join(patience)
        while self._thread.is_alive():
            self._log.hang_up()
            self._thread.join(0.1)

    def undisturbed(self) -> AbstractContextManager[object]:
        return self._copy.folding

    def written_rows(self, results: Sequence[Result]) -> Sequence[WrittenRow]:
        came, self._came = self._came, []
        return came

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        results = [result for part in _parts(batch) for result in self._appended(part)]
        own = [result.seq for result in results if isinstance(result, WrittenRow)]
        for seq in sorted(own):
            self.own.add(seq)
        if own:
            self._report_recovery()
        return results

    def _appended(self, batch: Sequence[PendingAppend]) -> list[Result]:
        """Append these rows, however long the log is away, unless this writer ends."""
        since, is_in_doubt = self._copy.upto, False
        while True:
            try:
                if is_in_doubt:
                    self._log.reconnect()
                    self._copy.check_log(self._log)
                results = self._append_once(batch)
                return self._settled(batch, results, since) if is_in_doubt else results
            except psycopg.Error as error:
                if error.sqlstate == LACKS_ENTRIES:
                    raise CopyAhead(f"{LOST_COMMITS} ({away_reason(error)}).") from error
                self._report_fault(JournalError(away_reason(error)))
                if not (isinstance(error, AWAY) or self._log.is_broken):
                    return self._each_alone(batch, error)
            is_in_doubt = True
            if self._ends.wait(RECONNECT_PAUSE):
                return [JournalError("The journal could not be written: its database is away.")] * len(batch)

    def _each_alone(self, batch: Sequence[PendingAppend], error: psycopg.Error) -> list[Result]:
        """Append each row by itself, so that only bad ones fail."""
        if len(batch) == 1:
            return [JournalError(f"The journal could not be written ({away_reason(error)}).")]
        results = list[Result]()
        for one in batch:
            results += self._appended([one])
        return results

    def _append_once(self, batch: Sequence[PendingAppend]) -> list[Result]:
        done = self._log.append(batch, self.worker, jobs=self._jobs)
        if done.before < self._copy.upto:
            self._copy.check_log(self._log)
        results = [_result(one, outcome) for one, outcome in zip(batch, done.outcomes, strict=True)]
        if self._copy.upto == done.before:
            own = [one for one in results if isinstance(one, WrittenRow)]
            self._fold(lambda: self._copy.fold(own))
        else:
            self._fold(lambda: self._copy.catch_up(self._log, done.last))
        return results

    def _settled(self, batch: Sequence[PendingAppend], results: Sequence[Result], since: int) -> list[Result]:
        """Return the results of a repeated batch: rows that were refused may have been written before."""
        settled, taken = list[Result](), {one.seq for one in results if isinstance(one, WrittenRow)}
        for one, result in zip(batch, results, strict=True):
            found = None
            if not isinstance(result, WrittenRow):
                found = self._log.find_written(one.row, self.worker, since)
            if found and found.seq not in taken:  # two drafts may be the same
                taken.add(found.seq)
                settled.append(found)
            else:
                settled.append(result)
        return settled

    def _fold(self, fold: Callable[[], Sequence[WrittenRow]]) -> None:
        """Fold what was written, however long the copy's disk is full: nothing goes on without it."""
        while True:
            try:
                with raise_damage():
                    self._came += fold()
                return
            except (sqlite3.Error, OSError) as error:
                self._report_fault(error)
                if self._ends.wait(RECONNECT_PAUSE):
                    raise


STATEMENT_CHARACTERS = 16_000_000
"""Characters of bodies in one statement, unless one row has more."""


def _parts(batch: Sequence[PendingAppend]) -> Iterator[Sequence[PendingAppend]]:
    part, size = list[PendingAppend](), 0
    for one in batch:
        size += len(one.row.body)
        if part and size > STATEMENT_CHARACTERS:
            yield part
            part, size = [], len(one.row.body)
        part.append(one)
    yield part


LOST_COMMITS = (
    "The log lacks entries that another machine's copy has: its database lost commits. Stop all daemons, and"
    " run `python -m daemon move --to URL --tail` there"
)


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
