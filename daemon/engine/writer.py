"""The one writer: a thread that commits what waits, together and in order.

Awaiting one append means that it, and all before it, are on disk.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from daemon.engine.exceptions import FencedError, JournalError, KeyConflict, recorded_name
from daemon.engine.store import JournalTables
from daemon.engine.tables import EntryRow

log = logging.getLogger(__name__)

GROUP = 256
"""How many appends one commit takes at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """An append that is refused unless this attempt still holds the thread; None: unless nobody ever did."""

    thread: str
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAppend:
    """A row on its way to disk. `requires` is an entry that must still be pending.

    `after` is the key of an entry that must be there: what is not awaited singly fails with what it follows.
    `receipt_of` is the key of one that it follows from and closes, whose seq nobody knew yet; `opened_by`
    that of the first one of its thread, which it follows from.
    """

    row: EntryRow
    fence: Fence | None
    requires: int | None
    after: str
    receipt_of: str
    opened_by: str
    done: asyncio.Future[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterJob:
    """Something else that is to be done on the tables, in its turn: nothing is committed meanwhile."""

    do: Callable[[JournalTables], object]
    done: asyncio.Future[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """An entry that is on disk: its row as it stands there."""

    seq: int
    row: EntryRow


Result = WrittenRow | None | Exception
"""What became of an append, or of work."""


class JournalWriter:
    """Takes appends from the event loop, commits them in its own thread, and answers in the loop."""

    def __init__(self, store: JournalTables, committed: Callable[[Sequence[WrittenRow]], None]) -> None:
        self._store = store
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[PendingAppend | WriterJob | None] = queue.SimpleQueue()
        self._next_work: WriterJob | None = None
        """What was found behind the appends that are committed now."""
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self.died: asyncio.Future[None] = self._loop.create_future()
        self.failing = False
        """Could the last append not be written?"""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Commit what waits, then end."""
        self._waiting.put(None)
        self._thread.join()

    def submit(
        self,
        row: EntryRow,
        fence: Fence | None,
        requires: int | None,
        after: str = "",
        receipt_of: str = "",
        opened_by: str = "",
    ) -> asyncio.Future[int]:
        """A future of the new seq; it fails with Conflict, Fenced or JournalError."""
        if self.died.done():
            raise JournalError("The journal's writer has died; see the log and restart the daemon.")
        append = PendingAppend(
            row=row,
            fence=fence,
            requires=requires,
            after=after,
            receipt_of=receipt_of,
            opened_by=opened_by,
            done=self._loop.create_future(),
        )
        self._waiting.put(append)
        return append.done

    def run_job(self, do: Callable[[JournalTables], object]) -> asyncio.Future[int]:
        """Do this on the tables after all that was submitted so far; fails with JournalError."""
        if self.died.done():
            raise JournalError("The journal's writer has died; see the log and restart the daemon.")
        work = WriterJob(do=do, done=self._loop.create_future())
        self._waiting.put(work)
        return work.done

    def _run(self) -> None:
        batch: Sequence[PendingAppend | WriterJob] = []
        try:
            while True:
                work, appends = self._next()
                batch = appends
                if work:
                    batch = [work]
                    results = [self.work(work)]
                elif appends:
                    results = self.commit(appends)
                else:
                    return
                self._loop.call_soon_threadsafe(self._answer, batch, results)
        except BaseException as error:
            log.critical("The journal's writer died; nothing more can be remembered.", exc_info=True)
            self._loop.call_soon_threadsafe(self._die, batch, error)
            raise

    def _next(self) -> tuple[WriterJob | None, list[PendingAppend]]:
        """The work whose turn it is, or all appends that wait, in order, up to a group; neither: the end."""
        work, self._next_work = self._next_work, None
        batch: list[PendingAppend] = []
        if work:
            return work, batch
        while len(batch) < GROUP and not (batch and self._waiting.empty()):
            one = self._waiting.get()
            if one is None:
                if batch:
                    self._waiting.put(None)  # seen again when this batch is on disk
                break
            if isinstance(one, WriterJob):
                if not batch:
                    return one, batch
                self._next_work = one
                break
            batch.append(one)
        return None, batch

    def work(self, work: WriterJob) -> Result:
        """Do it. What it leaves half done is rolled back."""
        try:
            work.do(self._store)
        except (sqlite3.Error, OSError) as error:
            self._store.rollback()
            return JournalError(f"The journal could not be written ({error}).")
        return None

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        """One transaction for all; where it fails, one for each, so that one bad row fails alone."""
        try:
            self._store.begin()
            results = [self._insert(append) for append in batch]
            self._store.commit()
        except (sqlite3.Error, OverflowError) as error:
            self._store.rollback()
            if len(batch) == 1:
                self._report_fault(error)
                return [JournalError(f"The journal could not be written ({error}).")]
            alone = list[Result]()
            for append in batch:
                alone += self.commit([append])
            return alone
        if any(isinstance(result, WrittenRow) for result in results):  # what was only refused wrote nothing
            self._report_recovery()
        return results

    def _insert(self, append: PendingAppend) -> Result:
        row, fence = append.row, append.fence
        if fence and self._store.epoch(fence.thread) != fence.epoch:
            return FencedError(f"{row.key}: another attempt at {fence.thread} began after this one")
        if append.requires is not None and not self._store.is_pending(append.requires):
            return FencedError(f"{row.key}: {append.requires} was closed meanwhile")
        if append.after and self._store.seq_of(append.after) is None:
            return JournalError(f"{row.key}: {append.after} comes first, and could not be written.")
        if append.receipt_of:
            begun = self._store.seq_of(append.receipt_of)
            if begun is None:
                return JournalError(f"{row.key}: {append.receipt_of} comes first, and could not be written.")
            row = replace(row, cause=begun, closes=(begun,))
        if append.opened_by:
            opened = self._store.seq_of(append.opened_by, row.thread)
            if opened is None:
                return JournalError(f"{row.key}: {append.opened_by} did not open {row.thread}.")
            row = replace(row, cause=opened)
        if row.moot:
            row = replace(row, closes=(*row.closes, *self._store.still_pending(row.moot)))
        seq = self._store.insert(row)
        if seq is None:
            return KeyConflict(row.key)
        return WrittenRow(seq=seq, row=row)

    def _report_fault(self, reason: BaseException) -> None:
        """An owner reads it once, and not once a second."""
        level = logging.DEBUG if self.failing else logging.ERROR
        self.failing = True
        log.log(level, "The journal could not be written (%s): nothing is acked until it can be.", reason)

    def _report_recovery(self) -> None:
        if self.failing:
            log.warning("The journal can be written again.")
        self.failing = False

    def _answer(self, batch: Sequence[PendingAppend | WriterJob], results: Sequence[Result]) -> None:
        written = list[WrittenRow]()
        for append, result in zip(batch, results, strict=True):
            if isinstance(result, WrittenRow):
                written.append(result)
            if append.done.done():
                continue
            if isinstance(result, Exception):
                append.done.set_exception(result)
            else:
                append.done.set_result(result.seq if result else 0)
        self._committed(written)

    def _die(self, batch: Sequence[PendingAppend | WriterJob], error: BaseException) -> None:
        """Everyone who waits is told, now and later."""
        lost = JournalError(f"The journal's writer died ({recorded_name(error)}).")
        rest = list(batch)
        if self._next_work:
            rest.append(self._next_work)
        while not self._waiting.empty():
            append = self._waiting.get()
            if append is not None:
                rest.append(append)
        for append in rest:
            if not append.done.done():
                append.done.set_exception(lost)
        self.died.set_exception(lost)
