"""The words of the records, in the journal's index to find them by.

It holds words only: what is shown is read from the journal, and whether it may be is for the records to say.
Old words of a record that was changed or deleted stay in it, but lead nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from sqlite3 import Connection

from daemon.engine.event import Entry
from daemon.engine.reading import JournalReader
from daemon.inner.record import CONCEPTS, RECORD_TEXT, record_change
from daemon.kinds import CommandRan
from daemon.knowledge.index import TOKENS, as_indexed, fts_query
from daemon.knowledge.journal_index import FullTextIndex, IndexPart

SCHEMA = f"""
create table record (wrote integer primary key, id integer, family text, view text, name text, tags text);
create index record_by_id on record (id);
create virtual table record_words using fts5 (name, text, tags, content = '', {TOKENS})
"""
FIND = """
select record.id from record_words cross join record on record.wrote = record_words.rowid
where record_words match :asked
  and record.family = :family and record.view in (select value from json_each(:views))
order by bm25(record_words, 2.0, 1.0, 1.0), record.id desc limit :most
"""
NAMING = """
select record.id from record_words cross join record on record.wrote = record_words.rowid
where record_words match :asked
"""
KNOWN = "select name, tags from record where id = ? and family = ?"
DROP = "delete from record where id = ? and family = ?"
PUT = "insert into record values (:wrote, :id, :family, :view, :name, :tags)"
WORDS = "insert into record_words (rowid, name, text, tags) values (:wrote, :name, :text, :tags)"


class RecordSearch:
    """Finds records by their words, as they are now. The index has the part RECORDS."""

    def __init__(self, index: FullTextIndex) -> None:
        self._index = index

    async def find(self, family: str, query: str, views: Iterable[str], most: int) -> list[int]:
        """The records of a family that were written in one of these views, what fits best first."""
        asked = fts_query(query)
        if not asked:
            return []
        values = {"asked": asked, "family": family, "views": json.dumps([*views]), "most": most}
        return await self._numbers(FIND, values)

    async def naming(self, names: Collection[str]) -> list[int]:
        """The records in whose words one of these names stands, in any view, unordered."""
        phrases = [" ".join(re.findall(r"\w+", as_indexed(name))) for name in names]
        asked = " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
        if not asked:
            return []
        return await self._numbers(NAMING, {"asked": asked})

    async def _numbers(self, query: str, values: Mapping[str, object]) -> list[int]:
        return [number for (number,) in await self._index.rows(query, values)]


def _fold(database: Connection, entry: Entry[CommandRan], _: JournalReader) -> None:
    """Note what a command has made of the words of a record, as records.py does of all else."""
    family, verb = record_change(entry.event)
    if not family:
        return
    args = entry.event.args
    name = as_indexed(args.get("name") or "")
    if verb == "add":
        ends = [_end(database, str(args[end])) for end in ("from", "to") if args.get(end)]
        tags = as_indexed("\n".join(args.get("tags") or ()))
        _put(database, entry, entry.seq, " ".join([name, *ends]), tags)
    elif verb == "change":
        number = args.get("id", 0)
        for former, tags in database.execute(KNOWN, (number, family)).fetchall():
            database.execute(DROP, (number, family))
            _put(database, entry, number, name or former, tags)
    elif verb == "delete":
        for number in args.get("ids") or ():
            database.execute(DROP, (number, family))


def _end(database: Connection, said: str) -> str:
    """What a concept that a link joins was called when that was added: by a name, or by an id."""
    for name, _tags in database.execute(KNOWN, (said, CONCEPTS)):
        return str(name)
    return as_indexed(said)


def _put(database: Connection, entry: Entry[CommandRan], number: int, name: str, tags: str) -> None:
    family, _ = record_change(entry.event)
    text = entry.event.args.get(RECORD_TEXT[family])
    if not text:  # it was forgotten
        return
    view = entry.event.view
    row = {"wrote": entry.seq, "id": number, "family": family, "view": view, "name": name, "tags": tags}
    database.execute(PUT, row)
    database.execute(WORDS, row | {"text": as_indexed(text)})


RECORDS = IndexPart(schema=SCHEMA, kinds=(CommandRan,), fold=_fold)
"""What the index holds of the records."""
