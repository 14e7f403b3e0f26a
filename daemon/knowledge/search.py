"""What stands in a journal, to be found by its words: a full text index in a file of its own beside it.

A projection, brought up to date in a thread of its own, at the start and before whatever is looked up. The
file may be deleted at any time. It is made anew where it is of another journal or version, or damaged, or
from before words were forgotten: whoever forgets deletes it (`Journal.index_path`).

How texts go into a full text index, and words become a question.

What was said to and by the soul, and what it noted, to be looked up. The Memories port.

The index is folded from the journal and holds words only; what is shown is read from there, as it is now.
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
from typing import Any, Literal, Protocol, Self, TypeVar

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
    """Something that was said, or that the soul wanted to remember, at `at` (Unix seconds).

    `name` is who said it (empty: the soul), or whom it is about (empty: nobody).
    """

    kind: Literal["said", "remembered"]
    name: str
    place: str
    at: float
    text: str


class Memories(Protocol):
    """What was said and noted, to be looked up where it may be known. What came after `since` is in sight."""

    @property
    def is_behind(self) -> bool:
        """Was what was written last not searched yet, when something was looked up last?"""

    async def search(self, query: str, thread: str, since: int) -> Sequence[FoundMessage]:
        """What fits best, and all readers of `thread` could have read; of itself, what is before `since`."""

    async def earlier_page(self, thread: str, since: int, back: int = 1) -> Sequence[FoundMessage]:
        """A page of what was said in this thread before `since`, oldest first; page 1 is the latest."""


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


TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"


MOST_TERMS = 32
"""Terms of one question; more would only make it slow."""


PREFIX = 4
"""A word of so many letters also finds the words that begin with it."""


UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Letters of scripts that put no spaces between words: each is a word to us."""


GAP = "\u200b"


def as_indexed(text: str) -> str:
    """A text as it goes into an index: nothing that SQLite refuses, and a gap after each unspaced letter."""
    if text.isascii():
        return text
    text = normalized("NFC", text).encode(errors="replace").decode()
    return UNSPACED.sub(rf"\g<0>{GAP}", text)


def from_indexed(text: str) -> str:
    """An indexed text as it was."""
    return text.replace(GAP, "")


def fts_query(query: str) -> str:
    """Words as a question in FTS5's syntax, for any of them; empty if there are none.

    Whatever stands between letters and digits means nothing in it: no text is a wrong question.
    """
    terms: dict[str, None] = {}
    for word in as_indexed(query).split():
        terms |= dict.fromkeys(_terms(word))
    return " OR ".join([*terms][:MOST_TERMS])


def _terms(word: str) -> Iterator[str]:
    """A word, or each two neighbours of one that has several parts (daemon/ism.py)."""
    parts = [part for part in re.findall(r"\w+", word) if part.strip("_")]
    if len(parts) == 1:
        yield f'"{parts[0]}"' + "*" * (len(parts[0]) >= PREFIX)
    for first, second in pairwise(parts):
        yield f'"{first} {second}"'


def without_call_mention(text: str, name: str) -> str:
    """Return what somebody said without the mention that calls the soul, `@Name`, before it or after it."""
    if not name or f"@{name}" not in text:
        return text
    call = rf"@{re.escape(name)}(?!\w)"
    return re.sub(rf"^(?:\s*{call}[,:]?\s*)+|(?:\s*{call})+\s*$", "", text) or text


Noted = MemoryNote | NoteCorrected


Worded = IncomingMessage | OverheardMessage | SpeechFinished | Noted
"""What somebody said, changed or noted: no stop, no press, and nothing that the soul told itself."""


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
"""Comes after the ts of every edit."""


class MessageSearch:
    """Finds what was said, wherever those who read a conversation now could have read it then.

    The index has the part SAID.
    """

    def __init__(self, journal: Journal, places: KnownChannels, index: FullTextIndex, call: str = "") -> None:
        """`call` is what the soul is called in Slack: how people call it is left out of their words."""
        self._call = call
        self._journal = journal
        self._places = places
        self._index = index

    @property
    def is_behind(self) -> bool:
        """Was what was written last not searched yet, when something was looked up last?"""
        return self._index.behind

    async def search(self, query: str, thread: str, since: int) -> Sequence[FoundMessage]:
        """What fits best; but of `thread` itself only what is older than the entry `since`."""
        await self._places.update()
        known = self._known(thread)
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
        known = self._known(thread)  # while it waited, others may have come
        return [said for channel, said in found if channel in known]

    async def earlier_page(self, thread: str, since: int, back: int = 1) -> Sequence[FoundMessage]:
        """A page of what was said in this thread before the entry `since`, oldest first; 1 is the latest."""
        skip = (max(back, 1) - 1) * PAGE
        values = {"thread": thread, "since": since, "most": PAGE, "skip": skip}
        found = await self._read(BACK, values)
        return [said for _, said in reversed(found)]

    def _known(self, thread: str) -> list[KnownChannel]:
        """The channels of which what was said may be known in this thread."""
        here = self._places.channel_of(thread)
        if here is None:
            return []
        return self._places.visible_channels(here)

    async def _read(
        self, query: str, values: dict[str, Any]
    ) -> list[tuple[KnownChannel | None, FoundMessage]]:
        """What was said, each with the channel where it may be known."""
        rows = await self._index.rows(query, values)
        found = []
        threads = dict(rows)
        for entry in self._journal.entries_at([*threads]):
            thread = threads[entry.seq]
            said = _worded_line(entry, self._places.name(thread))
            said = replace(said, text=without_call_mention(said.text, self._call))
            if said.text:  # else it was forgotten since
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
    """Who said it, or whom a note is about; empty for the soul, and for nobody."""
    match event:
        case MemoryNote():
            return event.about
        case SpeechFinished() | OverheardMessage(is_own=True):
            return ""
    return event.name  # of a correction: whose note it is


def _files(event: Worded) -> Sequence[str]:
    if isinstance(event, IncomingMessage | OverheardMessage):
        return [file.name for file in event.files]
    return ()


def _version(key: str, event: Worded) -> str:
    """What comes after the versions of the changes before it; empty for what nobody has changed."""
    match event:
        case OverheardMessage(note="deleted"):
            return GONE
        case OverheardMessage(note="edited"):
            return key.rpartition(":")[2].zfill(24)
        case NoteCorrected(of=of):
            return str(of).zfill(24)
    return ""


def _channel_key(team: str, channel: str) -> str:
    """A channel, as the index names it."""
    return f"{team}:{channel}"


def _corrected_entry(entry: Entry[Any], journal: JournalReader) -> Entry[Any] | None:
    """What a correction is of, in the end; else the entry itself: there it stands, and may be known. None:
    that is damaged."""
    while isinstance(entry.event, NoteCorrected):
        corrected = journal.readable_entries([entry.event.of])
        if not corrected:
            return None
        [entry] = corrected
    return entry


def _fold_entry(database: Connection, entry: Entry[Any], journal: JournalReader) -> None:
    """Note where a conversation is, or what was said in one."""
    event = entry.event
    if isinstance(event, ConversationOpened):
        values = (entry.thread, _channel_key(event.team, event.channel))
        database.execute("insert or ignore into place values (?, ?)", values)
    else:
        line = _write_entry(database, entry, journal)
        if line:
            _write_line(database, line)


def _write_entry(database: Connection, entry: Entry[Worded], journal: JournalReader) -> dict[str, Any] | None:
    """What the index keeps of an entry, if it was said in Slack."""
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
    """One line more, in the place of what the same message read before; one that is gone stands nowhere."""
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
"""What the index holds of all that was said and noted."""
