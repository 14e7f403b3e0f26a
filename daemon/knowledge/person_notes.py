"""What people are like, as far as it may be known in a conversation. A turn reads it as of its first begin.

Folded from `PersonLearned` entries: each says what is known now in its channel; and from what people correct.
It is read person by person: a turn waits for those alone who speak in it.

What is noted about people, for those people themselves: where it is from, and who else may know it.

A projection of the journal. A note is what was learned about somebody in one channel, or something that the
soul wanted to remember about them; its latest version counts. A person is shown what they may know: all that
was learned from what they said, and what was noted where they were, or could be.

How much there is between the soul and other bots: counted by ourselves, from the journal.

What a neighbour says of how often something was handed on can be left out, or made up, by any of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from daemon.engine.clock import Clock
from daemon.engine.event import DAY, Entry, Event, midnight, root_of
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal, PartialProjection, Projection
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.kinds import (
    OWN_WORDS,
    ButtonPress,
    CommandRan,
    ConversationOpened,
    IncomingMessage,
    MemoryNote,
    NoteCorrected,
    NotesShown,
    OverheardMessage,
    PersonMessage,
    PersonModelWritten,
    SpeechFinished,
    StopRequest,
    is_context,
    thread_key,
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
    """One note about a person: the entry that holds it now, where it is from, and who can read there.

    `first` is the entry that it began with: a note keeps its place among others whatever it reads now.
    `fixed`: it can be forgotten, but not corrected.
    """

    seq: int
    first: int
    text: str
    place: str
    audience: str
    at: float
    fixed: bool = False


QUOTED = re.compile(r"^[\s*•-]*(?P<name>\S.{0,100}?) said: [“\"].*[”\"]\s*$")
"""A line that quotes somebody: earlier rehearsed models noted what others had said, too."""


MOST = 5
"""Models of one person that are used together: this channel's, and the newest of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChain:
    """The models of one person in one channel: their seqs, each made from the one before it. `thread` is that
    in which something was learned first."""

    thread: str
    seqs: list[int] = field(default_factory=list)


class PersonKnowledge:
    """What was learned of one person, by the channel in which it was."""

    def __init__(self) -> None:
        self.chains: dict[ChannelId, ModelChain] = {}
        self.names: dict[str, int] = {}
        """The names that they were called, in small letters, each with the entry that says so first."""

    def correct(self, seq: int, right: NoteCorrected) -> None:
        """The person says how it is to read: that counts where the model did."""
        if not right.text:  # it was forgotten
            return
        for chain in self.chains.values():
            if chain.seqs[-1] == right.of:
                chain.seqs.append(seq)

    def learn(self, seq: int, thread: str, learned: PersonModelWritten, channel: ChannelId | None) -> None:
        """Something was learned in this channel."""
        self.names.setdefault(learned.name.casefold(), seq)
        if channel is None or not learned.text:  # no text: it was forgotten
            return
        chain = self.chains.setdefault(channel, ModelChain(thread=thread))
        if not chain.seqs or learned.since >= chain.seqs[-1]:  # larger: made from one that was forgotten
            chain.seqs.append(seq)


class PersonModels(PartialProjection):
    """The models of those people who were asked for, one for each channel in which something was learned
    about them."""

    kinds = (PersonModelWritten, NoteCorrected)

    def __init__(self, journal: Journal, places: KnownChannels) -> None:
        super().__init__(journal)
        self.places = places
        self._audiences = ChannelAudiences(journal)

    async def load(self, people: Iterable[str], thread: str = "") -> None:
        """Read what is known of these people, and who can read it, as far as it is not at hand: beside the
        loop, where the journal is long."""
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
        """What is known about a person and may be known in this thread: this channel's model comes first."""
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
        """Return what this entry says of its person, without lines that quote somebody else.

        What the person themselves corrected reads as they wrote it.
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
        """What is known about those who said this, and may be known in this thread: name, and all notes."""
        names = {entry.event.user: entry.event.name for entry in said}
        known = []
        for person, name in names.items():
            notes = self.known_lines(person, thread, before)
            if notes:
                known.append((name, "\n".join(notes)))
        return known

    def chains(self, person: str) -> list[ModelChain]:
        """What was learned about this person, channel by channel. For themselves, who may see all of it."""
        return [*self._of(person).chains.values()]

    def base_model(self, person: str, thread: str, before: int = ALWAYS) -> tuple[int, str]:
        """The model that a new one is made from in this thread: its seq, for `since`, and its text."""
        seq = _last_before(self._learned(person, thread), before)
        if not seq:
            return 0, ""
        return seq, self.own_lines(self.journal.entry(seq), before)

    def is_current(self, entry: Entry[PersonModelWritten]) -> bool:
        """Does this model count? Not if another was learned in its channel since the one it was made from.

        Such a one is dropped; whoever wrote it may learn again from the newer base.
        """
        return entry.seq in self._learned(entry.event.person, entry.thread)

    def _reset(self) -> None:
        """What was learned before counts again where what came after it is forgotten."""
        self._known: dict[str, PersonKnowledge] = {}

    def _of(self, person: str) -> PersonKnowledge:
        self.fold()
        if person not in self._known:
            self._known |= self._read(dict, partial(_read_people_on, {person}))
        return self._known[person]

    def _learned(self, person: str, thread: str) -> Sequence[int]:
        """The models of this person in this thread's channel."""
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
    """Add what the journal holds of these people after a seq, up to another."""
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
    """Return these notes without the lines that quote somebody who has none of these names (casefolded)."""
    return "\n".join(line for line in notes.split("\n") if not _quotes_another(line, names))


