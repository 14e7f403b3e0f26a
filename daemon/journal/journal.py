"""The journal: append-only, the only memory. Everything else is folded from it.

Slack's inbox appends perceptions, turns append what they think and say, the console follows.
Reads are synchronous and small; the rules are in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from daemon.entry import Entry
from daemon.errors import JournalDamaged, JournalError
from daemon.journal.database import reason_of, sqlite
from daemon.journal.lock import locked
from daemon.journal.opening import fold_again, prepare
from daemon.journal.reading import Reading
from daemon.journal.writer import Conflict, Writer
from daemon.ports import Clock
from daemon.writable import writable_json

log = logging.getLogger(__name__)


class Journal(Reading):
    """An open journal on SQLite; an async context manager that holds its lock."""

    def __init__(self, path: Path, clock: Clock, writer: type[Writer] = Writer) -> None:
        self._path = path
        self._clock = clock
        self._writer_class = writer
        self._open = ExitStack()
        self._changed = asyncio.Event()
        self.damage = ""
        """What of it could not be read, and what to do; empty as long as all could be."""

    async def __aenter__(self) -> Journal:
        """Raises JournalError where it cannot be opened."""
        with ExitStack() as opening:
            opening.enter_context(locked(self._path))  # before the first connection
            engine = sqlite(self._path)
            opening.callback(engine.dispose)
            try:
                self._prepare(engine)
                reader = opening.enter_context(engine.connect())
                super().__init__(reader.execution_options(isolation_level="AUTOCOMMIT"))
            except SQLAlchemyError as error:
                raise JournalError(
                    f"{self._path} cannot be opened as a journal ({reason_of(error)}). "
                    "Make it this user's, put a copy back, or move it away to begin a new one."
                ) from error
            except JournalError as error:
                raise type(error)(f"{self._path} cannot be opened as a journal. {error}") from error
            self._writer = self._writer_class(engine, self._notify)
            self._writer.start()
            opening.callback(self._writer.stop)
            self._open = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _prepare(self, engine: Engine) -> None:
        with engine.begin() as connection:
            prepare(connection)
            try:
                fold_again(connection)
            except JournalDamaged as damage:  # what can be read may still be answered
                self._found(damage)

    def _found(self, damage: JournalDamaged) -> None:
        """An owner reads it once, and /healthz says it for as long as this daemon lives."""
        if not self.damage:
            log.critical("%s What needs what is damaged waits; all else goes on.", damage)
            self.damage = str(damage)

    @property
    def died(self) -> asyncio.Future[None]:
        """Fails when the writer died: the daemon cannot go on."""
        return self._writer.died

    @property
    def writable(self) -> bool:
        """Did the last append reach the disk?"""
        return not (self.died.done() or self._writer.failing)

    @property
    def well(self) -> bool:
        """Can it be written, and could all be read so far?"""
        return self.writable and not self.damage

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
        owed: int | None = None,
    ) -> tuple[Entry, bool]:
        """The entry under this key, and whether it is new, once it is on disk.

        `fence` is (thread, epoch): raises Fenced when a later attempt holds that thread; or where the debt
        `owed` is paid already. Raises ValueError for a body that is not JSON, JournalError when it cannot be
        written.
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
            "body": writable_json(json.dumps(dict(body), allow_nan=False)),
            "key": key,
            "cause": cause,
            "closes": json.dumps(list(closes)),
            "at": self._clock.now(),
        }
        try:
            return await self._writer.submit(row, fence, owed), True
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

    async def follow(self, since: int, limit: int = 1000) -> AsyncIterator[list[Entry]]:
        """All entries after this seq, as they come, so many at once."""
        while True:
            changed = self._changed
            if entries := self.since(since, limit):
                since = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
