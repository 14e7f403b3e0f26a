"""Notes about people, for the soul and for the people themselves.

A note is a person model (a text about a person in one channel) or something to remember; its latest version
counts. People see notes from their own words, or from conversations that they could read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from daemon.engine.event import Entry, Event, root_of
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal, PartialProjection, Projection
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.kinds import (
    ConversationOpened,
    MemoryNote,
    NoteCorrected,
    NotesShown,
    PersonMessage,
    PersonModelWritten,
)
from daemon.knowledge.provenance import NameHistory
from daemon.knowledge.visibility import (
    ChannelAudiences,
    ChannelId,
    KnownChannel,
    KnownChannels,
    Visibility,
    VisibilityCheck,
    may_know,
    read_channel_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonNote:
    """A note about a person; the seq of its `first` entry sets its order. A `fixed` note can be forgotten,
    not corrected.
    """

    seq: int
    first: int
    text: str
    place: str
    audience: str
    at: float
    fixed: bool = False


QUOTED = re.compile(r"^[\s*•-]*(?P<name>\S.{0,100}?) said: [“\"].*[”\"]\s*$")
"""A quotation; older person models also quote other people."""


MOST = 5
"""Most person models of one person that are shown together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChain:
    """Versions of the person model of one channel, oldest first; `thread` is the first one's."""

    thread: str
    seqs: list[int] = field(default_factory=list)


class PersonKnowledge:
    def __init__(self) -> None:
        self.chains: dict[ChannelId, ModelChain] = {}
        self.names: dict[str, int] = {}

    def correct(self, seq: int, right: NoteCorrected) -> None:
        if not right.text:  # the correction was forgotten
            return
        for chain in self.chains.values():
            if chain.seqs[-1] == right.of:
                chain.seqs.append(seq)

    def learn(self, seq: int, thread: str, learned: PersonModelWritten, channel: ChannelId | None) -> None:
        self.names.setdefault(learned.name.casefold(), seq)
        if channel is None or not learned.text:  # a forgotten model has no text
            return
        chain = self.chains.setdefault(channel, ModelChain(thread=thread))
        if not chain.seqs or learned.since >= chain.seqs[-1]:  # `since` is larger if the base was forgotten
            chain.seqs.append(seq)


class PersonModels(PartialProjection):
    kinds = (PersonModelWritten, NoteCorrected)

    def __init__(self, journal: Journal, places: KnownChannels) -> None:
        super().__init__(journal)
        self.places = places
        self._audiences = ChannelAudiences(journal)

    async def load(self, people: Iterable[str], thread: str = "") -> None:
        """Load person models and audiences, in a worker thread if the journal is long."""
        self.fold()
        people = set(people)
        missing = people - self._known.keys()
        if missing:
            self._known |= await self._read_in_thread(dict, partial(_read_people_on, missing))
        channels: list[ChannelId] = []
        for person in people:
            channels += self._known[person].chains
        here = self._audiences.channel_of(thread)
        if here:
            channels.append(here)
        await self._audiences.load(channels)

    def known_lines(self, person: str, thread: str, before: int = ALWAYS) -> list[str]:
        """Return person models that readers of `thread` may know, its own channel's first."""
        here = self._audiences.channel_of(thread)
        if here is None:
            return []
        mine = self._audiences.audience_before(here, before)
        found: list[tuple[bool, int]] = []
        for channel, chain in self._of(person).chains.items():
            last = _last_before(chain.seqs, before)
            if last and may_know(mine, self._audiences.audience_before(channel, before)):
                found.append((channel == here, last))
        found.sort(reverse=True)
        entries = self.journal.entries_at([seq for _, seq in found[:MOST]])
        texts = [self.own_lines(entry, before) for entry in entries]
        return [text for text in texts if text]

    def own_lines(self, entry: Entry[PersonModelWritten | NoteCorrected], before: int = ALWAYS) -> str:
        """Return the text of a person model without quotations of others; a person's
        correction stays whole.
        """
        event = entry.event
        if isinstance(event, NoteCorrected):
            return event.text
        names = {event.name.casefold()}
        names.update(name for name, seq in self._of(event.person).names.items() if seq < before)
        return without_others(event.text, names)

    def known_people(
        self, said: Iterable[Entry[PersonMessage]], thread: str, before: int = ALWAYS
    ) -> Sequence[tuple[str, str]]:
        """Return names of the speakers and the person models that readers of `thread` may know."""
        names = {entry.event.user: entry.event.name for entry in said}
        known = []
        for person, name in names.items():
            notes = self.known_lines(person, thread, before)
            if notes:
                known.append((name, "\n".join(notes)))
        return known

    def chains(self, person: str) -> list[ModelChain]:
        """Return all of a person's models, which only the person may see."""
        return [*self._of(person).chains.values()]

    def base_model(self, person: str, thread: str, before: int = ALWAYS) -> tuple[int, str]:
        """Return seq and text of the version that a new person model extends; `0, ""` without one."""
        seq = _last_before(self._learned(person, thread), before)
        if not seq:
            return 0, ""
        return seq, self.own_lines(self.journal.entry(seq), before)

    def is_current(self, entry: Entry[PersonModelWritten]) -> bool:
        """True unless the version that this person model extends was replaced by another."""
        return entry.seq in self._learned(entry.event.person, entry.thread)

    def _reset(self) -> None:
        self._known: dict[str, PersonKnowledge] = {}

    def _of(self, person: str) -> PersonKnowledge:
        self.fold()
        if person not in self._known:
            self._known |= self._read(dict, partial(_read_people_on, {person}))
        return self._known[person]

    def _learned(self, person: str, thread: str) -> Sequence[int]:
        chains = self._of(person).chains
        channel = self._audiences.channel_of(thread)
        if channel is None or channel not in chains:
            return ()
        return chains[channel].seqs

    def _fold_entry(self, entry: Entry[PersonModelWritten | NoteCorrected]) -> None:
        known = self._known.get(entry.event.person)
        if known:
            _add_model(known, entry, self._audiences.channel_of(entry.thread))


