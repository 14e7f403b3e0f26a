"""Full-text index of the journal, and search of messages and notes with this index.

A worker thread updates the index before each search. The index is rebuilt if its file is deleted or damaged,
or belongs to another journal or version, or is older than an erasure. It holds words only; results come from
the journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from sqlite3 import Connection
from threading import Event as Flag
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from daemon.engine.event import Entry, Event, digest, entry_as_json, normalized, root_of
from daemon.engine.journal.journal import BackgroundReader, Journal
from daemon.engine.journal.journal_file import PRIVATE
from daemon.engine.journal.reader import JournalReader
from daemon.engine.journal.rows import delete_database
from daemon.engine.kinds import EntriesErased
from daemon.kinds import (
    ConversationOpened,
    IncomingMessage,
    MemoryNote,
    NoteCorrected,
    OverheardMessage,
    PersonModelWritten,
    SpeechFinished,
)
from daemon.knowledge.visibility import KnownChannel, KnownChannels


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    """A message or note; `at` is in Unix seconds.

    `name` is a message's author (empty: the soul), or a note's subject.
    """

    kind: Literal["said", "remembered"]
    name: str
    place: str
    at: float
    text: str


VERSION = 1
"""Version of the index; raise it when a `fold` changes, to rebuild all indexes."""


SPAN = 2_000
"""Most entries indexed in one step, during which searches wait."""


PATIENCE = 30.0


MARK = "create table mark (version text, erased integer, seq integer, entry text)"
"""Table of the version, last erasure and last indexed entry, which identifies the journal."""


MEMORY = ":memory:"


ATTEMPTS = 3


Found = TypeVar("Found")


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """Tables for some kinds of entries; `fold` adds an entry, and may read older entries."""

    schema: str
    kinds: tuple[type[Event], ...]
    fold: Callable[[Connection, Entry[Any], JournalReader], None]


class FullTextIndex:
    """Index of a journal; a context manager while the journal is open."""

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
        # Worker thread only
        self._path: Path | None = journal.index_path
        self._failed = False
        self._reader: BackgroundReader | None = None
        self._database: Connection | None = None
        self._seen = 0
        self._erased = 0

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
        """Return a query's rows, after an update of limited time."""
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
        return await asyncio.get_running_loop().run_in_executor(self._thread, do)

    async def update(self) -> bool:
        """Index new entries; False if the time runs out first."""
        upto = self._journal.last_seq_of_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while not await self.run_in_thread(partial(self._advance, upto)):
                    pass
                return True
        return False

    # Worker thread

    def _update_parts(self) -> None:
        """Index in chunks between other calls. The next caller gets journal errors."""
        if self._closing.is_set():
            return
        upto = self._journal_reader().last_seq_of_all()
        if not self._advance(upto):
            self._thread.submit(self._update_parts)

    def _advance(self, upto: int) -> bool:
        try:
            self._fold(upto)
        except (sqlite3.Error, OSError) as error:
            self._rebuild_after(error)
            return False
        return self._seen >= upto

    def _fold(self, upto: int) -> None:
        journal = self._journal_reader()
        erased = max(journal.seqs_of_kind(EntriesErased), default=0)
        if self._database is None or erased != self._erased:  # an erasure also deletes the index file
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
        if self._database is None:
            return None
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # the query is invalid
                raise
            self._rebuild_after(error)
            return None

    def _journal_reader(self) -> BackgroundReader:
        self._reader = self._reader or self._journal.make_background_reader()
        return self._reader

    # File

    def _opened(self, erased: int) -> Connection:
        """Open the stored index, or an empty one.

        All its files exist before an entry is read, so that forgetting deletes them all.
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
        self._path.touch(mode=PRIVATE)  # SQLite's other files inherit this mode
        database = sqlite3.connect(self._path, timeout=0.1)
        for pragma in ("locking_mode = exclusive", "journal_mode = wal", "synchronous = normal"):
            database.execute(f"pragma {pragma}")
        database.execute("pragma temp_store = memory")  # no words in temporary files
        return database

    def _kept(self, database: Connection, erased: int) -> int | None:
        """Return the last indexed seq; None if the file belongs to another journal or version, or is older
        than an erasure.
        """
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
        """Rebuild the index in its file; after another failure, in memory, so that nobody
        waits for the disk.
        """
        self._leave()
        if self._failed or _is_busy(error):
            self._path = None
        where = ""
        if self._path is None:
            where = " in memory, until the next start"
        name = self._journal.index_path.name
        log.warning("Cannot use the search index %s (%s): rebuilding it%s.", name, error, where)
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
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY


TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"


MOST_TERMS = 32
"""Most terms of a query: more are slow."""


PREFIX = 4
"""Letters from which a search word also matches longer words."""


UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Letters of scripts without spaces, each of which counts as a word."""


