"""Diary, concepts, links and llm_memory: what the commands of the inner life have made of them.

A record is what the last command has made of it, and is shown only where that may be known. The texts are
read from the journal when they are shown; where they stand is what is kept here. HMP seed, contexts 3 and 6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from sys import intern
from typing import ClassVar
from unicodedata import normalize

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.inner.record import CONCEPTS, DIARY, LINKS, LLM_MEMORY, TEXT, Record, line
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
    """What is kept of a record: `wrote` is the entry in which its text stands, written in sight of `view`."""

    id: int
    wrote: int
    view: str
    tags: tuple[str, ...] = ()
    name: str = ""
    source: int = 0
    target: int = 0


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
        return next(iter(self.those([number], view)), None)

    def those(self, numbers: Iterable[int], view: str) -> Sequence[Record]:
        """Those of these records that may be known in this view, each once, in the order given."""
        found = filter(None, map(self._find, dict.fromkeys(numbers)))
        return self._shown(found, self._knows(view))

    def everywhere(self, numbers: Iterable[int]) -> Sequence[Record]:
        """These records, whoever may know them."""
        return self._shown(filter(None, map(self._find, dict.fromkeys(numbers))), anywhere)

    def shown(self, asked: Iterable[int], view: str) -> Sequence[Record]:
        """What stands in context 3: the records that were asked for, then those that are pinned."""
        return self.those([*asked, *self._pins(view)], view)

    def _pins(self, view: str) -> Sequence[int]:
        knows = self._knows(view)
        return [number for number in sorted(self._pinned) if self._is_pinned(number, knows)]

    def of(self, family: str, view: str, most: int) -> Sequence[Record]:
        """The newest of a family, newest first."""
        knows = self._knows(view)
        found = list[_Row]()
        for row in reversed(self._rows[family].values()):
            if len(found) == most:
                break
            if self._seen_by(row, knows):
                found.append(row)
        return self._shown(((family, row) for row in found), knows)

    def newest(self, family: str, most: int) -> tuple[int, Sequence[Record]]:
        """How many there are of a family, and the newest of them, newest first, whoever may know them."""
        rows = self._rows[family]
        found = islice(reversed(rows.values()), most)
        return len(rows), self._shown(((family, row) for row in found), anywhere)

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
            other = self.get(link.target if link.source == concept else link.source, view)
            if other is not None:
                found.append((link, other))
        return found

    def llm_memory(self, view: str, most_chars: int) -> tuple[str, Sequence[Record]]:
        """The notebook as it stands in context 6, oldest first, and what stands in it; where it is too long,
        the newest of it."""
        knows = self._knows(view)
        rows = [row for row in self._rows[LLM_MEMORY].values() if knows(row.view, row.wrote)]
        lines, shown, room = list[str](), list[Record](), most_chars
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
            yield from reversed(self._shown([(LLM_MEMORY, row) for row in page], knows))

    def far(self, view: str, before: int, most: int) -> Sequence[Record]:
        """Diary entries from before the entry `before`, spread evenly over all of them, oldest first."""
        knows = self._knows(view)
        old = [row for row in self._rows[DIARY].values() if row.id < before and knows(row.view, row.wrote)]
        if len(old) > most:
            old = [old[number * len(old) // most] for number in range(most)]
        return self._shown(((DIARY, row) for row in old), knows)

    # What is looked up, as it is now

    async def search(self, family: str, query: str, view: str) -> Sequence[Record]:
        """What fits these words best, of what may be known in this view."""
        await self.update()
        knows = self._knows(view)
        return self.those(await self._words.find(family, query, filter(knows, self._written_in), HITS), view)

    async def about(self, names: Collection[str], view: str) -> Sequence[Record]:
        """What was written where `view` is, or names one of these, and may be known there; oldest first."""
        await self.update()
        numbers = {*await self._words.naming(names)}
        there = {other for other in self._written_in if self._views.together(view, other)}
        for rows in self._rows.values():
            numbers.update(row.id for row in rows.values() if row.view in there)
        return self.those(sorted(numbers), view)

    # How it is folded

    def _clear(self) -> None:
        self._rows: dict[str, dict[int, _Row]] = {family: {} for family in TEXT}
        self._pinned: dict[int, set[str]] = {}
        """In which views each of them was pinned: it is where one of these may be known."""
        self._names: dict[str, list[int]] = {}
        """The concepts of a name: several, where none of them may be known where another one was added."""
        self._links: dict[int, list[int]] = {}
        """The links of a concept."""
        self._written_in: set[str] = set()

    def _take(self, entry: Entry[CommandRan]) -> None:
        ran = entry.event
        family, _, verb = ran.name.partition(".")
        if not ran.ok or ran.taken_from or family not in TEXT:
            return
        if verb == "add":
            self._add(family, entry)
        elif verb == "change":
            self._change(family, entry)
        else:
            for number in ran.args.get("ids") or ():
                if number in self._rows[family]:
                    self._mark(family, verb, number, entry)

    def _add(self, family: str, entry: Entry[CommandRan]) -> None:
        ran = entry.event
        if not ran.args.get(TEXT[family]):  # it was forgotten
            return
        tags = tuple(map(intern, ran.args.get("tags") or ()))
        row = _Row(id=entry.seq, wrote=entry.seq, view=intern(ran.view), tags=tags)
        if family == LINKS:
            source = self._meant(ran.args.get("from") or 0, ran.view, entry.seq)
            target = self._meant(ran.args.get("to") or 0, ran.view, entry.seq)
            if source is None or target is None:  # that was forgotten
                return
            row.source, row.target = source, target
            for end in {source, target}:
                self._links.setdefault(end, []).append(row.id)
        self._call(row, ran.args.get("name") or "")
        self._rows[family][row.id] = row
        self._written_in.add(row.view)

    def _change(self, family: str, entry: Entry[CommandRan]) -> None:
        ran = entry.event
        row = self._rows[family].get(ran.args.get("id", 0))
        if row is None:
            return
        if not ran.args.get(TEXT[family]):  # its present text was forgotten, and the one before is not true
            self._delete(family, row.id)
            return
        row.wrote, row.view = entry.seq, intern(ran.view)
        self._call(row, ran.args.get("name") or row.name)
        self._written_in.add(row.view)

    def _mark(self, family: str, verb: str, number: int, entry: Entry[CommandRan]) -> None:
        view = entry.event.view
        if verb == "pin":
            self._pinned.setdefault(number, set()).add(view)
        elif verb == "unpin":
            knows = self._views.knowing(view, entry.seq)
            self._pinned[number] = {there for there in self._pinned.get(number, ()) if not knows(there)}
        elif verb == "delete":
            self._delete(family, number)

    def _delete(self, family: str, number: int) -> None:
        row = self._rows[family].pop(number)
        self._pinned.pop(number, None)
        self._call(row, "")
        for end in {row.source, row.target} & self._links.keys():
            self._links[end].remove(number)

    def _call(self, row: _Row, name: str) -> None:
        """It has this name from now on, or none."""
        if row.name:
            self._names[_folded(row.name)].remove(row.id)
        if name:
            self._names.setdefault(_folded(name), []).append(row.id)
        row.name = name

    def _meant(self, said: str | int, view: str, before: int) -> int | None:
        """The concept of this name; where there is none, of this id."""
        if isinstance(said, str):
            known = self._named(said, view, before)
            if known is not None:
                return known
            said = int(said) if said.isdecimal() else 0
        row = self._rows[CONCEPTS].get(said)
        return row.id if row and self._views.may_know(view, row.view, before) else None

    def _named(self, name: str, view: str, before: int) -> int | None:
        """The oldest concept of this name: there are two where channels were opened since."""
        knows = self._views.knowing(view, before)
        same = self._names.get(_folded(name), ())
        return min((number for number in same if knows(self._rows[CONCEPTS][number].view)), default=None)

    # How it is shown

    def _knows(self, view: str) -> Knows:
        return self._views.knowing(view, self._as_of)

    def _find(self, number: int) -> tuple[str, _Row] | None:
        for family, rows in self._rows.items():
            if number in rows:
                return family, rows[number]
        return None

    def _seen_by(self, row: _Row, knows: Knows) -> bool:
        """May it be known? A link only where both its concepts may, and are still there."""
        if not knows(row.view, row.wrote):
            return False
        ends = [self._rows[CONCEPTS].get(end) for end in (row.source, row.target) if end]
        return all(end is not None and knows(end.view, end.wrote) for end in ends)

    def _is_pinned(self, number: int, knows: Knows) -> bool:
        return any(map(knows, self._pinned.get(number, ())))

    def _ends(self, row: _Row) -> tuple[str, str]:
        """The names of the concepts that it joins, if it is a link."""
        concepts = self._rows[CONCEPTS]
        return (concepts[row.source].name, concepts[row.target].name) if row.source else ("", "")

    def _shown(self, found: Iterable[tuple[str, _Row]], knows: Knows) -> list[Record]:
        """Those of them that may be known, with their texts; what was blanked meanwhile has none."""
        seen = [(family, row) for family, row in found if self._seen_by(row, knows)]
        seqs = {seq for _, row in seen for seq in (row.id, row.wrote)}
        entries = {entry.seq: entry for entry in self.journal.many([*seqs])}
        records = [self._record(family, row, entries, knows) for family, row in seen]
        return [record for record in records if record.text]

    def _record(
        self, family: str, row: _Row, entries: Mapping[int, Entry[CommandRan]], knows: Knows
    ) -> Record:
        written = entries[row.wrote]
        return Record(
            id=row.id,
            wrote=row.wrote,
            family=family,
            text=written.event.args.get(TEXT[family], ""),
            name=row.name,
            source=row.source,
            target=row.target,
            ends=self._ends(row),
            tags=row.tags,
            pinned=self._is_pinned(row.id, knows),
            view=row.view,
            at=entries[row.id].at,
            changed_at=written.at,
        )


def _folded(name: str) -> str:
    """The same for names that a reader takes for the same."""
    return normalize("NFKC", name).casefold()