def _read_people_on(
    people: Collection[str], known: dict[str, PersonKnowledge], journal: JournalReader, since: int, upto: int
) -> None:
    channels: dict[str, ChannelId | None] = {}
    for person in people:
        knowledge = known.setdefault(person, PersonKnowledge())
        found: list[Entry[Any]] = journal.entries_containing(
            person, PersonModelWritten, NoteCorrected, since=since, upto=upto
        )
        for entry in found:
            root = root_of(entry.thread)
            if root not in channels:
                channels[root] = read_channel_of(journal, root)
            if entry.event.person == person:
                _add_model(knowledge, entry, channels[root])


def _add_model(known: PersonKnowledge, entry: Entry[Any], channel: ChannelId | None) -> None:
    if isinstance(entry.event, NoteCorrected):
        known.correct(entry.seq, entry.event)
    else:
        known.learn(entry.seq, entry.thread, entry.event, channel)


def without_others(notes: str, names: Collection[str]) -> str:
    """Drop lines that quote people other than these case-folded names."""
    return "\n".join(line for line in notes.split("\n") if not _quotes_another(line, names))


def _quotes_another(line: str, names: Collection[str]) -> bool:
    found = QUOTED.match(line)
    return found is not None and found["name"].casefold() not in names


def _last_before(seqs: Sequence[int], before: int) -> int:
    last = bisect_left(seqs, before)
    if not last:
        return 0
    return seqs[last - 1]


class PersonRecordSource(Protocol):
    async def notes_about(self, names: Sequence[str], thread: str) -> Sequence[PersonNote]:
        """Return records about a person of these names that may be known in their DM `thread`."""

    async def versions(self, seq: int) -> Sequence[int]:
        """Return the seqs of all entries of the record with this entry; empty if there is none."""


@dataclass(slots=True, kw_only=True)
class StoredNote:
    person: str
    thread: str
    versions: list[int] = field(default_factory=list)


class PersonNotes(Projection):
    """Projection of all notes about people."""

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
        """Return the person's DM thread. Raises PostFailed."""
        return await self._direct(person, _no_wait)

    def is_dm_with(self, thread: str, person: str) -> bool:
        opened = self.journal.latest_of_kind(root_of(thread), ConversationOpened)
        return opened is not None and (opened.event.where, opened.event.user) == ("dm", person)

    async def notes_about(self, person: str, thread: str) -> Sequence[PersonNote]:
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
        """Return the seq of a note's latest version if only the person changed the note since `seq`; else
        `seq`.
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

    # Projection

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


async def _no_wait() -> None:
    """Do nothing: opening a DM twice is harmless."""
