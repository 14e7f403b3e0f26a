"""The one writer: a thread that commits what waits, together and in order.

Awaiting one append means that it, and all before it, are on disk.

Record what is forgotten by two entries: one names what is to be erased from the file, one says it was.

A kill between the two leaves the first one pending.

Give the entries of an older journal their digests, when it is opened to be written for the first time.

Each piece is one transaction, and what is left is in the file: after a kill the next opening goes on there.

Overwrite what is forgotten in the file: the words of entries, and every hash that was made of them.

Each piece is one transaction and may be done again: a kill between two of them leaves a `forgotten` entry
that is pending, and the next opening goes on there.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from daemon.engine.event import (
    CONTENT,
    Event,
    EventCodec,
    execution_of,
    forgotten_mark,
    in_chunks,
    part_key,
    without_content_names,
)
from daemon.engine.exceptions import FencedError, JournalError, KeyConflict, recorded_name
from daemon.engine.journal.rows import EntryRow, JournalTables, Stored, WrittenRow
from daemon.engine.kinds import EntriesErased, EntriesForgotten, InputsReceived, TurnBegan

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


def erased_key(key: str) -> str:
    """The key of the entry that says that nothing is left of what this one made forgotten."""
    return part_key(key, "erased")


CHUNK = 200
"""Bodies that are blanked in one transaction, while nothing else is committed."""


FEW_EXECUTIONS = 20
"""Executions whose hashes are cleared while nothing else is committed."""


def blank_bodies(store: JournalTables, kinds: EventCodec, seqs: Sequence[int], by: int) -> None:
    """Blank the bodies of these entries, under the entry `by`; those that are blank already stay so.

    Raises sqlite3.Error; then none of them was.
    """
    store.begin()
    for row in store.many(seqs):
        _, _, kind, _, body, key, *_ = row
        if not forgotten_mark(str(body)):
            store.overwrite(row, key=key, body=kinds.blank(kind, str(body), by))
    store.commit()


def find_executions(store: JournalTables, kinds: EventCodec, seqs: Sequence[int]) -> list[set[str]]:
    """Find the executions that recorded one of these entries, or took one up: what their steps asked may have
    been made of its words. Each is the set of its name and those of its turns, with which its keys begin."""
    wanted, found = set(seqs), set[str]()
    first = dict[str, int]()
    for seq, thread, _, _, _, key, *_ in store.many(seqs):
        first.setdefault(str(thread), seq)
        if "@" in str(key):
            found.add(execution_of(str(key)))
    for thread, seq in first.items():
        for row, event in readable_rows(store.of(thread, kinds.kind_names([InputsReceived]), seq), kinds):
            if isinstance(event, InputsReceived) and not wanted.isdisjoint(event.inputs):
                found.add(execution_of(row[5]))
    turns = defaultdict[str, set[str]](set)
    threads = {execution.rpartition("@")[0] for execution in found} | first.keys()
    for thread in threads:
        for row, event in readable_rows(store.of(thread, kinds.kind_names([TurnBegan]), 0), kinds):
            if isinstance(event, TurnBegan):
                turns[event.execution].add(row[5].removesuffix("/began"))
                if not wanted.isdisjoint(event.inputs):
                    found.add(event.execution)
    return [{execution, *turns[execution]} for execution in found]


def readable_rows(rows: Sequence[Stored], kinds: EventCodec) -> Iterator[tuple[Stored, Event]]:
    """Yield each row that can be read with its event: a damaged entry tells nothing."""
    for row in rows:
        try:
            yield row, kinds.load(row[2], row[4])
        except ValueError:
            continue


def clear_hashes(store: JournalTables, kinds: EventCodec, executions: Sequence[set[str]]) -> None:
    """Clear the hashes of all that these executions recorded, and of the names of their contexts.

    Raises sqlite3.Error; then the executions before it are cleared, and nothing of the others.
    """
    for names in executions:
        store.begin()
        rows = sorted(row for name in names for row in store.beginning_with(name))
        contexts = dict[str, str]()
        keys = [without_content_names(row[5], row[0], contexts) for row in rows]
        for row, key in zip(rows, keys, strict=True):
            body = row[4]
            if isinstance(body, str):  # where a bit of it was lost, it is bytes
                body = _without_names(kinds.unhash(row[2], body), row[0], names, contexts)
            if (key, body) != (row[5], row[4]):
                store.overwrite(row, key=key, body=body)
        store.commit()


def _without_names(body: str, seq: int, names: set[str], contexts: dict[str, str]) -> str:
    """The body, where it tells a key of these executions, with what their contexts are named now."""
    if not CONTENT.search(body):
        return body
    for name in names:
        told = re.escape(_in_json(name)) + r'[/~!][^"]*' + CONTENT.pattern + r"#\d+"
        for key in re.findall(told, body):
            without_content_names(str(json.loads(f'"{key}"')), seq, contexts)
    for old in sorted(contexts, key=len, reverse=True):  # the inner before the outer one
        body = body.replace(_in_json(old), _in_json(contexts[old]))
    return body


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def finish_erasing(store: JournalTables, kinds: EventCodec, now: float) -> None:
    """Bring to its end what a former life began to forget, before anybody reads. Raises sqlite3.Error."""
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
        log.warning("What was being forgotten when the daemon died (%s) is forgotten now.", key)


MIGRATION_PIECE = 1_000
"""Entries that are given their digests in one transaction."""


def add_digests(store: JournalTables, kinds: EventCodec) -> None:
    """Give the digests that are missing. Raises sqlite3.Error, OSError; then the next opening goes on."""
    between = store.undigested()
    if between is None:
        return
    since, upto = between
    if upto:
        log.warning("Adding digests to the entries %d to %d, once: a minute for a million.", since + 1, upto)
    if since == 0:
        _clear_hashes(store, kinds)
    while store.digest_some(MIGRATION_PIECE):
        pass
    if upto:
        log.warning("All entries have digests now.")


def _clear_hashes(store: JournalTables, kinds: EventCodec) -> None:
    """Clear what versions before left of what was forgotten: the hashes that were made of it."""
    seqs = list[int]()
    for _, event in readable_rows(store.kind([EntriesForgotten.kind], 0, 0.0), kinds):
        if isinstance(event, EntriesForgotten):
            seqs += event.seqs
    if seqs:
        clear_hashes(store, kinds, find_executions(store, kinds, seqs))
        store.scrub()
