"""What was said to and by the soul, and what it noted, to be looked up. The Memories port.

The index is folded from the journal and holds words only; what is shown is read from there, as it is now.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.kinds import Corrected, Heard, Message, PersonLearned, Remembered, Spoken
from daemon.knowledge.index import TOKENS, Index, indexed, question
from daemon.knowledge.places import Places
from daemon.ports import Said

Worded = Message | Heard | Spoken | Remembered | Corrected
"""What somebody said, changed or noted: no stop, no press, and nothing that the soul told itself."""
CHUNK = 100
"""Entries that are folded at once, while the daemon has nothing else to do for some milliseconds."""
HITS = 8
PAGE = 20

SCHEMA = f"""
create table line (
  seq integer primary key, first integer, thread text, channel integer,
  message text unique, version text, at real
);
create index line_by_thread on line (thread, at);
create virtual table words using fts5 (name, text, content = '', {TOKENS});
"""
FIND = """
select line.seq from words cross join line on line.seq = words.rowid
where words match :asked and line.channel in (select value from json_each(:channels))
  and not (line.thread = :thread and line.first >= :since)
order by bm25(words, 0.5, 1.0), line.at desc limit :most
"""
BACK = """
select seq from line where thread = :thread and first < :since
order by at desc, first desc limit :most offset :skip
"""
GONE = "~"
"""Comes after the ts of every edit."""


class Memories(Index):
    """Finds what was said, wherever those who read a conversation now could have read it then."""

    def __init__(self, journal: Journal, places: Places) -> None:
        super().__init__(SCHEMA)
        self._journal = journal
        self._places = places
        self._folded = 0
        self._erasures = 0

    async def search(self, query: str, thread: str, since: int) -> Sequence[Said]:
        """What fits best; but of `thread` itself only what is older than the entry `since`."""
        await self._places.ready()
        here, asked = self._places.of(thread), question(query)
        if not (here and asked):
            return ()
        await self.update()
        channels = json.dumps([channel.number for channel in self._places.known(here)])
        values = {"asked": asked, "channels": channels, "thread": thread, "since": since, "most": HITS}
        return await self._read(FIND, values)

    async def earlier(self, thread: str, since: int, back: int = 1) -> Sequence[Said]:
        """A page of what was said in this thread before the entry `since`, oldest first; 1 is the latest."""
        await self.update()
        values = {"thread": thread, "since": since, "most": PAGE, "skip": (max(back, 1) - 1) * PAGE}
        return (await self._read(BACK, values))[::-1]

    async def update(self) -> None:
        """Fold what came since. A hundred thousand entries take some seconds; nobody else waits for that."""
        if self._journal.erasures != self._erasures:  # words were forgotten
            self._erasures = self._journal.erasures
            await self.ask(self._begin_anew)
        since = self._folded
        while entries := self._journal.since(since, CHUNK):
            since = entries[-1].seq
            await self._take(entries)
            await asyncio.sleep(0)

    def _begin_anew(self, database: Connection) -> None:
        """As it was when it was made: not a word of the old index is left in memory."""
        database.execute("drop table line")
        database.execute("drop table words")
        for statement in SCHEMA.split(";"):
            database.execute(statement)
        self._folded = 0

    async def _take(self, entries: Sequence[Entry[Event]]) -> None:
        lines = list(filter(None, map(self._line, entries)))
        last = entries[-1].seq

        def fold(database: Connection) -> None:
            if last > self._folded:  # else another search came first
                for line in lines:
                    _fold(database, line)
                self._folded = last

        await self.ask(fold)

    def _line(self, entry: Entry[Event]) -> dict[str, Any] | None:
        """What the index keeps of an entry, if it holds words."""
        event = entry.event
        if not isinstance(event, Worded):
            return None
        noted = self._noted(entry)
        channel = self._places.of(noted.thread)
        if channel is None or isinstance(noted.event, PersonLearned):
            return None
        ts = _ts(event)
        return {
            "seq": entry.seq,
            "thread": noted.thread,
            "channel": channel.number,
            "message": f"{channel.number}:{ts}" if ts else noted.key,
            "version": _version(entry.key, event),
            "at": float(ts or entry.at),
            "name": indexed(_name(event)),
            "text": indexed("\n".join([event.text, *_files(event)])),
        }

    def _noted(self, entry: Entry[Any]) -> Entry[Any]:
        """What a correction is of, in the end; else the entry itself: there it stands, and may be known."""
        while isinstance(entry.event, Corrected):
            entry = self._journal.at(entry.event.of)
        return entry

    async def _read(self, query: str, values: dict[str, Any]) -> list[Said]:
        rows = await self.ask(lambda database: database.execute(query, values).fetchall())
        found = []
        for entry in self._journal.many([seq for (seq,) in rows]):
            said = self._said(entry)
            if said.text:  # else it was forgotten since
                found.append(said)
        return found

    def _said(self, entry: Entry[Worded]) -> Said:
        channel, event = self._places.of(self._noted(entry).thread), entry.event
        files = [f"[file: {file}]" for file in _files(event)]
        return Said(
            kind="remembered" if isinstance(event, Remembered | Corrected) else "said",
            name=_name(event),
            place=channel.name if channel else "",
            at=float(_ts(event) or entry.at),
            text="\n".join([event.text, *files]),
        )


def _ts(event: Worded) -> str:
    return "" if isinstance(event, Remembered | Corrected) else event.ts


def _name(event: Worded) -> str:
    """Who said it, or whom a note is about; empty for the soul, and for nobody."""
    if isinstance(event, Remembered):
        return event.about
    return "" if isinstance(event, Spoken) else event.name  # of a correction: whose note it is


def _files(event: Worded) -> Sequence[str]:
    if not isinstance(event, Message | Heard):
        return ()
    return [file.name for file in event.files]


def _version(key: str, event: Worded) -> str:
    """What comes after the versions of the changes before it; empty for what nobody has changed."""
    match event:
        case Heard(note="deleted"):
            return GONE
        case Heard(note="edited"):
            return key.rpartition(":")[2].zfill(24)
        case Corrected(of=of):
            return str(of).zfill(24)
    return ""


def _fold(database: Connection, line: dict[str, Any]) -> None:
    """One line more, in the place of what the same message read before; one that is gone stands nowhere."""
    known = database.execute("select first, version from line where message = :message", line).fetchone()
    first, version = known or (line["seq"], "")
    if known and line["version"] <= version:
        return
    database.execute("delete from line where message = :message", line)
    row = line | {"first": first}
    if line["version"] == GONE:
        row |= {"thread": None, "channel": None}
    database.execute(
        "insert into line values (:seq, :first, :thread, :channel, :message, :version, :at)", row
    )
    database.execute("insert into words (rowid, name, text) values (:seq, :name, :text)", row)
