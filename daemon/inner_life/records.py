"""Projection and search of the records: diary, concepts, links and llm_memory (HMP seed, contexts 3 and 6).

Only views that may know a record see it. The search index may keep outdated words, which lead to no record.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from sqlite3 import Connection
from sys import intern
from typing import ClassVar
from unicodedata import normalize

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal, Projection
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.kinds import CommandRan
from daemon.knowledge.search import TOKENS, FullTextIndex, IndexPart, as_indexed, fts_query
from daemon.knowledge.visibility import Visibility, VisibilityCheck, always_visible
from daemon.prompts.elements import escape_tags, in_element, make_element

DIARY, CONCEPTS, LINKS, LLM_MEMORY = "diary", "concepts", "links", "llm_memory"


RECORD_TEXT: Mapping[str, str] = {
    DIARY: "text",
    CONCEPTS: "description",
    LINKS: "relation",
    LLM_MEMORY: "text",
}
"""Name of the argument with the text, by family."""


BRIEF = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRecord:
    """A record. `id` is the seq of its first entry, `wrote` the seq of the entry with its present text.

    `source` and `target` are the concepts of a link, `ends` their names. `view` belongs to the present text;
    times are Unix seconds.
    """

    id: int
    wrote: int
    family: str
    text: str = ""
    name: str = ""
    source: int = 0
    target: int = 0
    ends: tuple[str, str] = ("", "")
    tags: tuple[str, ...] = ()
    pinned: bool = False
    view: str
    at: float
    changed_at: float


def record_verb(name: str) -> str:
    """Return the verb of a command for records ("add"); empty for other commands, and for tools."""
    family, _, verb = name.partition(".")
    return verb if family in RECORD_TEXT else ""


def record_change(ran: CommandRan) -> tuple[str, str]:
    """Return family and verb of a command that changes a record ("diary", "add"), else empty texts."""
    family, _, verb = ran.name.partition(".")
    if not ran.ok or ran.taken_from or family not in RECORD_TEXT:
        return "", ""
    return family, verb


def record_element(record: InnerRecord) -> str:
    """Render a record as an escaped element."""
    attributes = {"id": str(record.id), "family": record.family, "at": minute_text(record.at)}
    if record.changed_at != record.at:
        attributes["changed"] = minute_text(record.changed_at)
    if record.name:
        attributes["name"] = record.name
    if record.source:
        attributes["from"] = f"{record.source} {record.ends[0]}"
        attributes["to"] = f"{record.target} {record.ends[1]}"
    if record.tags:
        attributes["tags"] = ", ".join(record.tags)
    if record.pinned:
        attributes["pinned"] = "yes"
    return in_element("record", record.text, **attributes)


def record_summary(record: InnerRecord) -> str:
    """Render a record as one line."""
    begins = " ".join(record.text[:BRIEF].split())
    if len(record.text) > BRIEF:
        begins += "…"
    if record.source:
        said = f"{record.source} {record.ends[0]} - {begins} -> {record.target} {record.ends[1]}"
    elif record.name:
        said = f"{record.name}: {begins}"
    else:
        said = f"({minute_text(record.at)}) {begins}"
    return escape_tags(f"{record.id} {said}")


def record_in_words(record: InnerRecord) -> str:
    """Render a record as a sentence."""
    if record.source:
        source, target = record.ends
        return f"{source} {record.text} {target}"
    if record.name:
        return f"{record.name}: {record.text}"
    return record.text


def minute_text(at: float) -> str:
    """Format a time in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


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
    def __init__(self, index: FullTextIndex) -> None:
        self._index = index

    async def find(self, family: str, query: str, views: Iterable[str], most: int) -> list[int]:
        """Return the ids of a family's records in these views, best match first."""
        asked = fts_query(query)
        if not asked:
            return []
        values = {"asked": asked, "family": family, "views": json.dumps([*views]), "most": most}
        return await self._numbers(FIND, values)

    async def naming(self, names: Collection[str]) -> list[int]:
        """Return the ids of records with one of these names, in any view and in no order."""
        phrases = [" ".join(re.findall(r"\w+", as_indexed(name))) for name in names]
        asked = " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
        if not asked:
            return []
        return await self._numbers(NAMING, {"asked": asked})

    async def _numbers(self, query: str, values: Mapping[str, object]) -> list[int]:
        return [number for (number,) in await self._index.rows(query, values)]


