"""What is noted about people, for those people themselves: where it is from, and who else may know it.

A projection of the journal. A note is what was learned about somebody in one channel, or something that the
soul wanted to remember about them; its latest version counts. A person is shown what they may know: all that
was learned from what they said, and what was noted where they were, or could be.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS
from daemon.kinds import Corrected, NotesShown, Opened, PersonLearned, Remembered, Said
from daemon.knowledge.naming import Naming
from daemon.knowledge.places import Places
from daemon.knowledge.projection import Projection
from daemon.knowledge.views import Knows, Views
from daemon.ports import Hold, KnownNote


class Records(Protocol):
    """What else keeps something about people: the inner life."""

    async def about(self, names: Sequence[str], thread: str) -> Sequence[KnownNote]:
        """What is recorded about whoever is called so, and may be known in this thread, a DM of theirs."""

    async def versions(self, seq: int) -> Sequence[int]:
        """All entries in which the record stands whose text this one holds; none: it holds none."""


@dataclass(slots=True, kw_only=True)
class Note:
    """What is noted: all its versions, oldest first, and the conversation that it stands in."""

    person: str
    thread: str
    learned: bool
    versions: list[int] = field(default_factory=list)


class Recollections(Projection):
    """All notes about all people. `direct` finds the conversation in which someone is told something."""

    kinds: ClassVar[tuple[type[Event], ...]] = (Said, PersonLearned, Remembered, Corrected)

    def __init__(
        self,
        journal: Journal,
        places: Places,
        direct: Callable[[str, Hold], Awaitable[str]],
        records: Records,
    ) -> None:
        super().__init__(journal)
        self._places = places
        self._direct = direct
        self._records = records

    async def direct(self, person: str) -> str:
        """The conversation in which this person alone is told something. Raises SpeechFailed."""
        return await self._direct(person, _free)

    def is_direct(self, thread: str, person: str) -> bool:
        """Is this a DM with them?"""
        opened = self.journal.latest(root_of(thread), Opened)
        return opened is not None and (opened.event.where, opened.event.user) == ("dm", person)

    async def about(self, person: str, thread: str) -> Sequence[KnownNote]:
        """What is noted about this person, and is shown to them in this DM of theirs, oldest first."""
        await self.update()
        knows = Views(self._places).knowing(thread)
        notes = [note for note in self._notes if note.person == person]
        known = [self._known(note) for note in notes if self._is_shown(note, knows)]
        more = await self._records.about(self._naming.names(person), thread)
        return sorted([*known, *more], key=attrgetter("seq"))

    async def versions(self, seq: int, person: str) -> tuple[int, ...]:
        """All versions of the note about this person whose latest is this entry; none: there is none."""
        await self.update()
        for note in self._notes:
            if note.person == person and note.versions[-1] == seq:
                return tuple(note.versions)
        if not seq:
            return ()
        return tuple(await self._records.versions(seq))

    def shown(self, person: str, before: int) -> Entry[NotesShown] | None:
        """The last list that they were shown before the entry `before`."""
        for one in reversed(self.journal.kind(NotesShown)):
            if one.event.listed and one.event.person == person and one.seq < before:
                return one
        return None

    def _is_shown(self, note: Note, knows: Knows) -> bool:
        return note.learned or self._naming.spoke(note.person, note.thread) or knows(note.thread)

    def _known(self, note: Note) -> KnownNote:
        entry = self.journal.at(note.versions[-1])
        known = KnownNote(seq=entry.seq, text=entry.event.text, place="", audience="", at=entry.at)
        channel = self._places.of(note.thread)
        if channel is None:
            return known
        return replace(known, place=channel.name, audience=channel.audience)

    # Folding

    def _clear(self) -> None:
        self._naming = Naming()
        self._notes = list[Note]()
        self._of = dict[int, Note]()
        self._learned = dict[tuple[str, int], Note]()

    async def update(self, before: int = ALWAYS) -> None:
        await self._places.update()
        await super().update(before)

    def _take(self, entry: Entry[Any]) -> None:
        self._naming.take(entry)
        if entry.forgotten:
            return
        event = entry.event
        match event:
            case PersonLearned():
                self._learn(entry)
            case Remembered():
                person = self._naming.whose(event.about, entry.thread)
                if person:
                    self._add(entry, Note(person=person, thread=entry.thread, learned=False))
            case Corrected():
                note = self._of.get(event.of)
                if note and note.versions[-1] == event.of:
                    self._append(note, entry.seq)

    def _learn(self, entry: Entry[PersonLearned]) -> None:
        """What was made from anything but the latest does not count (people.py)."""
        learned = entry.event
        channel = self._places.of(entry.thread)
        if channel is None or not learned.text:
            return
        known = self._learned.get((learned.person, channel.number))
        if known is None:
            note = Note(person=learned.person, thread=entry.thread, learned=True)
            self._learned[learned.person, channel.number] = note
            self._add(entry, note)
        elif learned.since >= known.versions[-1]:
            self._append(known, entry.seq)

    def _add(self, entry: Entry[Any], note: Note) -> None:
        self._notes.append(note)
        self._append(note, entry.seq)

    def _append(self, note: Note, seq: int) -> None:
        note.versions.append(seq)
        self._of[seq] = note


def _free() -> None:
    """Nothing is lost where this is done twice."""
