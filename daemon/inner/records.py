"""Diary, concepts, links and llm_memory: what the commands of the inner life have made of them.

A record is what the last command has made of it, and is shown only where that may be known. The texts are
read from the journal when they are shown; where they stand is what is kept here. HMP seed, contexts 3 and 6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from sys import intern
from typing import ClassVar
from unicodedata import normalize

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.inner.record import CONCEPTS, DIARY, LINKS, LLM_MEMORY, TEXT, Record, change_of, line
from daemon.inner.record_words import RecordWords
from daemon.kinds import CommandRan
from daemon.knowledge.journal_index import JournalIndex
from daemon.knowledge.projection import Projection
from daemon.knowledge.views import Knows, Views, anywhere
from daemon.mind.payloads import element

HITS = 8
PAGE = 50
"""Records of llm_memory that are read at once."""


@dataclass(slots=True, kw_only=True)
class _Row:
    """What is kept of a record: `wrote` is the entry in which its text stands, written in sight of `view`.
    `ends` are the concepts that a link joins."""

    id: int
    wrote: int
    family: str
    view: str
    at: float
    tags: tuple[str, ...] = ()
    name: str = ""
    ends: tuple[int, ...] = ()


class Records(Projection):
    """All records, as of an entry. What is asked for a view is answered for that view. What is looked up by
    words is as it is now: the index has the part RECORDS.

    Call `update` before whatever is not awaited. A record that is not there and one that may not be known
    are the same to whoever asks.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = (CommandRan,)

    def __init__(self, journal: Journal, views: Views, index: JournalIndex) -> None:
        self._views = views
        self._words = RecordWords(index)
        self._as_of = ALWAYS
        super().__init__(journal)

    async def update(self, before: int = ALWAYS) -> None:
        await super().update(before)
        self._as_of = before

    # What is there

    def get(self, number: int, view: str) -> Record | None:
        """The record of this id, if it may be known in this view."""
        found = self.those([number], view)
        if not found:
            return None
        return found[0]

    def those(self, numbers: Iterable[int], view: str) -> Sequence[Record]:
        """Those of these records that may be known in this view, each once, in the order given."""
        return self._those(numbers, self._knows(view))

    def everywhere(self, numbers: Iterable[int]) -> Sequence[Record]:
        """These records, whoever may know them."""
        return self._those(numbers, anywhere)

    def shown(self, asked: Iterable[int], view: str) -> Sequence[Record]:
        """What stands in context 3: the records that were asked for, then those that are pinned."""
        knows = self._knows(view)
        pinned = [number for number in sorted(self._pinned) if self._is_pinned(number, knows)]
        return self._those([*asked, *pinned], knows)

    def of(self, family: str, view: str, most: int) -> Sequence[Record]:
        """The newest of a family, newest first."""
        knows = self._knows(view)
        newest = self._known(family, knows)[-most:]
        return self._shown(reversed(newest), knows)

    def newest(self, family: str, most: int) -> tuple[int, Sequence[Record]]:
        """How many there are of a family, and the newest of them, newest first, whoever may know them."""
        rows = self._rows[family]
        newest = islice(reversed(rows.values()), most)
        return len(rows), self._shown(newest, anywhere)

    def concept(self, said: str | int, view: str) -> int | None:
        """The id of the concept of this name or id, if it may be known in this view."""
        return self._meant(said, view, self._as_of)

    def concept_named(self, name: str, view: str) -> int | None:
        """The id of the concept of this name, if it may be known in this view."""
        return self._named(name, view, self._as_of)

    def neighbours(self, concept: int, view: str) -> Sequence[tuple[Record, Record]]:
        """The links of a concept, either way, each with the concept at its other end, oldest first."""
        links = self.those(sorted(self._links.get(concept, ())), view)
        found = list[tuple[Record, Record]]()
        for link in links:
            end = link.source
            if end == concept:
                end = link.target
            other = self.get(end, view)
            if other is not None:
                found.append((link, other))
        return found

    def llm_memory(self, view: str, most_chars: int) -> tuple[str, Sequence[Record]]:
        """The notebook as it stands in context 6, oldest first, and what stands in it; where it is too long,
        the newest of it."""
        knows = self._knows(view)
        rows = self._known(LLM_MEMORY, knows)
        lines = list[str]()
        shown = list[Record]()
        room = most_chars
        for record in self._newest_first(rows, knows):
            text = line(record)
            room -= len(text) + 1
            if room < 0:
                break
            lines.append(text)
            shown.append(record)
        if len(lines) < len(rows):
            lines.append(element("left-out", older=len(rows) - len(lines)))
        return "\n".join(reversed(lines)), shown

    def _newest_first(self, rows: Sequence[_Row], knows: Knows) -> Iterator[Record]:
        """Pieces of the notebook, no more of them read than are asked for."""
        for end in range(len(rows), 0, -PAGE):
            page = rows[max(end - PAGE, 0) : end]
            yield from self._shown(reversed(page), knows)

    def far(self, view: str, before: int, most: int) -> Sequence[Record]:
        """Diary entries from before the entry `before`, spread evenly over all of them, oldest first."""
        knows = self._knows(view)
        old = [row for row in self._known(DIARY, knows) if row.id < before]
        if len(old) > most:
            old = [old[number * len(old) // most] for number in range(most)]
        return self._shown(old, knows)

    # What is looked up, as it is now

    async def search(self, family: str, query: str, view: str) -> Sequence[Record]:
        """What fits these words best, of what may be known in this view."""
        await self.update()
        knows = self._knows(view)
        views = [there for there in self._written_in if knows(there)]
        found = await self._words.find(family, query, views, HITS)
        return self._those(found, knows)

    async def about(self, names: Collection[str], view: str) -> Sequence[Record]:
        """What was written where `view` is, or names one of these, and may be known there; oldest first."""
        await self.update()
        numbers = set(await self._words.naming(names))
        here = {other for other in self._written_in if self._views.together(view, other)}
        for rows in self._rows.values():
            for row in rows.values():
                if row.view in here:
                    numbers.add(row.id)
        return self.those(sorted(numbers), view)

    # How it is folded

    def _clear(self) -> None:
        self._rows: dict[str, dict[int, _Row]] = {family: {} for family in TEXT}
        self._pinned = defaultdict[int, set[str]](set)
        """In which views each of them was pinned: it is where one of these may be known."""
        self._names = defaultdict[str, list[int]](list)
        """The concepts of a name: several, where none of them may be known where another one was added."""
        self._links = defaultdict[int, list[int]](list)
        """The links of a concept."""
        self._written_in: set[str] = set()

    def _take(self, entry: Entry[CommandRan]) -> None:
        family, verb = change_of(entry.event)
        if verb == "add":
            self._add(family, entry)
        elif verb == "change":
            self._change(family, entry)
        elif family:
            for number in entry.event.args.get("ids") or ():
                if number in self._rows[family]:
                    self._mark(self._rows[family][number], verb, entry)

    def _add(self, family: str, entry: Entry[CommandRan]) -> None:
        ran = entry.event
        if not ran.args.get(TEXT[family]):  # it was forgotten
            return
        tags = tuple(intern(tag) for tag in ran.args.get("tags") or ())
        view = intern(ran.view)
        row = _Row(id=entry.seq, wrote=entry.seq, family=family, view=view, at=entry.at, tags=tags)
        if family == LINKS:
            source = self._meant(ran.args.get("from") or 0, view, entry.seq)
            target = self._meant(ran.args.get("to") or 0, view, entry.seq)
            if source is None or target is None:  # that was forgotten
                return
            row.ends = source, target
            for end in {source, target}:
                self._links[end].append(row.id)
        self._call(row, ran.args.get("name") or "")
        self._rows[family][row.id] = row
        self._written_in.add(view)

    def _change(self, family: str, entry: Entry[CommandRan]) -> None:
        ran = entry.event
        row = self._rows[family].get(ran.args.get("id", 0))
        if row is None:
            return
        if not ran.args.get(TEXT[family]):  # its present text was forgotten, and the one before is not true
            self._delete(row)
            return
        row.wrote = entry.seq
        row.view = intern(ran.view)
        self._call(row, ran.args.get("name") or row.name)
        self._written_in.add(row.view)

    def _mark(self, row: _Row, verb: str, entry: Entry[CommandRan]) -> None:
        view = entry.event.view
        if verb == "pin":
            self._pinned[row.id].add(view)
        elif verb == "unpin":
            knows = self._views.knowing(view, entry.seq)
            self._pinned[row.id] = {there for there in self._pinned[row.id] if not knows(there)}
        elif verb == "delete":
            self._delete(row)

    def _delete(self, row: _Row) -> None:
        del self._rows[row.family][row.id]
        self._pinned.pop(row.id, None)
        self._call(row, "")
        for end in set(row.ends):
            self._links[end].remove(row.id)

    def _call(self, row: _Row, name: str) -> None:
        """It has this name from now on, or none."""
        if row.name:
            self._names[_folded(row.name)].remove(row.id)
        if name:
            self._names[_folded(name)].append(row.id)
        row.name = name

    def _meant(self, said: str | int, view: str, before: int) -> int | None:
        """The concept of this name; where there is none, of this id."""
        if isinstance(said, str):
            known = self._named(said, view, before)
            if known is not None or not said.isdecimal():
                return known
        row = self._rows[CONCEPTS].get(int(said))
        if row is None or not self._views.may_know(view, row.view, before):
            return None
        return row.id

    def _named(self, name: str, view: str, before: int) -> int | None:
        """The oldest concept of this name: there are two where channels were opened since."""
        knows = self._views.knowing(view, before)
        concepts = self._rows[CONCEPTS]
        same = [number for number in self._names.get(_folded(name), ()) if knows(concepts[number].view)]
        return min(same, default=None)

    # How it is shown

    def _knows(self, view: str) -> Knows:
        return self._views.knowing(view, self._as_of)

    def _known(self, family: str, knows: Knows) -> Sequence[_Row]:
        """Those of a family that may be known, oldest first."""
        return [row for row in self._rows[family].values() if self._seen_by(row, knows)]

    def _seen_by(self, row: _Row, knows: Knows) -> bool:
        """May it be known? A link only where both its concepts may, and are still there."""
        if not knows(row.view, row.wrote):
            return False
        concepts = self._rows[CONCEPTS]
        return all(end in concepts and self._seen_by(concepts[end], knows) for end in row.ends)

    def _is_pinned(self, number: int, knows: Knows) -> bool:
        return any(knows(view) for view in self._pinned.get(number, ()))

    def _those(self, numbers: Iterable[int], knows: Knows) -> Sequence[Record]:
        found = list[_Row]()
        for number in dict.fromkeys(numbers):
            for rows in self._rows.values():
                if number in rows:
                    found.append(rows[number])
        return self._shown(found, knows)

    def _shown(self, rows: Iterable[_Row], knows: Knows) -> Sequence[Record]:
        """Those of them that may be known, with their texts; what was blanked meanwhile has none."""
        seen = [row for row in rows if self._seen_by(row, knows)]
        entries = self.journal.many([row.wrote for row in seen])
        records = list[Record]()
        for row, written in zip(seen, entries, strict=True):
            text = written.event.args.get(TEXT[row.family])
            if text:
                records.append(self._record(row, text, written.at, knows))
        return records

    def _record(self, row: _Row, text: str, changed_at: float, knows: Knows) -> Record:
        record = Record(
            id=row.id,
            wrote=row.wrote,
            family=row.family,
            text=text,
            name=row.name,
            tags=row.tags,
            pinned=self._is_pinned(row.id, knows),
            view=row.view,
            at=row.at,
            changed_at=changed_at,
        )
        if not row.ends:
            return record
        source, target = row.ends
        concepts = self._rows[CONCEPTS]
        names = concepts[source].name, concepts[target].name
        return replace(record, source=source, target=target, ends=names)


def _folded(name: str) -> str:
    """The same for names that a reader takes for the same."""
    return normalize("NFKC", name).casefold()
