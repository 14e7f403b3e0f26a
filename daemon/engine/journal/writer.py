"""The journal's writer: a thread that commits appends in order, and erases forgotten words.

Erasing uses small, repeatable transactions: after a kill, the next start continues.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from daemon.engine.event import (
    CONTENT_NAME,
    Event,
    EventCodec,
    execution_of,
    forgotten_mark,
    in_chunks,
    part_key,
    without_content_names,
)
from daemon.engine.exceptions import FencedError, JournalError, KeyConflict, recorded_name
from daemon.engine.journal.rows import (
    ROW,
    EntryRow,
    JournalTables,
    Stored,
    WrittenRow,
    delete_database,
    digest_of_row,
    index_path,
)
from daemon.engine.kinds import EntriesErased, EntriesForgotten, InputsReceived, TurnBegan

log = logging.getLogger(__name__)

GROUP = 256
"""Most appends in one commit."""


class WritableTables(JournalTables):
    """Statements that change the tables; methods raise sqlite3.Error."""

    def begin(self) -> None:
        self._db.execute("begin immediate")

    def commit(self) -> None:
        self._db.execute("commit")

    def insert(self, row: EntryRow, seq: int = 0) -> int | None:
        """Insert a row and update projections. Return its seq, or None if its key or thread exists.

        Without `seq`, it is the next one.
        """
        seq = seq or self.last() + 1
        closes, at = json.dumps(row.closes), float(row.at)  # in the form in which they are read
        stored = (seq, row.thread, row.kind, row.author, row.body, row.key, row.cause, closes, at)
        inserted = self._db.execute(
            f"insert into entry({ROW}, digest) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
            (*stored, digest_of_row(stored)),
        )
        if not inserted.rowcount:
            return None
        self._fold(seq, row)
        return seq

    def _fold(self, seq: int, row: EntryRow) -> None:
        if row.pending:
            self._db.execute("insert into pending values(?, ?, ?)", (seq, row.thread, row.kind))
        if row.leases:
            self._db.execute("insert or replace into lease values(?, ?)", (row.thread, seq))
        for closed in row.closes:
            self._db.execute("delete from pending where seq = ?", (closed,))

    def overwrite(self, row: Stored, *, key: str, body: str) -> None:
        """Replace the key and body of a forgotten row, and its digest."""
        seq, thread, kind, author, _, _, cause, closes, at = row
        digest = digest_of_row((seq, thread, kind, author, body, key, cause, closes, at))
        self._db.execute(
            "update entry set key = ?, body = ?, digest = ? where seq = ?", (key, body, digest, seq)
        )

    def digest_some(self, most: int) -> bool:
        """Add up to `most` missing digests in one transaction; return True if any were missing."""
        between = self.undigested()
        if between is None:
            return False
        self.begin()
        where = f"seq > ? and seq <= ? and digest is null order by seq limit {most}"
        rows = self._db.execute(f"select {ROW} from entry where {where}", between).fetchall()
        for row in rows:
            self._db.execute("update entry set digest = ? where seq = ?", (digest_of_row(row), row[0]))
        if rows:
            self._db.execute("update undigested set since = ?", (rows[-1][0],))
        else:
            self._db.execute("drop table undigested")
        self.commit()
        return bool(rows)

    def scrub(self) -> None:
        """Remove overwritten bytes: rebuild the file, empty the write-ahead log, delete the search index.

        The index is deleted last, since words could be read into it before. Raises OSError, and
        sqlite3.OperationalError while a snapshot is open or the disk is full.
        """
        self._empty_log()  # raises if a snapshot is open
        try:
            self._db.execute("vacuum")
        finally:
            self._empty_log()  # frees the disk if vacuum filled it
        delete_database(index_path(self.path))

    def _empty_log(self) -> None:
        busy, *_ = self._db.execute("pragma wal_checkpoint(truncate)").fetchone()
        if busy:
            raise sqlite3.OperationalError("somebody reads it as it was before")

    def replace(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self.begin()
        self._db.execute(f"delete from {table}")
        for row in rows:
            self._db.execute(f"insert into {table} values({', '.join('?' * len(row))})", row)
        self.commit()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Condition that the attempt `epoch` still has the thread's lease (None: that nobody ever had it)."""

    thread: str
    epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAppend:
    """Row to be written, under conditions that are described at `Journal.append` and `submit`."""

    row: EntryRow
    fence: Fence | None
    requires: int | None
    after: str
    receipt_of: str
    opened_by: str
    done: asyncio.Future[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterJob:
    do: Callable[[WritableTables], object]
    done: asyncio.Future[int]


Result = WrittenRow | None | Exception


class JournalWriter:
    """Thread that commits rows; their futures are resolved in the event loop."""

    def __init__(self, store: WritableTables, committed: Callable[[Sequence[WrittenRow]], None]) -> None:
        self._store = store
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[PendingAppend | WriterJob | None] = queue.SimpleQueue()
        self._next_work: WriterJob | None = None
        """Job to run after the rows that are being committed."""
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self.died: asyncio.Future[None] = self._loop.create_future()
        self.failing = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
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
        """Queue a row. The future of its seq may fail with KeyConflict, FencedError or JournalError."""
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

    def run_job(self, do: Callable[[WritableTables], object]) -> asyncio.Future[int]:
        """Queue a job after everything queued so far. Its future may fail with JournalError."""
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
                if not batch:
                    return
                with self.undisturbed():
                    results = [self.work(work)] if work else self.commit(appends)
                    written = self.written_rows(results)
                    self._loop.call_soon_threadsafe(self._answer, batch, results, written)
        except JournalError as error:  # it says what to do
            log.critical("%s", error)
            self._loop.call_soon_threadsafe(self._die, batch, error)
        except BaseException as error:
            log.critical(
                "The journal's writer died; nothing can be recorded until the daemon is restarted.",
                exc_info=True,
            )
            self._loop.call_soon_threadsafe(self._die, batch, error)
            raise

    def _next(self) -> tuple[WriterJob | None, list[PendingAppend]]:
        work, self._next_work = self._next_work, None
        batch: list[PendingAppend] = []
        if work:
            return work, batch
        while len(batch) < GROUP and not (batch and self._waiting.empty()):
            one = self._waiting.get()
            if one is None:
                if batch:
                    self._waiting.put(None)  # the end, to be read again after this batch
                break
            if isinstance(one, WriterJob):
                if not batch:
                    return one, batch
                self._next_work = one
                break
            batch.append(one)
        return None, batch

    def work(self, work: WriterJob) -> Result:
        try:
            work.do(self._store)
        except (sqlite3.Error, OSError) as error:
            self._store.rollback()
            return JournalError(f"The journal could not be written ({error}).")
        return None

    def undisturbed(self) -> AbstractContextManager[object]:
        """Return a context in which nobody else writes the tables or tells of new rows."""
        return nullcontext()

    def written_rows(self, results: Sequence[Result]) -> Sequence[WrittenRow]:
        """Return the rows that came with this commit, in order."""
        return [result for result in results if isinstance(result, WrittenRow)]

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        """Commit rows together or, if that fails, one by one, so that only bad ones fail."""
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
        if any(isinstance(result, WrittenRow) for result in results):  # refused rows wrote nothing
            self._report_recovery()
        return results

    def _insert(self, append: PendingAppend) -> Result:
        row, fence = append.row, append.fence
        if fence and self._store.epoch(fence.thread) != fence.epoch:
            return FencedError(f"{row.key}: another attempt at {fence.thread} began after this one")
        if append.requires is not None and not self._store.is_pending(append.requires):
            return FencedError(f"{row.key}: {append.requires} was closed meanwhile")
        if append.after and self._store.seq_of(append.after) is None:
            return JournalError(
                f"Did not write {row.key}: {append.after} must come first, and was not written."
            )
        if append.receipt_of:
            begun = self._store.seq_of(append.receipt_of)
            if begun is None:
                return JournalError(
                    f"Did not write {row.key}: {append.receipt_of} must come first, and was not written."
                )
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
        level = logging.DEBUG if self.failing else logging.ERROR
        self.failing = True
        log.log(
            level,
            "Could not write the journal (%s); nothing is acknowledged until it can be written.",
            reason,
        )

    def _report_recovery(self) -> None:
        if self.failing:
            log.warning("The journal can be written again.")
        self.failing = False

    def _answer(
        self,
        batch: Sequence[PendingAppend | WriterJob],
        results: Sequence[Result],
        written: Sequence[WrittenRow],
    ) -> None:
        for append, result in zip(batch, results, strict=True):
            if append.done.done():
                continue
            if isinstance(result, Exception):
                append.done.set_exception(result)
            else:
                append.done.set_result(result.seq if result else 0)
        self._committed(written)

    def _die(self, batch: Sequence[PendingAppend | WriterJob], error: BaseException) -> None:
        lost: JournalError = JournalError(f"The journal's writer died ({recorded_name(error)}).")
        if isinstance(error, JournalError):
            lost = error  # it says what to do
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
        if not self.died.done():
            self.died.set_exception(lost)


def erased_key(key: str) -> str:
    return part_key(key, "erased")


CHUNK = 200
"""Bodies blanked in one transaction."""

FEW_EXECUTIONS = 20
"""Executions whose hashes are cleared before other commits may run."""


def blank_bodies(store: WritableTables, kinds: EventCodec, seqs: Sequence[int], by: int) -> None:
    """Blank these bodies; `by` is the seq of the forgetting entry. Raises sqlite3.Error, without changes."""
    store.begin()
    blank_rows(store, kinds, seqs, by)
    store.commit()


def blank_rows(store: WritableTables, kinds: EventCodec, seqs: Sequence[int], by: int) -> int:
    """Blank these bodies within a transaction; return how many had words left. Raises sqlite3.Error."""
    blanked = 0
    for row in store.at_seqs(seqs):
        _, _, kind, _, body, key, *_ = row
        if not forgotten_mark(str(body)):
            store.overwrite(row, key=key, body=kinds.blank(kind, str(body), by))
            blanked += 1
    return blanked


def find_executions(store: JournalTables, kinds: EventCodec, seqs: Sequence[int]) -> list[set[str]]:
    """Find executions that wrote or took one of these entries: their hashes may be made from its words.

    Each is a set of ids (its own and its turns') with which its keys begin.
    """
    wanted, found = set(seqs), set[str]()
    first = dict[str, int]()
    for seq, thread, _, _, _, key, *_ in store.at_seqs(seqs):
        first.setdefault(str(thread), seq)
        if "@" in str(key):
            found.add(execution_of(str(key)))
    for thread, seq in first.items():
        for row, event in readable_rows(
            store.of_thread(thread, kinds.kind_names([InputsReceived]), seq), kinds
        ):
            if isinstance(event, InputsReceived) and not wanted.isdisjoint(event.inputs):
                found.add(execution_of(row[5]))
    turns = defaultdict[str, set[str]](set)
    threads = {execution.rpartition("@")[0] for execution in found} | first.keys()
    for thread in threads:
        for row, event in readable_rows(store.of_thread(thread, kinds.kind_names([TurnBegan]), 0), kinds):
            if isinstance(event, TurnBegan):
                turns[event.execution].add(row[5].removesuffix("/began"))
                if not wanted.isdisjoint(event.inputs):
                    found.add(event.execution)
    return [{execution, *turns[execution]} for execution in found]


def readable_rows(rows: Sequence[Stored], kinds: EventCodec) -> Iterator[tuple[Stored, Event]]:
    for row in rows:
        try:
            yield row, kinds.load(row[2], row[4])
        except ValueError:
            continue


def clear_hashes(store: WritableTables, kinds: EventCodec, executions: Sequence[set[str]]) -> None:
    """Clear the hashes of these executions, also in names of contexts.

    Raises sqlite3.Error; executions before the failure stay cleared.
    """
    for names in executions:
        store.begin()
        clear_hashes_of(store, kinds, names)
        store.commit()


def clear_hashes_of(store: WritableTables, kinds: EventCodec, names: set[str]) -> int:
    """Clear the hashes of one execution within a transaction; return the number of rows that had some."""
    rows = sorted(row for name in names for row in store.beginning_with(name))
    contexts = dict[str, str]()
    keys = [without_content_names(row[5], row[0], contexts) for row in rows]
    cleared = 0
    for row, key in zip(rows, keys, strict=True):
        body = row[4]
        if isinstance(body, str):  # a damaged body is bytes
            body = _without_names(kinds.unhash(row[2], body), row[0], names, contexts)
        if (key, body) != (row[5], row[4]):
            store.overwrite(row, key=key, body=body)
            cleared += 1
    return cleared


def _without_names(body: str, seq: int, names: set[str], contexts: dict[str, str]) -> str:
    if not CONTENT_NAME.search(body):
        return body
    for name in names:
        told = re.escape(_in_json(name)) + r'[/~!][^"]*' + CONTENT_NAME.pattern + r"#\d+"
        for key in re.findall(told, body):
            without_content_names(str(json.loads(f'"{key}"')), seq, contexts)
    for old in sorted(contexts, key=len, reverse=True):  # the innermost first
        body = body.replace(_in_json(old), _in_json(contexts[old]))
    return body


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def finish_erasing(store: WritableTables, kinds: EventCodec, now: float) -> None:
    """Finish interrupted erasures, before anything is read. Raises sqlite3.Error."""
    for row in store.pending([EntriesForgotten.kind]):
        seq, thread, kind, author, body, key, *_ = row
        forgotten = kinds.load(kind, body)
        assert isinstance(forgotten, EntriesForgotten)
        for some in in_chunks(forgotten.seqs, CHUNK):
            blank_bodies(store, kinds, some, seq)
        clear_hashes(store, kinds, find_executions(store, kinds, forgotten.seqs))
        store.scrub()
        store.begin()
        store.insert(
            EntryRow(
                thread=thread,
                kind=EntriesErased.kind,
                author=author,
                body=kinds.dump(EntriesErased()),
                key=erased_key(key),
                cause=seq,
                closes=(seq,),
                moot=(),
                at=now,
                pending=False,
                leases=False,
            )
        )
        store.commit()
        log.warning("Finished the erasure %s, which a crash had interrupted.", key)


MIGRATION_PIECE = 1_000


def add_digests(store: WritableTables, kinds: EventCodec) -> None:
    """Add missing digests. Raises sqlite3.Error or OSError; the next start continues."""
    between = store.undigested()
    if between is None:
        return
    since, upto = between
    if upto:
        log.warning(
            "Adding digests to entries %d to %d, once only; about a minute per million entries.",
            since + 1,
            upto,
        )
    if since == 0:
        _clear_hashes(store, kinds)
    while store.digest_some(MIGRATION_PIECE):
        pass
    if upto:
        log.warning("Added digests to all entries.")


def _clear_hashes(store: WritableTables, kinds: EventCodec) -> None:
    seqs = list[int]()
    for _, event in readable_rows(store.of_kinds([EntriesForgotten.kind], 0, 0.0), kinds):
        if isinstance(event, EntriesForgotten):
            seqs += event.seqs
    if seqs:
        clear_hashes(store, kinds, find_executions(store, kinds, seqs))
        store.scrub()