GAP = "\u200b"


def as_indexed(text: str) -> str:
    """Return a text as it is indexed: valid for SQLite, with a gap after each letter of UNSPACED."""
    if text.isascii():
        return text
    text = normalized("NFC", text).encode(errors="replace").decode()
    return UNSPACED.sub(rf"\g<0>{GAP}", text)


def from_indexed(text: str) -> str:
    return text.replace(GAP, "")


def fts_query(query: str) -> str:
    """Build an FTS5 query that matches any of the words; empty without words.

    Punctuation is ignored, so every text makes a valid query.
    """
    terms: dict[str, None] = {}
    for word in as_indexed(query).split():
        terms |= dict.fromkeys(_terms(word))
    return " OR ".join([*terms][:MOST_TERMS])


def _terms(word: str) -> Iterator[str]:
    parts = [part for part in re.findall(r"\w+", word) if part.strip("_")]
    if len(parts) == 1:
        yield f'"{parts[0]}"' + "*" * (len(parts[0]) >= PREFIX)
    for first, second in pairwise(parts):
        yield f'"{first} {second}"'


def without_call_mention(text: str, name: str) -> str:
    """Remove mentions of the soul at the start and end of a text."""
    if not name or f"@{name}" not in text:
        return text
    call = rf"@{re.escape(name)}(?!\w)"
    return re.sub(rf"^(?:\s*{call}[,:]?\s*)+|(?:\s*{call})+\s*$", "", text) or text


Noted = MemoryNote | NoteCorrected


Worded = IncomingMessage | OverheardMessage | SpeechFinished | Noted
"""Events with words, without stops, presses and self-calls."""


HITS = 8


PAGE = 20


SCHEMA = f"""
create table place (thread text primary key, channel text);
create table line (
  seq integer primary key, first integer, thread text, channel text,
  message text unique, version text, at real
);
create index line_by_thread on line (thread, at);
create virtual table line_words using fts5 (name, text, content = '', {TOKENS})
"""


FIND = """
select line.seq, line.thread from line_words cross join line on line.seq = line_words.rowid
where line_words match :asked and line.channel in (select value from json_each(:channels))
  and not (line.thread = :thread and line.first >= :since)
order by bm25(line_words, 0.5, 1.0), line.at desc limit :most
"""


BACK = """
select seq, thread from line where thread = :thread and first < :since
order by at desc, first desc limit :most offset :skip
"""


GONE = "~"
"""Version of a deleted message, which sorts after all edits."""


class MessageSearch:
    """Search of messages that all readers of a conversation could have read. The index
    needs the part SAID.
    """

    def __init__(self, journal: Journal, places: KnownChannels, index: FullTextIndex, call: str = "") -> None:
        """Create the search; `call` is the soul's name, whose mentions are removed from texts."""
        self._call = call
        self._journal = journal
        self._places = places
        self._index = index

    @property
    def is_behind(self) -> bool:
        """True if the last search did not cover the newest entries."""
        return self._index.behind

    async def search(self, query: str, thread: str, since: int) -> Sequence[FoundMessage]:
        return await self._search(query, lambda: self._known(thread), thread, since)

    async def search_public(self, query: str, team: str) -> Sequence[FoundMessage]:
        """Search the messages that everyone in the workspace may know."""
        anyone = KnownChannel(number=0, team=team, channel="", name="", seqs=[0], audiences=["private"])
        return await self._search(query, lambda: self._places.visible_channels(anyone), "", 0)

    async def _search(
        self, query: str, find_known: Callable[[], Sequence[KnownChannel]], thread: str, since: int
    ) -> Sequence[FoundMessage]:
        await self._places.update()
        known = find_known()
        asked = fts_query(query)
        if not (known and asked):
            return ()
        channels = [_channel_key(channel.team, channel.channel) for channel in known]
        values = {
            "asked": asked,
            "channels": json.dumps(channels),
            "thread": thread,
            "since": since,
            "most": HITS,
        }
        found = await self._read(FIND, values)
        known = find_known()  # readers may have joined meanwhile
        return [said for channel, said in found if channel in known]

    async def earlier_page(self, thread: str, since: int, back: int = 1) -> Sequence[FoundMessage]:
        skip = (max(back, 1) - 1) * PAGE
        values = {"thread": thread, "since": since, "most": PAGE, "skip": skip}
        found = await self._read(BACK, values)
        return [said for _, said in reversed(found)]

    def _known(self, thread: str) -> list[KnownChannel]:
        here = self._places.channel_of(thread)
        if here is None:
            return []
        return self._places.visible_channels(here)

    async def _read(
        self, query: str, values: dict[str, Any]
    ) -> list[tuple[KnownChannel | None, FoundMessage]]:
        rows = await self._index.rows(query, values)
        found = []
        threads = dict(rows)
        for entry in self._journal.entries_at([*threads]):
            thread = threads[entry.seq]
            said = _worded_line(entry, self._places.name(thread))
            said = replace(said, text=without_call_mention(said.text, self._call))
            if said.text:  # empty if forgotten meanwhile
                found.append((self._places.channel_of(thread), said))
        return found


