"""What was said to and by the soul, and what it noted, to be looked up. The Memories port.

The index is folded from the journal and holds words only; what is shown is read from there, as it is now.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.engine.reading import JournalReader
from daemon.kinds import (
    ConversationOpened,
    IncomingMessage,
    MemoryNote,
    NoteCorrected,
    OverheardMessage,
    PersonModelWritten,
    SpeechFinished,
)
from daemon.knowledge.index import TOKENS, as_indexed, fts_query
from daemon.knowledge.journal_index import FullTextIndex, IndexPart
from daemon.knowledge.naming import without_call_mention
from daemon.knowledge.places import KnownChannel, KnownChannels
from daemon.ports import FoundMessage

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
