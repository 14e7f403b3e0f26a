"""The journal: append-only, the only memory. Everything else is folded from it.

Slack's inbox appends perceptions, turns append what they think and say, the console follows.
Reads are synchronous and small; the rules are in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select
from sqlalchemy.exc import SQLAlchemyError

from daemon.entry import Entry
from daemon.errors import JournalError
from daemon.journal.database import readable, sqlite
from daemon.journal.lock import locked
from daemon.journal.schema import DEBT, ENTRY, LEASE, METADATA
from daemon.journal.writer import Conflict, Writer, read
from daemon.ports import Clock

CHUNK = 500
"""How many seqs one query asks for; databases bound the number of parameters."""


class Journal:
    """An open journal on SQLite; an async context manager that holds its lock."""

    def __init__(self, path: Path, clock: Clock, writer: type[Writer] = Writer) -> None:
        self._path = path
        self._clock = clock
        self._writer_class = writer
        self._open = ExitStack()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Journal:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opening:
            opening.enter_context(locked(self._path))  # before the first connection
            engine = sqlite(self._path)
            opening.callback(engine.dispose)
            try:
                METADATA.create_all(engine)
                self._reader = opening.enter_context(engine.connect()).execution_options(
                    isolation_level="AUTOCOMMIT"
                )
            except SQLAlchemyError as error:
                reason = getattr(error, "orig", None) or error
                raise JournalError(
                    f"{self._path} cannot be opened as a journal ({reason}). "
                    "Put a copy back, or move it away to begin a new one."
                ) from error
            self._writer = self._writer_class(engine, self._notify)
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
        """Fails when the writer died: the daemon cannot go on."""
        return self._writer.died

    @property
    def writable(self) -> bool:
        """Did the last append reach the disk?"""
        return not (self.died.done() or self._writer.failing)

    async def append(
        self,
        thread: str,
        kind: str,
        body: Mapping[str, Any],
        *,
        key: str,
        author: str = "soul",
        cause: int | None = None,
        closes: Sequence[int] = (),
        fence: tuple[str, int] | None = None,
    ) -> tuple[Entry, bool]:
        """The entry under this key, and whether it is new, once it is on disk.

        `fence` is (thread, epoch): raises Fenced when a later attempt holds that thread. Raises
        ValueError for a body that is not JSON, JournalError when it cannot be written.
        """
        if not (thread and kind and key and author):
            raise ValueError(
                f"an entry needs thread, kind, key and author; got {thread!r} {kind!r} {key!r} {author!r}"
            )
        "".join((thread, kind, key, author)).encode()  # a name that is no text fails here, not in the writer
        row = {
            "thread": thread,
            "kind": kind,
            "author": author,
            "body": json.dumps(dict(body), allow_nan=False),
            "key": key,
            "cause": cause,
            "closes": json.dumps(list(closes)),
            "at": self._clock.now(),
        }
        try:
            return await self._writer.submit(row, fence), True
        except Conflict:
            if (found := self.get(key)) is None:
                raise
            return found, False

    async def thread(self, key: str, body: Mapping[str, Any]) -> tuple[Entry, bool]:
        """The `thread` entry of a conversation; its id is assigned when it is new.

        Eight digits collide at about nine thousand conversations: on conflict, one digit more.
        """
        digits = hashlib.sha256(key.encode()).hexdigest()
        for length in range(8, len(digits)):
            try:
                return await self.append(f"sess-{digits[:length]}", "thread", body, key=key, author="core")
            except Conflict:
                continue
        raise JournalError(f"no free id for {key}")

    def held(self, thread: str, epoch: int) -> bool:
        """Is the attempt that began at `epoch` still the latest at this thread?"""
        return self._scalar(select(LEASE.c.epoch).where(LEASE.c.thread == thread)) == epoch

    def get(self, key: str) -> Entry | None:
        """The entry under this key."""
        return next(iter(self._select(ENTRY.c.key == key)), None)

    def at(self, seq: int) -> Entry:
        """The entry of this seq; raises KeyError when there is none."""
        for entry in self._select(ENTRY.c.seq == seq):
            return entry
        raise KeyError(seq)

    def many(self, seqs: Sequence[int]) -> list[Entry]:
        """The entries of these seqs, in the order given."""
        found: dict[int, Entry] = {}
        for start in range(0, len(seqs), CHUNK):
            found |= {e.seq: e for e in self._select(ENTRY.c.seq.in_(seqs[start : start + CHUNK]))}
        return [found[seq] for seq in seqs]

    def under(self, path: str) -> list[Entry]:
        """The entries whose key begins with `path/`."""
        return self._select(ENTRY.c.key >= path + "/", ENTRY.c.key < path + "0")  # "0" follows "/"

    def of(self, thread: str, *kinds: str, since: int = 0) -> list[Entry]:
        """A thread's entries of these kinds (of all, where none is named) after seq `since`, in order."""
        chosen = [ENTRY.c.kind.in_(kinds)] if kinds else []
        return self._select(ENTRY.c.thread == thread, ENTRY.c.seq > since, *chosen)

    def latest(self, thread: str, kind: str, before: int | None = None) -> Entry | None:
        """A thread's last entry of this kind, before seq `before` if given."""
        where = [ENTRY.c.thread == thread, ENTRY.c.kind == kind]
        if before is not None:
            where.append(ENTRY.c.seq < before)
        return next(iter(self._select(*where, limit=1, last=True)), None)

    def kind(self, kind: str, since: float = 0.0) -> list[Entry]:
        """All entries of a kind, from this time on."""
        return self._select(ENTRY.c.kind == kind, ENTRY.c.at >= since)

    def open(self, *kinds: str, thread: str | None = None) -> list[Entry]:
        """The entries of these kinds whose debt nobody has paid yet."""
        debts = select(DEBT.c.seq).where(DEBT.c.kind.in_(kinds))
        if thread is not None:
            debts = debts.where(DEBT.c.thread == thread)
        return self._select(ENTRY.c.seq.in_(debts))

    def is_open(self, seq: int) -> bool:
        """Is the debt of this entry still unpaid?"""
        return self._scalar(select(DEBT.c.seq).where(DEBT.c.seq == seq)) is not None

    def since(self, seq: int, limit: int = 1000) -> list[Entry]:
        """The entries after this seq, oldest first."""
        return self._select(ENTRY.c.seq > seq, limit=limit)

    def last(self) -> int:
        """The newest seq; 0 in an empty journal."""
        return self._scalar(select(func.max(ENTRY.c.seq))) or 0

    async def follow(self, since: int) -> AsyncIterator[list[Entry]]:
        """All entries after this seq, as they come."""
        while True:
            changed = self._changed
            if entries := self.since(since):
                since = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    def projections(self, connection: Connection | None = None) -> dict[str, list[tuple[Any, ...]]]:
        """The folded tables, row by row: what a replay must give again."""
        source = connection or self._reader
        return {
            t.name: [tuple(r) for r in source.execute(select(t).order_by(*t.primary_key))]
            for t in (DEBT, LEASE)
        }

    def _select(
        self, *where: ColumnElement[bool], limit: int | None = None, last: bool = False
    ) -> list[Entry]:
        order = ENTRY.c.seq.desc() if last else ENTRY.c.seq
        with readable():
            rows = self._reader.execute(select(ENTRY).where(*where).order_by(order).limit(limit))
            return [read(**row) for row in rows.mappings()]

    def _scalar(self, query: Select[int]) -> int | None:
        with readable():
            found: int | None = self._reader.execute(query).scalar()
            return found

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
