"""What people are like, as far as it may be known in a conversation. A turn reads it as of its first begin.

Folded from `PersonLearned` entries: each says what is known now in its channel; and from what people correct.
It is read person by person: a turn waits for those alone who speak in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS, JournalReader
from daemon.kinds import NoteCorrected, PersonMessage, PersonModelWritten
from daemon.knowledge.channel_audiences import ChannelAudiences, ChannelId, read_channel_of
from daemon.knowledge.places import KnownChannels, may_know
from daemon.knowledge.projection import PartialProjection

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