def _quotes_another(line: str, names: Collection[str]) -> bool:
    found = QUOTED.match(line)
    return found is not None and found["name"].casefold() not in names


def _last_before(seqs: Sequence[int], before: int) -> int:
    """The last one before an entry; 0: there is none."""
    last = bisect_left(seqs, before)
    if not last:
        return 0
    return seqs[last - 1]


HOPS = 3
"""Messages of bots in a thread, ours among them, after which none is answered before a person speaks."""


MESH_COMMANDS = ("mesh.ask", "mesh.share")
"""The commands by which the soul turns to a neighbour."""


class BotTraffic:
    """Says when it is enough. `daily`: messages to and from bots in a UTC day."""

    def __init__(self, journal: Journal, clock: Clock, daily: int, places: KnownChannels) -> None:
        self.daily = daily
        self._journal = journal
        self._clock = clock
        self._places = places
        self._midnight = 0.0
        self._upto = 0
        """The seq up to which the day is counted."""
        self._count = 0

    def has_reached_limit(self, team: str, channel: str, root: str) -> bool:
        """Is no bot to be answered any more in the thread of this root? Not where nobody can count them."""
        try:
            return self.today() >= self.daily or self.hops(team, channel, root) >= HOPS
        except JournalDamaged:  # the journal said so
            return True

    def today(self) -> int:
        """How many messages of bots were taken up in this UTC day, and how often the soul turned to one."""
        began = midnight(self._clock.now())
        if began != self._midnight:
            self._midnight, self._upto, self._count = began, 0, 0
        found: list[Entry[IncomingMessage | CommandRan]]
        found = self._journal.entries_of_kind(IncomingMessage, CommandRan, since=self._upto, at=began)
        for entry in found:
            self._upto = entry.seq
            if entry.at < began + DAY and _is_mesh(entry.event):
                self._count += 1
        return self._count

    def hops(self, team: str, channel: str, root: str) -> int:
        """How many messages of bots, ours among them, stand in this thread since a person last spoke.

        In Slack's order: what was said before the soul came is written down later.
        """
        hops = 0
        if self._places.find_unprompted(team, channel, root):
            hops = 1
        opened = self._journal.get(thread_key(team, channel, root))
        if opened is None:
            return hops
        found: list[Entry[Any]] = self._journal.thread_entries(
            opened.thread, IncomingMessage, OverheardMessage, StopRequest, ButtonPress, SpeechFinished
        )
        speeches = set[int | None]()
        said_here = [entry for entry in found if not is_context(entry.key)]
        for entry in sorted(said_here, key=_said_at):
            if isinstance(entry.event, SpeechFinished) or entry.event.note == OWN_WORDS:
                if entry.cause not in speeches:
                    hops += 1
                speeches.add(entry.cause)
            elif entry.event.bot:
                hops += entry.event.note != "edited"
            else:
                hops = 0
        return hops


def _said_at(entry: Entry[Any]) -> Decimal:
    return Decimal(entry.event.ts)


def _is_mesh(event: IncomingMessage | CommandRan) -> bool:
    if isinstance(event, CommandRan):
        return event.ok and event.name in MESH_COMMANDS
    return event.bot


class PersonNoteSource(Protocol):
    """What is noted about people, and where each is told of it."""

    async def find_dm(self, person: str) -> str:
        """The conversation in which this person alone is told something."""

    def is_dm_with(self, thread: str, person: str) -> bool:
        """Is this a DM with them?"""

    async def notes_about(self, person: str, thread: str) -> Sequence[PersonNote]:
        """What is noted about them, as far as they are shown it in this DM of theirs."""

    async def versions(self, seq: int, person: str) -> tuple[int, ...]:
        """All versions of a note about them whose latest is this entry; none where there is no such note."""

    async def current_seq(self, seq: int, person: str) -> int:
        """The entry in which this note about them stands, as they corrected it since; else the same entry."""

    def last_list_shown(self, person: str, before: int) -> Entry[NotesShown] | None:
        """The last list that they were shown before the entry `before`."""


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