def _fold(database: Connection, entry: Entry[CommandRan], _: JournalReader) -> None:
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
    for name, _tags in database.execute(KNOWN, (said, CONCEPTS)):
        return str(name)
    return as_indexed(said)


def _put(database: Connection, entry: Entry[CommandRan], number: int, name: str, tags: str) -> None:
    family, _ = record_change(entry.event)
    text = entry.event.args.get(RECORD_TEXT[family])
    if not text:  # the entry was forgotten
        return
    view = entry.event.view
    row = {"wrote": entry.seq, "id": number, "family": family, "view": view, "name": name, "tags": tags}
    database.execute(PUT, row)
    database.execute(WORDS, row | {"text": as_indexed(text)})


RECORDS = IndexPart(schema=SCHEMA, kinds=(CommandRan,), fold=_fold)


HITS = 8


LOOKED_AT = 1_000
"""Most matches whose visibility one search checks."""


PAGE = 50


class InnerRecords(Projection):
    """All records up to an entry of the journal; searches see present texts.

    Call `update` before methods that are not async. Invisible records look like missing ones.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = (CommandRan,)

    def __init__(self, journal: Journal, views: Visibility, index: FullTextIndex) -> None:
        self._views = views
        self._words = RecordSearch(index)
        self._as_of = ALWAYS
        super().__init__(journal)

    async def update(self, before: int = ALWAYS) -> None:
        await super().update(before)
        self._as_of = before

    def get(self, number: int, view: str) -> InnerRecord | None:
        found = self.records_of_ids([number], view)
        if not found:
            return None
        return found[0]

    def records_of_ids(self, numbers: Iterable[int], view: str) -> Sequence[InnerRecord]:
        """Return the visible records with these ids, in order, without duplicates."""
        return self._those(numbers, self._knows(view))

    def records_in_all_views(self, numbers: Iterable[int]) -> Sequence[InnerRecord]:
        """Return the records with these ids, even invisible ones."""
        return self._those(numbers, always_visible)

    def shown(self, asked: Iterable[int], view: str) -> Sequence[InnerRecord]:
        """Return the records of context 3: those asked for, then pinned ones."""
        knows = self._knows(view)
        pinned = [number for number in sorted(self._pinned) if self._is_pinned(number, knows)]
        return self._those([*asked, *pinned], knows)

    def of(self, family: str, view: str, most: int) -> Sequence[InnerRecord]:
        knows = self._knows(view)
        found = list[InnerRecord]()
        for record in reversed(self._records[family].values()):
            if len(found) == most:
                break
            if self._seen_by(record, knows):
                found.append(record)
        return self._shown(found, knows)

    def newest(self, family: str, most: int) -> tuple[int, Sequence[InnerRecord]]:
        """Return the number of a family's records and the newest ones, even invisible ones."""
        records = self._records[family]
        newest = islice(reversed(records.values()), most)
        return len(records), self._shown(newest, always_visible)

    def concept(self, name_or_id: str | int, view: str, before: int = 0) -> int | None:
        """Return the id of a visible concept with this name or id, as of the entry `before` if given."""
        if isinstance(name_or_id, str):
            known = self.concept_named(name_or_id, view, before)
            if known is not None or not name_or_id.isdecimal():
                return known
        knows = self._views.make_check(view, before or self._as_of)
        concept = self._records[CONCEPTS].get(int(name_or_id))
        if concept is None or not self._seen_by(concept, knows):
            return None
        return concept.id

    def concept_named(self, name: str, view: str, before: int = 0) -> int | None:
        """Return the oldest visible concept with this name; channels opened later may show several."""
        knows = self._views.make_check(view, before or self._as_of)
        concepts = self._records[CONCEPTS]
        same = [concepts[number] for number in self._names.get(_folded(name), ())]
        return min([one.id for one in same if self._seen_by(one, knows)], default=None)

    def neighbours(self, concept: int, view: str) -> Sequence[tuple[InnerRecord, InnerRecord]]:
        """Return the links of a concept, each with the concept at its other end, oldest first."""
        links = self.records_of_ids(sorted(self._links.get(concept, ())), view)
        found = list[tuple[InnerRecord, InnerRecord]]()
        for link in links:
            end = link.source
            if end == concept:
                end = link.target
            other = self.get(end, view)
            if other is not None:
                found.append((link, other))
        return found

    def llm_memory(self, view: str, most_chars: int) -> tuple[str, Sequence[InnerRecord]]:
        """Return context 6 as text and records; if it is longer than `most_chars`, the
        oldest are left out.
        """
        knows = self._knows(view)
        known = self._known(LLM_MEMORY, knows)
        lines = list[str]()
        shown = list[InnerRecord]()
        room = most_chars
        for record in self._newest_first(known, knows):
            text = record_element(record)
            room -= len(text) + 1
            if room < 0:
                break
            lines.append(text)
            shown.append(record)
        if len(lines) < len(known):
            lines.append(make_element("left-out", older=len(known) - len(lines)))
        return "\n".join(reversed(lines)), shown

    def _newest_first(self, records: Sequence[InnerRecord], knows: VisibilityCheck) -> Iterator[InnerRecord]:
        for end in range(len(records), 0, -PAGE):
            page = records[max(end - PAGE, 0) : end]
            yield from self._shown(reversed(page), knows)

    def spread_of_older(self, view: str, before: int, most: int) -> Sequence[InnerRecord]:
        """Return diary entries from before the entry `before`, evenly spread, oldest first."""
        knows = self._knows(view)
        old = [record for record in self._known(DIARY, knows) if record.id < before]
        if len(old) > most:
            old = [old[number * len(old) // most] for number in range(most)]
        return self._shown(old, knows)

    async def search(self, family: str, query: str, view: str) -> Sequence[InnerRecord]:
        await self.update()
        knows = self._knows(view)
        views = [there for there in self._written_in if knows(there)]
        found = await self._words.find(family, query, views, LOOKED_AT)
        knows = self._knows(view)  # the view may have changed during the search
        records = self._records[family]
        known = [number for number in found if number in records and self._seen_by(records[number], knows)]
        return self._those(known[:HITS], knows)

    async def about(self, names: Collection[str], view: str) -> Sequence[InnerRecord]:
        """Return visible records that were written in `view` or contain a name, oldest first."""
        await self.update()
        numbers = set(await self._words.naming(names))
        here = {other for other in self._written_in if self._views.are_in_one_channel(view, other)}
        for records in self._records.values():
            for record in records.values():
                if record.view in here:
                    numbers.add(record.id)
        return self.records_of_ids(sorted(numbers), view)

    def _reset(self) -> None:
        self._records: dict[str, dict[int, InnerRecord]] = {family: {} for family in RECORD_TEXT}
        self._pinned = defaultdict[int, set[str]](set)
        """Views that pinned each record."""
        self._names = defaultdict[str, list[int]](list)
        self._links = defaultdict[int, list[int]](list)
        self._written_in: set[str] = set()

    def _fold_entry(self, entry: Entry[CommandRan]) -> None:
        family, verb = record_change(entry.event)
        if verb == "add":
            self._add(family, entry)
        elif verb == "change":
            self._change(family, entry)
        elif family:
            for number in entry.event.args.get("ids") or ():
                if number in self._records[family]:
                    self._mark(self._records[family][number], verb, entry)

    def _add(self, family: str, entry: Entry[CommandRan]) -> None:
        args = entry.event.args
        if not args.get(RECORD_TEXT[family]):  # the entry was forgotten
            return
        record = InnerRecord(
            id=entry.seq,
            wrote=entry.seq,
            family=family,
            name=args.get("name") or "",
            tags=tuple(intern(tag) for tag in args.get("tags") or ()),
            view=intern(entry.event.view),
            at=entry.at,
            changed_at=entry.at,
        )
        if family == LINKS:
            source = self.concept(args.get("from") or 0, record.view, entry.seq)
            target = self.concept(args.get("to") or 0, record.view, entry.seq)
            if source is None or target is None:  # a concept was forgotten
                return
            record = replace(record, source=source, target=target)
            for end in {source, target}:
                self._links[end].append(record.id)
        self._put(record)

    def _change(self, family: str, entry: Entry[CommandRan]) -> None:
        args = entry.event.args
        former = self._records[family].get(args.get("id", 0))
        if former is None:
            return
        if not args.get(RECORD_TEXT[family]):  # the entry was forgotten, and the former text is outdated
            self._delete(former)
            return
        name = args.get("name") or former.name
        view = intern(entry.event.view)
        self._unname(former)
        self._put(replace(former, wrote=entry.seq, name=name, view=view, changed_at=entry.at))

    def _put(self, record: InnerRecord) -> None:
        self._records[record.family][record.id] = record
        self._written_in.add(record.view)
        if record.name:
            self._names[_folded(record.name)].append(record.id)

    def _mark(self, record: InnerRecord, verb: str, entry: Entry[CommandRan]) -> None:
        view = entry.event.view
        if verb == "pin":
            self._pinned[record.id].add(view)
        elif verb == "unpin":
            knows = self._views.make_check(view, entry.seq)
            self._pinned[record.id] = {there for there in self._pinned[record.id] if not knows(there)}
        elif verb == "delete":
            self._delete(record)

    def _delete(self, record: InnerRecord) -> None:
        del self._records[record.family][record.id]
        self._pinned.pop(record.id, None)
        self._unname(record)
        if record.family == LINKS:
            for end in {record.source, record.target}:
                self._links[end].remove(record.id)

    def _unname(self, record: InnerRecord) -> None:
        if record.name:
            self._names[_folded(record.name)].remove(record.id)

    def _knows(self, view: str) -> VisibilityCheck:
        return self._views.make_check(view, self._as_of)

    def _known(self, family: str, knows: VisibilityCheck) -> Sequence[InnerRecord]:
        return [record for record in self._records[family].values() if self._seen_by(record, knows)]

    def _seen_by(self, record: InnerRecord, knows: VisibilityCheck) -> bool:
        if not knows(record.view, record.wrote):
            return False
        if record.family != LINKS:
            return True
        concepts = self._records[CONCEPTS]
        ends = concepts.get(record.source), concepts.get(record.target)
        return all(end is not None and self._seen_by(end, knows) for end in ends)

    def _is_pinned(self, number: int, knows: VisibilityCheck) -> bool:
        return any(knows(view) for view in self._pinned.get(number, ()))

    def _those(self, numbers: Iterable[int], knows: VisibilityCheck) -> Sequence[InnerRecord]:
        found = list[InnerRecord]()
        for number in dict.fromkeys(numbers):
            for records in self._records.values():
                if number in records:
                    found.append(records[number])
        return self._shown(found, knows)

    def _shown(self, records: Iterable[InnerRecord], knows: VisibilityCheck) -> Sequence[InnerRecord]:
        seen = [record for record in records if self._seen_by(record, knows)]
        entries = self.journal.entries_at([record.wrote for record in seen])
        shown = list[InnerRecord]()
        for record, written in zip(seen, entries, strict=True):
            text = written.event.args.get(RECORD_TEXT[record.family])
            if text:
                pinned = self._is_pinned(record.id, knows)
                shown.append(replace(record, text=text, ends=self._ends(record), pinned=pinned))
        return shown

    def _ends(self, record: InnerRecord) -> tuple[str, str]:
        if record.family != LINKS:
            return "", ""
        concepts = self._records[CONCEPTS]
        return concepts[record.source].name, concepts[record.target].name


def _folded(name: str) -> str:
    return normalize("NFKC", name).casefold()
