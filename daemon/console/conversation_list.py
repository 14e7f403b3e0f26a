"""The conversations as the owner looks for one among them: where each is, with whom, and how it stands.

Folded when somebody looks, from the newest one back. It holds names, which it forgets with the journal; what
was said is read from there, as it is now.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

from daemon.console.fold import Fold, FoldedRow
from daemon.console.search import has_all
from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.reading import Reading
from daemon.kinds import Opened, Said, Spoken, TurnBegan, TurnEnded

TURNS = frozenset({TurnBegan.kind, TurnEnded.kind})
FAILED = frozenset({"failed", "abandoned"})
"""The outcomes of a turn that was given up."""
CHOICES = 500
"""People and channels that one may choose among, the latest ones."""
MANY = 1_000
"""Conversations that are looked at in one go; between two goes everybody else may run."""


@dataclass(slots=True, kw_only=True)
class Conversation:
    """One of them. `first`, `words` and `last` are entries: its first message, the last words in it, and the
    last of all that is folded here. `people` are ids; `outcome` is how its last turn ended."""

    thread: str
    channel: str
    where: str
    place: str
    at: float
    last: int
    first: int = 0
    words: int = 0
    people: set[str] = field(default_factory=set)
    process: str = ""
    turns: int = 0
    outcome: str = ""

    @property
    def failed(self) -> bool:
        """Was its last turn given up?"""
        return self.outcome in FAILED


@dataclass(slots=True, kw_only=True)
class Talks:
    """In how many conversations somebody takes part, and when the last of them went on."""

    count: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which of them: only those with this person, in this channel, in this process; `state` is failed or
    waits; `words` stand in the names of people and places, or the thread is one of `found`. Those whose last
    entry is before `before`, `limit` of them."""

    person: str
    channel: str
    process: str
    state: str
    words: Sequence[str]
    found: Collection[str] = ()
    before: int
    limit: int


