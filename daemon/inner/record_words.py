"""The words of the records, in an index in memory to find them by. For records.py.

It holds words only: what is shown is read from the journal. Old words of a record that was changed or deleted
stay in it until it is cleared, but lead nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from sqlite3 import Connection

from daemon.knowledge.index import TOKENS, Index, indexed, question

SCHEMA = f"""
create table record (wrote integer primary key, id integer, family text, view text);
create index record_by_id on record (id);
create virtual table words using fts5 (name, text, tags, content = '', {TOKENS});
"""
FIND = """
select record.id from words cross join record on record.wrote = words.rowid
where words match :asked and record.family = :family and record.view in (select value from json_each(:views))
order by bm25(words, 2.0, 1.0, 1.0), record.id desc limit :most
"""
NAMING = """
select record.id from words cross join record on record.wrote = words.rowid where words match :asked
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """What the index is told of a record: `wrote` is the entry in which its present words stand."""

    wrote: int
    id: int
    family: str
    view: str
    name: str = ""
    text: str
    tags: Collection[str] = ()


class RecordWords(Index):
    """Finds records by their words. What changes is kept back until `write`; finding writes first."""

    def __init__(self) -> None:
        super().__init__(SCHEMA)
        self._changed: dict[int, Worded | None] = {}
        self._cleared = False

    def put(self, worded: Worded) -> None:
        """These are the words of this record from now on."""
        self._changed[worded.id] = worded

    def drop(self, number: int) -> None:
        """This record is found no more."""
        self._changed[number] = None

    def clear(self) -> None:
        """Nothing is found any more, and no word is left."""
        self._changed, self._cleared = {}, True

    def write(self) -> None:
        """Have what was kept back written, before whatever is asked from now on."""
        changed, cleared = self._changed, self._cleared
        self._changed, self._cleared = {}, False
        if changed or cleared:
            self.begin(lambda database: _write(database, changed, cleared=cleared))

    async def written(self) -> None:
        """Wait until all of that is done."""
        self.write()
        await self.ask(_nothing)

    async def find(self, family: str, query: str, views: Iterable[str], most: int) -> list[int]:
        """The records of a family that were written in one of these views, what fits best first."""
        asked = question(query)
        if not asked:
            return []
        values: dict[str, str | int] = {
            "asked": asked,
            "family": family,
            "views": json.dumps([*views]),
            "most": most,
        }
        return await self._numbers(FIND, values)

    async def naming(self, names: Collection[str]) -> list[int]:
        """The records in whose words one of these names stands, in any view, unordered."""
        phrases = [" ".join(re.findall(r"\w+", indexed(name))) for name in names]
        asked = " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
        return await self._numbers(NAMING, {"asked": asked}) if asked else []

    async def _numbers(self, query: str, values: dict[str, str | int]) -> list[int]:
        self.write()
        rows = await self.ask(lambda database: database.execute(query, values).fetchall())
        return [number for (number,) in rows]


def _write(database: Connection, changed: Mapping[int, Worded | None], *, cleared: bool) -> None:
    if cleared:
        database.execute("delete from record")
        database.execute("insert into words (words) values ('delete-all')")
    database.executemany("delete from record where id = ?", ((number,) for number in changed))
    put = [worded for worded in changed.values() if worded]
    rows = ((one.wrote, one.id, one.family, one.view) for one in put)
    database.executemany("insert into record values (?, ?, ?, ?)", rows)
    database.executemany("insert into words (rowid, name, text, tags) values (?, ?, ?, ?)", map(_row, put))


def _row(one: Worded) -> tuple[int, str, str, str]:
    return one.wrote, indexed(one.name), indexed(one.text), indexed("\n".join(one.tags))


def _nothing(_: Connection) -> None:
    pass
