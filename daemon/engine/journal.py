"""The journal: append-only, the only memory. Everything else is folded from it.

Reads are synchronous and small. An append is on disk when it has been awaited, and so are all before it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

from daemon.engine.event import Entry, Event, Input, Kinds
from daemon.engine.exceptions import Conflict, JournalError
from daemon.engine.kinds import ENGINE_KINDS, TurnBegan, TurnResumed
from daemon.engine.lock import locked
from daemon.engine.store import Row, Store, Stored, open_readonly, open_store
from daemon.engine.writer import Fence, Writer

E = TypeVar("E", bound=Event)

LEASES = (TurnBegan, TurnResumed)
"""Who writes one of these holds the thread from then on."""


class Clock(Protocol):
    """Time, as the engine needs it."""

    def now(self) -> float:
        """Unix seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""


class Reading:
    """The entries of a journal, and what is folded from them. Raises JournalError."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self.kinds = kinds

    def get(self, key: str) -> Entry[Event] | None:
        """The entry under this key."""
        with _readable():
            found = self._store.get(key)
        return self._entry(found) if found else None

    def at(self, seq: int) -> Entry[Any]:
        """The entry of this seq. Raises KeyError where there is none."""
        return self.many([seq])[0]

    def many(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """The entries of these seqs, in the order given. Raises KeyError where one is not there."""
        with _readable():
            rows = self._store.many(seqs)
        found = {row[0]: self._entry(row) for row in rows}
        return [found[seq] for seq in seqs]

    def under(self, path: str) -> list[Entry[Event]]:
        """The entries whose key begins with `path/`, in order."""
        with _readable():
            rows = self._store.under(path)
        return self._entries(rows)

    def parts(self, key: str) -> list[Entry[Event]]:
        """The entries that belong to what has this key, in order."""
        with _readable():
            rows = self._store.parts(key)
        return self._entries(rows)

    def of(self, thread: str, *kinds: type[E], since: int = 0) -> list[Entry[E]]:
        """A thread's entries of these kinds (of all, where none is named) after a seq, in order."""
        with _readable():
            rows = self._store.of(thread, _names(kinds), since)
        return cast(list[Entry[E]], self._entries(rows))

    def below(self, thread: str, *kinds: type[E], since: int = 0) -> list[Entry[E]]:
        """The entries of these kinds of all threads under this one, in order."""
        with _readable():
            rows = self._store.below(thread, _names(kinds), since)
        return cast(list[Entry[E]], self._entries(rows))

    def kind(self, *kinds: type[E], since: int = 0) -> list[Entry[E]]:
        """All entries of these kinds after a seq, in order."""
        with _readable():
            rows = self._store.kind(_names(kinds), since)
        return cast(list[Entry[E]], self._entries(rows))

    def pending(self, *kinds: type[E], thread: str | None = None) -> list[Entry[E]]:
        """The pending entries of these kinds, in order."""
        with _readable():
            rows = self._store.pending(_names(kinds), thread)
        return cast(list[Entry[E]], self._entries(rows))

    def inputs(self, thread: str) -> list[Entry[Input]]:
        """What waits for this thread to take it up, in order."""
        with _readable():
            rows = self._store.pending(self.kinds.inputs, thread)
        return cast(list[Entry[Input]], self._entries(rows))

    def busy_threads(self) -> list[str]:
        """The threads that have something to take up, or a half turn."""
        with _readable():
            return self._store.waiting_threads([*self.kinds.inputs, TurnBegan.kind])

    def is_pending(self, seq: int) -> bool:
        """Has no later entry closed it?"""
        with _readable():
            return self._store.is_pending(seq)

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        """Those of these entries that no later one has closed."""
        with _readable():
            return self._store.still_pending(seqs)

    def holds(self, thread: str, epoch: int) -> bool:
        """Is the attempt that began at `epoch` still the latest at this thread?"""
        with _readable():
            return self._store.epoch(thread) == epoch

    def since(self, seq: int, limit: int = 1000) -> list[Entry[Event]]:
        """The entries after this seq, oldest first."""
        with _readable():
            rows = self._store.since(seq, limit)
        return self._entries(rows)

    def last(self) -> int:
        """The newest seq; 0 in an empty journal."""
        with _readable():
            return self._store.last()

    def every(self) -> Iterator[tuple[int, Entry[Event] | JournalError]]:
        """Every entry with its seq, in order; in the place of a damaged one, what is wrong with it."""
        for row in self._store.every():
            try:
                yield row[0], self._entry(row)
            except (JournalError, ValueError, TypeError) as error:
                yield row[0], JournalError(str(error))

    def folded(self) -> tuple[dict[int, tuple[str, str]], dict[str, int]]:
        """The folded tables: each pending seq with its thread and kind, and each thread's lease."""
        with _readable():
            return self._store.folded()

    def damage(self) -> list[str]:
        """What the database itself finds wrong with the file."""
        with _readable():
            return self._store.damage()

    def _entries(self, rows: Iterable[Stored]) -> list[Entry[Any]]:
        return [self._entry(row) for row in rows]

    def _entry(self, row: Stored) -> Entry[Any]:
        seq, thread, kind, author, body, key, cause, closes, at = row
        event = self.kinds.load(kind, body)
        return Entry(
            seq=seq,
            thread=thread,
            author=author,
            key=key,
            cause=cause,
            closes=_seqs(closes),
            at=at,
            event=event,
        )


