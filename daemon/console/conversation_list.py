"""The owner's list of conversations, names of group DMs, and notes by person.

Entries are read on demand, newest first. Forgetting drops the names. People may share a name.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Collection,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

from daemon.console.entry_text import contains_all
from daemon.console.folds import FieldFold, FoldedRow, NotesFold
from daemon.console.group_dm_names import GroupDmNames
from daemon.engine.event import Entry, root_of
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.kinds import (
    ANSWERED,
    OWN_WORDS,
    TOO_LATE,
    ButtonPress,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    PersonMessage,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    StopRequest,
)

TURNS = frozenset({SoulTurnBegan.kind, SoulTurnEnded.kind})
TO_THE_SOUL = frozenset({IncomingMessage.kind, ButtonPress.kind, StopRequest.kind})

READ_LATE = frozenset({TOO_LATE, ANSWERED})
"""Notes of overheard messages that were meant for the soul."""

FAILED = frozenset({"failed", "abandoned"})
NOBODY: Set[str] = frozenset()

CHOICES = 500
"""Most people and channels that a filter offers."""

MANY = 1_000
"""Conversations examined before other tasks may run."""


@dataclass(slots=True, kw_only=True)
class ConversationSummary:
    """Summary of a conversation.

    `user` wrote its first message or has the DM. `first` and `words` are the seqs of the first and last
    message with the soul, `last` that of the last entry. `asker` wrote `first` (empty: the soul). `people`
    wrote to the soul; `present` wrote messages that the soul read. `outcome` is the last turn's.
    """

    thread: str
    channel: str
    user: str
    where: str
    place: str
    audience: str
    at: float
    last: int
    first: int = 0
    words: int = 0
    asker: str = ""
    people: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    process: str = ""
    turns: int = 0
    outcome: str = ""

    @property
    def has_failed(self) -> bool:
        return self.outcome in FAILED


@dataclass(slots=True, kw_only=True)
class ConversationCount:
    count: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFilter:
    """Filter of conversations. `state` is "failed" or "waits"; a page has `limit` of them.

    All `words` must be in a conversation's names, or its thread in `found`. Its last entry must be before
    `before`.
    """

    person: str
    channel: str
    process: str
    state: str
    words: Sequence[str]
    found: Collection[str] = ()
    before: int
    limit: int


class ConversationFold(FieldFold):
    kinds = (ConversationOpened, PersonMessage, SpeechFinished, SoulTurnBegan, SoulTurnEnded)
    paths = ("$.user", "$.name", "$.chosen", "$.bot", "$.note", "$.process", "$.apart", "$.outcome")

    def __init__(self, journal: Journal, group_names: GroupDmNames) -> None:
        self.group_names = group_names
        super().__init__(journal)

    def get(self, thread: str) -> ConversationSummary | None:
        """Return the conversation of a thread or branch, even if it was not read yet."""
        root = root_of(thread)
        found = self._newer.get(root) or self._older.get(root)
        if found is None and self._low:
            opened = _opening(self.journal, root)
            if opened:
                return _new_summary(opened)
        return found

    async def matching(
        self, asked: ConversationFilter, waiting: Collection[str]
    ) -> AsyncIterator[ConversationSummary]:
        """Yield matching conversations, latest first. `waiting` are threads with open questions."""
        for number, one in enumerate(self._latest_first()):
            if number % MANY == MANY - 1:
                await asyncio.sleep(0)
            if one.last < asked.before and self._fits(one, asked, waiting):
                yield one

    def place_name(self, one: ConversationSummary) -> str:
        """Return the conversation's place, like `#general` or `DM with Alice`."""
        if one.where == "group":
            return self.group_names.name_of(one.channel, self._names_in(one.present))
        if one.where != "dm":
            return one.place
        name = self.names.get(one.user, "")
        if not name:
            return one.place
        return f"DM with {name}"

    def is_private(self, one: ConversationSummary) -> bool:
        return self._channels.get(one.channel, one).audience == "private"

    def group_dm_channels(self) -> Sequence[str]:
        return [channel for channel, one in self._channels.items() if one.where == "group"]

    def latest_in_channel(self, channel: str) -> ConversationSummary | None:
        return self._channels.get(channel)

    def _names(self, one: ConversationSummary) -> list[str]:
        return self._names_in(one.people)

    def _names_in(self, people: Collection[str]) -> list[str]:
        return [self.names[person] for person in sorted(people) if person in self.names]

    def person_named(self, name: str, thread: str) -> str:
        """Return the id of the person with this name in this conversation; empty if not
        exactly one is found.
        """
        called = self.people_called(name)
        if len(called) > 1:
            one = self.get(thread)
            present = one.present if one else NOBODY
            called = called & present
        if len(called) != 1:
            return ""
        [person] = called
        return person

    def people_called(self, name: str) -> Set[str]:
        """Return the ids of all who ever had this name."""
        return self._called.get(name.casefold(), NOBODY)

    def names_of(self, person: str) -> Collection[str]:
        return self._names_of.get(person, ())

    def filter_choices(self) -> Mapping[str, Any]:
        met = heapq.nlargest(CHOICES, self.talks, key=lambda person: self.talks[person].at)
        people = {person: self.names.get(person, person) for person in met}
        latest = heapq.nlargest(CHOICES, self._channels.values(), key=attrgetter("last"))
        channels = {one.channel: self.place_name(one) for one in latest}
        return {
            "people": dict(sorted(people.items(), key=_by_name)),
            "channels": dict(sorted(channels.items(), key=_by_name)),
            "processes": sorted(process for process, count in self._processes.items() if count and process),
        }

    def _latest_first(self) -> Sequence[ConversationSummary]:
        return [*chain(reversed(self._newer.values()), self._older.values())]

    def _fits(self, one: ConversationSummary, asked: ConversationFilter, waiting: Collection[str]) -> bool:
        if asked.person and asked.person not in one.people:
            return False
        if asked.channel and asked.channel != one.channel:
            return False
        if asked.process and asked.process != one.process:
            return False
        if asked.state == "failed" and not one.has_failed:
            return False
        if asked.state == "waits" and one.thread not in waiting:
            return False
        return not asked.words or one.thread in asked.found or self._is_named(one, asked.words)

    def _is_named(self, one: ConversationSummary, words: Collection[str]) -> bool:
        names = "\n".join([self.place_name(one), one.thread, *self._names(one)])
        return contains_all(names, words)

    def _clear(self) -> None:
        self._newer: dict[str, ConversationSummary] = {}
        """Conversations with entries since the fold began, by thread, latest last."""
        self._older: dict[str, ConversationSummary] = {}
        """All other conversations, by thread, latest first."""
        self.names: dict[str, str] = {}
        """Current names of people and bots, by id."""
        self._called: defaultdict[str, set[str]] = defaultdict(set)
        """Ids of people, by casefolded name."""
        self._names_of: defaultdict[str, set[str]] = defaultdict(set)
        self.talks: dict[str, ConversationCount] = {}
        self.bots = set[str]()
        self._channels: dict[str, ConversationSummary] = {}
        """Latest conversation in each channel."""
        self._processes = Counter[str]()

    def _read(self, journal: JournalReader, since: int, upto: int) -> Sequence[FoldedRow]:
        """Return the rows of conversations, each with its opening entry as `more`."""
        opened: dict[str, Entry[ConversationOpened] | None] = {}
        rows = []
        for row in super()._read(journal, since, upto):
            root = root_of(row.thread)
            if root not in opened:
                opened[root] = _opening(journal, root)
            if opened[root]:
                rows.append(row._replace(more=opened[root]))
        return rows

    def _add(self, row: FoldedRow) -> None:
        root = root_of(row.thread)
        one = self._newer.pop(root, None) or self._older.pop(root, None) or _new_summary(row.more)
        self._newer[root] = self._channels[one.channel] = one
        one.last = row.seq
        one.at = row.at
        for person in one.people:
            self.talks[person].at = row.at
        if row.kind == SpeechFinished.kind or _is_to_the_soul(row):
            if not one.first:
                one.first = row.seq
                one.asker = _speaker(row)
            one.words = row.seq
        if _is_said(row):
            self._add_message(one, row, newer=True)
        elif row.kind in TURNS and row.thread == root:
            self._add_turn(one, row, newer=True)

    def _add_older(self, row: FoldedRow) -> None:
        root = root_of(row.thread)
        one = self._newer.get(root) or self._older.get(root)
        if one is None:
            one = self._older[root] = _new_summary(row.more)
            one.last = row.seq
            one.at = row.at
            self._channels.setdefault(one.channel, one)
        if row.kind == SpeechFinished.kind or _is_to_the_soul(row):
            one.first = row.seq
            one.asker = _speaker(row)
            one.words = one.words or row.seq
        if _is_said(row):
            self._add_message(one, row, newer=False)
        elif row.kind in TURNS and row.thread == root:
            self._add_turn(one, row, newer=False)

    def _add_message(self, one: ConversationSummary, row: FoldedRow, *, newer: bool) -> None:
        person, name = row.fields["$.user"], row.fields["$.name"]
        if not (person and name) or row.fields["$.note"] == OWN_WORDS:
            return
        one.present.add(person)
        self._add_name(person, row, newer=newer)
        if person in one.people or not _is_to_the_soul(row):
            return
        one.people.add(person)
        talks = self.talks.setdefault(person, ConversationCount())
        talks.count += 1
        talks.at = max(talks.at, one.at)

    def _add_name(self, person: str, row: FoldedRow, *, newer: bool) -> None:
        name = row.fields["$.name"]
        if name == person:  # Slack had not told the name yet
            return
        if newer or person not in self.names:
            self.names[person] = name
        if row.fields["$.bot"]:
            self.bots.add(person)
            return
        for called in {name.casefold(), (row.fields["$.chosen"] or name).casefold()}:
            self._called[called].add(person)
            self._names_of[person].add(called)

    def _add_turn(self, one: ConversationSummary, row: FoldedRow, *, newer: bool) -> None:
        """Record a turn. Background tasks do not change the conversation's process."""
        process, outcome = row.fields["$.process"], row.fields["$.outcome"]
        if row.kind == SoulTurnEnded.kind:
            one.turns += 1
            if newer or not one.outcome:
                one.outcome = outcome
        if process and row.fields["$.apart"] is None and (newer or not one.process):
            self._processes[one.process] -= 1
            one.process = process
            self._processes[process] += 1


