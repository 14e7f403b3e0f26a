"""The conversations as the owner looks for one among them: where each is, with whom, and how it stands.

Folded when somebody looks. It holds names, which it forgets with the journal; what was said is read from
there, as it is now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.console.fold import Fields, Fold
from daemon.console.search import has_all
from daemon.engine.keys import root_of
from daemon.kinds import Opened, Said, Spoken, TurnBegan, TurnEnded

TURNS = frozenset({TurnBegan.kind, TurnEnded.kind})
FAILED = frozenset({"failed", "abandoned"})
"""The outcomes of a turn that was given up."""


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
    paths = (
        "$.channel",
        "$.where",
        "$.place",
        "$.user",
        "$.name",
        "$.bot",
        "$.process",
        "$.apart",
        "$.outcome",
    )

    def get(self, thread: str) -> Conversation | None:
        """The conversation of this thread, or of the one that it is a branch of."""
        return self._known.get(root_of(thread))

    def all(self) -> Collection[Conversation]:
        """All of them."""
        return self._known.values()

    def wanted(self, asked: Wanted, waiting: Collection[str]) -> Iterator[Conversation]:
        """Those that are asked for, the latest first; `waiting` are the threads that wait for an answer."""
        for one in reversed(self._known.values()):
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
        people: dict[str, str] = {}
        channels: dict[str, str] = {}
        processes: set[str] = set()
        for one in self._known.values():
            for person in one.people:
                people[person] = self.names.get(person, person)
            channels[one.channel] = self.called(one)
            processes.add(one.process)
        return {
            "people": dict(sorted(people.items(), key=_by_name)),
            "channels": dict(sorted(channels.items(), key=_by_name)),
            "processes": sorted(processes - {""}),
        }

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

    def _clear(self) -> None:
        self._known: dict[str, Conversation] = {}
        """By thread, those in which something was written last at the end."""
        self.names: dict[str, str] = {}
        """What people are called, by id."""

    def _take_fields(self, seq: int, thread: str, kind: str, at: float, fields: Fields) -> None:
        if kind == Opened.kind:
            if None in (fields["$.channel"], fields["$.where"], fields["$.place"]):
                return  # it is damaged
            self._known[thread] = Conversation(
                thread=thread,
                channel=fields["$.channel"],
                where=fields["$.where"],
                place=fields["$.place"],
                at=at,
                last=seq,
            )
            return
        one = self.get(thread)
        if one is None:  # the inner life, a reading
            return
        self._known[one.thread] = self._known.pop(one.thread)
        one.last = seq
        one.at = at
        if kind == Spoken.kind:
            one.words = seq
        elif kind not in TURNS:
            self._hear(seq, one, fields)
        elif thread == one.thread:
            self._turn(kind, one, fields)

    def _hear(self, seq: int, one: Conversation, fields: Fields) -> None:
        """Somebody said something there, or pressed something."""
        one.words = seq
        one.first = one.first or seq
        if fields["$.user"] and not fields["$.bot"]:
            one.people.add(fields["$.user"])
            if fields["$.name"]:
                self.names[fields["$.user"]] = fields["$.name"]

    def _turn(self, kind: str, one: Conversation, fields: Fields) -> None:
        """A turn of it began or ended. An afterthought has a process of its own."""
        if kind == TurnEnded.kind:
            one.turns += 1
            one.outcome = fields["$.outcome"]
        if fields["$.process"] and fields["$.apart"] is None:
            one.process = fields["$.process"]


def _by_name(named: tuple[str, str]) -> str:
    return named[1].casefold()