class Journal(Reading):
    """An open journal; an async context manager that holds its lock.

    `kinds` are the program's own; the engine's are added, but where the program has a class of the same kind.
    """

    def __init__(
        self, path: Path, clock: Clock, kinds: Iterable[type[Event]], writer: type[Writer] = Writer
    ) -> None:
        self._path = path
        self._clock = clock
        self._kinds = with_engine_kinds(kinds)
        self._writer_class = writer
        self._open = ExitStack()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        with ExitStack() as opening:
            opening.enter_context(locked(self._path))  # before the first connection
            reader = open_store(self._path)
            opening.callback(reader.close)
            written = open_store(self._path)
            opening.callback(written.close)
            super().__init__(reader, self._kinds)
            self._writer = self._writer_class(written, self._notify)
            self._writer.start()
            opening.callback(self._writer.stop)
            self._open = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def died(self) -> asyncio.Future[None]:
        """Fails when the writer died: the program cannot go on."""
        return self._writer.died

    @property
    def writable(self) -> bool:
        """Did the last append reach the disk?"""
        return not (self.died.done() or self._writer.failing)

    async def append(
        self,
        thread: str,
        event: E,
        *,
        key: str,
        author: str = "engine",
        cause: int | None = None,
        closes: Sequence[int] = (),
        fence: Fence | None = None,
        requires: int | None = None,
    ) -> tuple[Entry[E], bool]:
        """The entry under this key, and whether it is new, once it is on disk.

        Raises Fenced where another attempt has taken over, or the entry `requires` is no longer pending;
        ValueError for an event that is not JSON; JournalError where it cannot be written.
        """
        for name in (thread, key, author):
            if not name:
                raise ValueError(
                    f"an entry needs a thread, a key and an author; got {thread!r}, {key!r}, {author!r}"
                )
            name.encode()  # a name that is no text fails here, not in the writer
        closed = tuple(closes)
        row = Row(
            thread=thread,
            kind=event.kind,
            author=author,
            body=self.kinds.dump(event),
            key=key,
            cause=cause,
            closes=closed,
            at=self._clock.now(),
            pending=event.pending,
            leases=isinstance(event, LEASES),
        )
        try:
            seq = await self._writer.submit(row, fence, requires)
        except Conflict:
            found = self.get(key)
            if found is None:
                raise
            return cast(Entry[E], found), False
        entry = Entry(
            seq=seq, thread=thread, author=author, key=key, cause=cause, closes=closed, at=row.at, event=event
        )
        return entry, True

    async def follow(self, since: int) -> AsyncIterator[list[Entry[Event]]]:
        """All entries after this seq, as they come."""
        while True:
            changed = self._changed
            entries = self.since(since)
            if entries:
                since = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


@contextmanager
def reading(path: Path, kinds: Iterable[type[Event]]) -> Iterator[Reading]:
    """The journal at this path as it is at this moment; takes no lock, and can write nothing."""
    store = open_readonly(path)
    try:
        yield Reading(store, with_engine_kinds(kinds))
    finally:
        store.close()


def with_engine_kinds(kinds: Iterable[type[Event]]) -> Kinds:
    """The program's kinds, and those of the engine that it has no class of its own for."""
    own = list(kinds)
    taken = {each.kind for each in own}
    return Kinds([*own, *(each for each in ENGINE_KINDS if each.kind not in taken)])


def _names(kinds: Iterable[type[Event]]) -> list[str]:
    return [each.kind for each in kinds]


def _seqs(text: str) -> tuple[int, ...]:
    if text == "[]":
        return ()
    return tuple(int(part) for part in text.strip("[]").split(","))


@contextmanager
def _readable() -> Iterator[None]:
    """What goes wrong with the file while reading is a JournalError."""
    try:
        yield
    except sqlite3.Error as error:
        raise JournalError(f"The journal could not be read ({error}).") from error
