"""What stands in a journal, to be found by its words: a full text index in a file of its own beside it.

A projection, brought up to date in a thread of its own, at the start and before whatever is looked up. The
file may be deleted at any time. It is made anew where it is of another journal or version, or damaged, or
from before words were forgotten: whoever forgets deletes it (`Journal.index_path`).
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from threading import Event as Flag
from types import TracebackType
from typing import Any, Self, TypeVar

from daemon.engine.beside import BackgroundReader
from daemon.engine.erasing import EntriesErased
from daemon.engine.event import Entry, Event, digest, entry_as_json
from daemon.engine.journal import Journal
from daemon.engine.lock import PRIVATE
from daemon.engine.reading import JournalReader
from daemon.engine.store import delete_database

VERSION = 1
"""Of what is made of entries: raise it where something else is made of them, and every index is made anew."""
SPAN = 2_000
"""Entries that are gone through at once: whoever looks something up meanwhile waits for that."""
PATIENCE = 30.0
"""Seconds that one waits at the most until it is up to date; then what is in it by then is searched."""
MARK = "create table mark (version text, erased integer, seq integer, entry text)"
"""One row: what it is made by, which words were forgotten before, and the last entry that is in it, by which
its journal is known again."""
MEMORY = ":memory:"
ATTEMPTS = 3
"""At looking something up, while the file fails."""

Found = TypeVar("Found")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """What is kept of some kinds of entries: the tables, and how an entry goes into them.

    `fold` may read other entries, older ones only.
    """

    schema: str
    kinds: tuple[type[Event], ...]
    fold: Callable[[Connection, Entry[Any], JournalReader], None]


class FullTextIndex:
    """The index of this journal, with these parts; a context manager, inside of which the journal is open."""

    def __init__(self, journal: Journal, parts: Sequence[IndexPart], patience: float = PATIENCE) -> None:
        self._journal = journal
        self._parts = parts
        self._patience = patience
        self._kinds = set[type[Event]]()
        for part in parts:
            self._kinds.update(part.kinds)
        self._version = digest([VERSION, *(part.schema for part in parts)])
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        self._closing = Flag()
        self.behind = False
        """Was not all in it that it should hold, when something was looked up last?"""
        # What follows is the thread's alone.
        self._path: Path | None = journal.index_path
        """None: it is kept in memory, since the file could not be used."""
        self._failed = False
        self._reader: BackgroundReader | None = None
        self._database: Connection | None = None
        self._seen = 0
        """Up to this entry all is in it."""
        self._erased = 0
        """The last entry that said, when it was made, that words are erased: none of those is in it."""

    def __enter__(self) -> Self:
        self._thread.submit(self._update_parts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.submit(self._close)
        self._thread.shutdown()

    async def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What this query comes to. It waits until all that was written by now is in it, but not for ever."""
        for _ in range(ATTEMPTS):
            self.behind = not await self.update()
            found = await self.run_in_thread(partial(self._find, query, values))
            if self.behind:
                self._thread.submit(self._update_parts)
            if found is not None:
                return found
        self.behind = True
        return []

    async def run_in_thread(self, do: Callable[[], Found]) -> Found:
        """Do this in its thread. Whoever waits for it may give up; it goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, do)

    async def update(self) -> bool:
        """Take in what was written by now. False: that takes longer than anybody waits, and goes on."""
        upto = self._journal.last_seq_of_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while not await self.run_in_thread(partial(self._advance, upto)):
                    pass
                return True
        return False

    # In its thread

    def _update_parts(self) -> None:
        """Bring it up to date, part by part, so that others come between. What goes wrong with the journal is
        for whoever asks next."""
        if self._closing.is_set():
            return
        upto = self._journal_reader().last_seq_of_all()
        if not self._advance(upto):
            self._thread.submit(self._update_parts)

    def _advance(self, upto: int) -> bool:
        """Take in some of what was written up to this entry. Is that all of it?"""
        try:
            self._fold(upto)
        except (sqlite3.Error, OSError) as error:
            self._rebuild_after(error)
            return False
        return self._seen >= upto

    def _fold(self, upto: int) -> None:
        journal = self._journal_reader()
        erased = max(journal.seqs_of_kind(EntriesErased), default=0)
        if self._database is None or erased != self._erased:  # words were forgotten, and the file is gone
            self._database = self._opened(erased)
        last = min(upto, self._seen + SPAN)
        entries = journal.entries_between(self._seen, last, *self._kinds)
        if entries:
            with self._database:
                for entry in entries:
                    self._take(self._database, entry, journal)
                newest = entries[-1]
                mark = (newest.seq, digest(entry_as_json(newest)))
                self._database.execute("update mark set seq = ?, entry = ?", mark)
        self._seen = max(self._seen, last)

    def _take(self, database: Connection, entry: Entry[Any], journal: JournalReader) -> None:
        for part in self._parts:
            if isinstance(entry.event, part.kinds):
                part.fold(database, entry, journal)

    def _find(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]] | None:
        """None: it cannot be read, and is made anew."""
        if self._database is None:
            return None
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # the question is wrong
                raise
            self._rebuild_after(error)
            return None

    def _journal_reader(self) -> BackgroundReader:
        self._reader = self._reader or self._journal.make_background_reader()
        return self._reader

    # The file

    def _opened(self, erased: int) -> Connection:
        """The index as it was kept; or one anew, which knows nothing yet.

        Its files are all there before any entry is read into it: so those who forget delete them all.
        """
        self._leave()
        database = self._connected()
        seq = self._kept(database, erased)
        if seq is None:
            database.close()
            self._delete()
            database = self._connected()
            database.execute(MARK)
            for part in self._parts:
                for statement in part.schema.split(";"):
                    database.execute(statement)
            with database:
                database.execute("insert into mark values (?, ?, 0, '')", (self._version, erased))
        self._seen = seq or 0
        self._erased = erased
        return database

    def _connected(self) -> Connection:
        if self._path is None:
            return sqlite3.connect(MEMORY)
        self._path.touch(mode=PRIVATE)  # SQLite gives its other files the mode of this one
        database = sqlite3.connect(self._path, timeout=0.1)
        for pragma in ("locking_mode = exclusive", "journal_mode = wal", "synchronous = normal"):
            database.execute(f"pragma {pragma}")
        database.execute("pragma temp_store = memory")  # words stand in no other file
        return database

    def _kept(self, database: Connection, erased: int) -> int | None:
        """Up to which entry it is made, if it is made of this journal, as it is made now."""
        try:
            version, before, seq, last = database.execute("select * from mark").fetchone()
        except (sqlite3.Error, TypeError, ValueError) as error:
            if _is_busy(error):
                raise
            return None
        if (version, before) != (self._version, erased):
            return None
        there = [
            digest(entry_as_json(entry))
            for entry in self._journal_reader().entries_between(seq - 1, seq, Event)
        ]
        return seq if seq == 0 or there == [last] else None

    def _rebuild_after(self, error: Exception) -> None:
        """It is made anew: once in its file, then in memory, so that nobody ever waits for the disk."""
        self._leave()
        if self._failed or _is_busy(error):
            self._path = None
        where = ""
        if self._path is None:
            where = " in memory, until the next start"
        name = self._journal.index_path.name
        log.warning(
            "The index of what was said, %s, cannot be used (%s): it is made anew%s.", name, error, where
        )
        self._failed = True
        with suppress(OSError):
            self._delete()

    def _delete(self) -> None:
        if self._path is not None:
            delete_database(self._path)

    def _leave(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def _close(self) -> None:
        self._leave()
        if self._reader is not None:
            self._reader.close()


def _is_busy(error: Exception) -> bool:
    """Does somebody else have the file?"""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