def _worded_line(entry: Entry[Worded], place: str) -> FoundMessage:
    event = entry.event
    files = [f"[file: {name}]" for name in _files(event)]
    text = "\n".join([event.text, *files])
    said = FoundMessage(kind="said", name=_name(event), place=place, at=_at(entry), text=text)
    if isinstance(event, Noted):
        return replace(said, kind="remembered")
    return said


def _ts(event: Worded) -> str:
    if isinstance(event, Noted):
        return ""
    return event.ts


def _at(entry: Entry[Worded]) -> float:
    return float(_ts(entry.event) or entry.at)


def _name(event: Worded) -> str:
    match event:
        case MemoryNote():
            return event.about
        case SpeechFinished() | OverheardMessage(is_own=True):
            return ""
    return event.name


def _files(event: Worded) -> Sequence[str]:
    if isinstance(event, IncomingMessage | OverheardMessage):
        return [file.name for file in event.files]
    return ()


def _version(key: str, event: Worded) -> str:
    match event:
        case OverheardMessage(note="deleted"):
            return GONE
        case OverheardMessage(note="edited"):
            return key.rpartition(":")[2].zfill(24)
        case NoteCorrected(of=of):
            return str(of).zfill(24)
    return ""


def _channel_key(team: str, channel: str) -> str:
    return f"{team}:{channel}"


def _corrected_entry(entry: Entry[Any], journal: JournalReader) -> Entry[Any] | None:
    while isinstance(entry.event, NoteCorrected):
        corrected = journal.readable_entries([entry.event.of])
        if not corrected:
            return None
        [entry] = corrected
    return entry


def _fold_entry(database: Connection, entry: Entry[Any], journal: JournalReader) -> None:
    event = entry.event
    if isinstance(event, ConversationOpened):
        values = (entry.thread, _channel_key(event.team, event.channel))
        database.execute("insert or ignore into place values (?, ?)", values)
    else:
        line = _write_entry(database, entry, journal)
        if line:
            _write_line(database, line)


def _write_entry(database: Connection, entry: Entry[Worded], journal: JournalReader) -> dict[str, Any] | None:
    noted = _corrected_entry(entry, journal)
    if noted is None or isinstance(noted.event, PersonModelWritten):
        return None
    root = root_of(noted.thread)
    place = database.execute("select channel from place where thread = ?", (root,)).fetchone()
    if place is None:
        return None
    [channel] = place
    event = entry.event
    line = {
        "seq": entry.seq,
        "thread": noted.thread,
        "channel": channel,
        "message": noted.key,
        "version": _version(entry.key, event),
        "at": _at(entry),
        "name": as_indexed(_name(event)),
        "text": as_indexed("\n".join([event.text, *_files(event)])),
    }
    ts = _ts(event)
    if ts:
        line["message"] = f"{channel}:{ts}"
    return line


def _write_line(database: Connection, line: dict[str, Any]) -> None:
    row = line | {"first": line["seq"]}
    known = database.execute("select first, version from line where message = :message", line).fetchone()
    if known:
        row["first"], version = known
        if line["version"] <= version:
            return
        database.execute("delete from line where message = :message", line)
    if line["version"] == GONE:
        row |= {"thread": None, "channel": None}
    database.execute(
        "insert into line values (:seq, :first, :thread, :channel, :message, :version, :at)", row
    )
    database.execute("insert into line_words (rowid, name, text) values (:seq, :name, :text)", row)


SAID = IndexPart(
    schema=SCHEMA,
    kinds=(ConversationOpened, IncomingMessage, OverheardMessage, SpeechFinished, MemoryNote, NoteCorrected),
    fold=_fold_entry,
)