def _opening(journal: JournalReader, root: str) -> Entry[ConversationOpened] | None:
    return next(journal.latest_first(root, ConversationOpened), None)


def _new_summary(opened: Entry[ConversationOpened]) -> ConversationSummary:
    place = opened.event
    return ConversationSummary(
        thread=opened.thread,
        channel=place.channel,
        user=place.user,
        where=place.where,
        place=place.place,
        audience=place.audience,
        at=opened.at,
        last=opened.seq,
    )


def _is_said(row: FoldedRow) -> bool:
    return row.kind not in TURNS and row.kind not in (ConversationOpened.kind, SpeechFinished.kind)


def _is_to_the_soul(row: FoldedRow) -> bool:
    """True for messages, presses and stops for the soul; False if only overheard."""
    if row.kind == OverheardMessage.kind:
        return row.fields["$.note"] in READ_LATE
    return row.kind in TO_THE_SOUL


def _speaker(row: FoldedRow) -> str:
    return row.fields["$.user"] or ""


def _by_name(named: tuple[str, str]) -> str:
    return named[1].casefold()


class NotesByPerson:
    def __init__(self, noted: NotesFold, conversations: ConversationFold) -> None:
        self._noted = noted
        self._conversations = conversations

    def notes_about(self, person: str) -> Sequence[int]:
        """Return the seqs of the current texts of a person's notes, in the order of the notes."""
        notes: list[tuple[int, int]] = []
        for name in self._conversations.names_of(person):
            notes += self._about(person, name).items()
        return [now for _, now in sorted(notes)]

    def count(self, person: str) -> int:
        return sum(len(self._about(person, name)) for name in self._conversations.names_of(person))

    def notes_about_others(self, people: Set[str], most: int) -> Sequence[int]:
        """Return the seqs of the `most` newest notes about none of these people."""
        return [now for _, now in sorted(heapq.nlargest(most, self._about_others(people)))]

    def count_others(self, people: Set[str]) -> int:
        return self._noted.count - sum(map(self.count, people))

    def _about(self, person: str, name: str) -> Mapping[int, int]:
        """Return the notes under this name that are about this person."""
        notes = self._noted.notes_about(name)
        if len(self._conversations.people_called(name)) == 1:
            return notes
        return {note: now for note, now in notes.items() if self._whose(name, note) == person}

    def _about_others(self, people: Set[str]) -> Iterator[tuple[int, int]]:
        for name in self._noted.subject_names():
            called = self._conversations.people_called(name)
            if len(called) == 1 and people & called:
                continue
            for note, now in self._noted.notes_about(name).items():
                if self._whose(name, note) not in people:
                    yield note, now

    def _whose(self, name: str, note: int) -> str:
        return self._conversations.person_named(name, self._noted.thread_of_note(note))