class Conversations(Fold):
    """All conversations of a journal."""

    kinds = (Opened, Said, Spoken, TurnBegan, TurnEnded)
    paths = ("$.user", "$.name", "$.bot", "$.process", "$.apart", "$.outcome")

    def get(self, thread: str) -> Conversation | None:
        """The conversation of this thread, or of the one that it is a branch of; of one that was not read so
        far, where it is."""
        root = root_of(thread)
        found = self._newer.get(root) or self._older.get(root)
        if found is None and self._low:
            opened = _opening(self.journal, root)
            if opened:
                return _begun(opened)
        return found

    async def wanted(self, asked: Wanted, waiting: Collection[str]) -> AsyncIterator[Conversation]:
        """Those that are asked for, the latest first; `waiting` are the threads that wait for an answer."""
        for number, one in enumerate(self._latest_first()):
            if number % MANY == MANY - 1:
                await asyncio.sleep(0)
            if one.last < asked.before and self._fits(one, asked, waiting):
                yield one

    def called(self, one: Conversation) -> str:
        """Where it is, for a list: `#general`, `DM with Alice`."""
        if one.where != "dm":
            return one.place
        names = self._names(one)
        if not names:
            return one.place
        return f"DM with {', '.join(names)}"

    def _names(self, one: Conversation) -> list[str]:
        """What those who are there are called, as far as is known."""
        return [self.names[person] for person in sorted(one.people) if person in self.names]

    def choices(self) -> Mapping[str, Any]:
        """What one may choose among: people and channels, id to name, and processes."""
        met = heapq.nlargest(CHOICES, self.talks, key=lambda person: self.talks[person].at)
        people = {person: self.names.get(person, person) for person in met}
        latest = heapq.nlargest(CHOICES, self._channels.values(), key=attrgetter("last"))
        channels = {one.channel: self.called(one) for one in latest}
        return {
            "people": dict(sorted(people.items(), key=_by_name)),
            "channels": dict(sorted(channels.items(), key=_by_name)),
            "processes": sorted(process for process, count in self._processes.items() if count and process),
        }

    def _latest_first(self) -> Sequence[Conversation]:
        return [*chain(reversed(self._newer.values()), self._older.values())]

    def _fits(self, one: Conversation, asked: Wanted, waiting: Collection[str]) -> bool:
        if asked.person and asked.person not in one.people:
            return False
        if asked.channel and asked.channel != one.channel:
            return False
        if asked.process and asked.process != one.process:
            return False
        if asked.state == "failed" and not one.failed:
            return False
        if asked.state == "waits" and one.thread not in waiting:
            return False
        return not asked.words or one.thread in asked.found or self._named(one, asked.words)

    def _named(self, one: Conversation, words: Collection[str]) -> bool:
        """Do all these words stand in what it is called, or in who is there?"""
        names = "\n".join([self.called(one), one.thread, *self._names(one)])
        return has_all(names, words)

    # Folding

    def _clear(self) -> None:
        self._newer: dict[str, Conversation] = {}
        """By thread, those that went on since it began, in which something was written last at the end."""
        self._older: dict[str, Conversation] = {}
        """By thread, the others, in which something was written last at the beginning."""
        self.names: dict[str, str] = {}
        """What people are called, by id."""
        self.talks: dict[str, Talks] = {}
        """By the ids of people."""
        self._channels: dict[str, Conversation] = {}
        """The latest conversation of each channel."""
        self._processes = Counter[str]()
        """In how many conversations each process is."""

    def _read(self, journal: Reading, since: int, upto: int) -> Sequence[FoldedRow]:
        """Each with how its conversation began; without what belongs to none."""
        opened: dict[str, Entry[Opened] | None] = {}
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
        one = self._newer.pop(root, None) or self._older.pop(root, None) or _begun(row.more)
        self._newer[root] = self._channels[one.channel] = one
        one.last = row.seq
        one.at = row.at
        for person in one.people:
            self.talks[person].at = row.at
        if row.kind == Spoken.kind:
            one.words = row.seq
        elif _is_said(row):
            one.words = row.seq
            one.first = one.first or row.seq
            self._hear(one, row, newer=True)
        elif row.kind in TURNS and row.thread == root:
            self._turn(one, row, newer=True)

    def _add_older(self, row: FoldedRow) -> None:
        root = root_of(row.thread)
        one = self._newer.get(root) or self._older.get(root)
        if one is None:
            one = self._older[root] = _begun(row.more)
            one.last = row.seq
            one.at = row.at
            self._channels.setdefault(one.channel, one)
        if row.kind == Spoken.kind:
            one.words = one.words or row.seq
        elif _is_said(row):
            one.words = one.words or row.seq
            one.first = row.seq
            self._hear(one, row, newer=False)
        elif row.kind in TURNS and row.thread == root:
            self._turn(one, row, newer=False)

    def _hear(self, one: Conversation, row: FoldedRow, *, newer: bool) -> None:
        """Somebody said something there, or pressed something."""
        person, name = row.fields["$.user"], row.fields["$.name"]
        if not person or row.fields["$.bot"]:
            return
        if person not in one.people:
            one.people.add(person)
            talks = self.talks.setdefault(person, Talks())
            talks.count += 1
            talks.at = max(talks.at, one.at)
        if name and (newer or person not in self.names):
            self.names[person] = name

    def _turn(self, one: Conversation, row: FoldedRow, *, newer: bool) -> None:
        """A turn of it began or ended. An afterthought has a process of its own."""
        process, outcome = row.fields["$.process"], row.fields["$.outcome"]
        if row.kind == TurnEnded.kind:
            one.turns += 1
            if newer or not one.outcome:
                one.outcome = outcome
        if process and row.fields["$.apart"] is None and (newer or not one.process):
            self._processes[one.process] -= 1
            one.process = process
            self._processes[process] += 1


def _opening(journal: Reading, root: str) -> Entry[Opened] | None:
    """How this conversation began; None for what is none, and for a damaged one."""
    return next(journal.latest_first(root, Opened), None)


def _begun(opened: Entry[Opened]) -> Conversation:
    """A conversation of which nothing else is known yet."""
    place = opened.event
    return Conversation(
        thread=opened.thread,
        channel=place.channel,
        where=place.where,
        place=place.place,
        at=opened.at,
        last=opened.seq,
    )


def _is_said(row: FoldedRow) -> bool:
    return row.kind not in TURNS and row.kind != Opened.kind


def _by_name(named: tuple[str, str]) -> str:
    return named[1].casefold()
