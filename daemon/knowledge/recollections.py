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
from daemon.kinds import (
    ConversationOpened,
    MemoryNote,
    NoteCorrected,
    NotesShown,
    PersonMessage,
    PersonModelWritten,
)
from daemon.knowledge.naming import NameHistory
from daemon.knowledge.person_models import PersonModels
from daemon.knowledge.places import KnownChannel
from daemon.knowledge.projection import Projection
from daemon.knowledge.views import Visibility, VisibilityCheck
from daemon.ports import Hold, PersonNote


class PersonRecordSource(Protocol):
    """What else keeps something about people: the inner life."""

    async def notes_about(self, names: Sequence[str], thread: str) -> Sequence[PersonNote]:
        """What is recorded about whoever is called so, and may be known in this thread, a DM of theirs."""

    async def versions(self, seq: int) -> Sequence[int]:
        """All entries in which the record stands whose text this one holds; none: it holds none."""


@dataclass(slots=True, kw_only=True)
class StoredNote:
    """What the soul wanted to remember: all its versions, oldest first, and in which conversation."""

    person: str
    thread: str
    versions: list[int] = field(default_factory=list)


class PersonNotes(Projection):
    """All notes about all people. `direct` finds the conversation in which someone is told something."""

    kinds: ClassVar[tuple[type[Event], ...]] = (PersonMessage, MemoryNote, NoteCorrected)

    def __init__(
        self,
        journal: Journal,
        models: PersonModels,
        direct: Callable[[str, Hold], Awaitable[str]],
        records: PersonRecordSource,
    ) -> None:
        super().__init__(journal)
        self._models = models
        self._places = models.places
        self._direct = direct
        self._records = records

    async def find_dm(self, person: str) -> str:
        """The conversation in which this person alone is told something. Raises SpeechFailed."""
        return await self._direct(person, _no_wait)

    def is_dm_with(self, thread: str, person: str) -> bool:
        """Is this a DM with them?"""
        opened = self.journal.latest_of_kind(root_of(thread), ConversationOpened)
        return opened is not None and (opened.event.where, opened.event.user) == ("dm", person)

    async def notes_about(self, person: str, thread: str) -> Sequence[PersonNote]:
        """Return what is noted about this person, and is shown to them in this DM of theirs.

        The oldest comes first, by what a note began with: one that is corrected keeps its place.
        """
        await self._models.load([person])
        await self.update()
        knows = Visibility(self._places).make_check(thread)
        learned = [
            self._known(chain.seqs, self._places.channel_of(chain.thread))
            for chain in self._models.chains(person)
        ]
        notes = [note for note in self._notes if note.person == person and self._is_shown(note, knows)]
        noted = [self._known(note.versions, self._places.channel_of(note.thread)) for note in notes]
        recorded = await self._records.notes_about(self._naming.names(person), thread)
        known = [note for note in (*learned, *noted, *recorded) if note.text]
        return sorted(known, key=attrgetter("first"))

    async def versions(self, seq: int, person: str) -> tuple[int, ...]:
        """All versions of the note about this person whose latest is this entry; none: there is none."""
        await self._models.load([person])
        await self.update()
        for chain in self._models.chains(person):
            if chain.seqs[-1] == seq:
                return tuple(chain.seqs)
        for note in self._notes:
            if note.person == person and note.versions[-1] == seq:
                return tuple(note.versions)
        if not seq:
            return ()
        return tuple(await self._records.versions(seq))

    async def current_seq(self, seq: int, person: str) -> int:
        """Return the entry that holds the note of the entry `seq` now, if only its person changed it since.

        Else `seq` itself: what was shown under its number is not what the note says now.
        """
        await self._models.load([person])
        await self.update()
        chains = [chain.seqs for chain in self._models.chains(person)]
        chains += [note.versions for note in self._notes if note.person == person]
        for versions in chains:
            if seq in versions:
                later = self.journal.entries_at(versions[versions.index(seq) + 1 :])
                if later and all(isinstance(entry.event, NoteCorrected) for entry in later):
                    return later[-1].seq
        return seq

    def last_list_shown(self, person: str, before: int) -> Entry[NotesShown] | None:
        """The last list that they were shown before the entry `before`."""
        for one in reversed(self.journal.entries_of_kind(NotesShown)):
            if one.event.listed and one.event.person == person and one.seq < before:
                return one
        return None

    def _is_shown(self, note: StoredNote, knows: VisibilityCheck) -> bool:
        return self._naming.has_spoken(note.person, note.thread) or knows(note.thread)

    def _known(self, versions: Sequence[int], channel: KnownChannel | None) -> PersonNote:
        entry = self.journal.entry(versions[-1])
        text = entry.event.text
        if isinstance(entry.event, PersonModelWritten):
            text = self._models.own_lines(entry)
        known = PersonNote(seq=entry.seq, first=versions[0], text=text, place="", audience="", at=entry.at)
        if channel is None:
            return known
        return replace(known, place=channel.name, audience=channel.audience)

    # Folding

    def _reset(self) -> None:
        self._naming = NameHistory()
        self._notes = list[StoredNote]()
        self._of = dict[int, StoredNote]()

    async def update(self, before: int = ALWAYS) -> None:
        await self._places.update()
        await super().update(before)

    def _fold_entry(self, entry: Entry[Any]) -> None:
        self._naming.add_entry(entry)
        if entry.forgotten:
            return
        event = entry.event
        match event:
            case MemoryNote():
                person = self._naming.person_named(event.about, entry.thread)
                if person:
                    note = StoredNote(person=person, thread=entry.thread)
                    self._notes.append(note)
                    self._append(note, entry.seq)
            case NoteCorrected():
                corrected = self._of.get(event.of)
                if corrected and corrected.versions[-1] == event.of:
                    self._append(corrected, entry.seq)

    def _append(self, note: StoredNote, seq: int) -> None:
        note.versions.append(seq)
        self._of[seq] = note


def _no_wait() -> None:
    """Nothing is lost where this is done twice."""
