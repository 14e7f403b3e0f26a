"""Kinds for upkeep, notes about people, and forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from daemon.engine.event import Event, Input, InputRank, StepEvent
from daemon.settings.limits import TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersion(Event):
    """A version of an owner's file, or of a text made from it; its key is `text:{sha256}`."""

    kind = "text"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet(Event):
    """The sha256 of each owner's text in a turn, by name, under the key `texts:{digest}`."""

    kind = "texts"
    stays: ClassVar[tuple[str, ...]] = ("texts",)
    texts: Mapping[str, str]

    def line(self) -> str:
        return f"{len(self.texts)} of the owner's texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixDrawn(Event):
    """A new suffix of section tags, as in `<say-k7>`."""

    kind = "tag-suffix"
    stays: ClassVar[tuple[str, ...]] = ("suffix",)
    suffix: str

    def line(self) -> str:
        return f"the tags of sections end with -{self.suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFault(Event):
    """A fault in an owner's file. `instead` says if its last good version is "kept"."""

    kind = "fault"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str
    instead: Literal["kept", "left out", "as it is"] = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpCall(Event):
    """A model call that tests a model's abilities."""

    kind = "look-up-call"
    stays: ClassVar[tuple[str, ...]] = ("question", "model", "outcome", "failure")
    question: str
    model: str
    outcome: str
    failure: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    cost: float = 0.0
    worth: float = 0.0
    seconds: float = 0.0

    def line(self) -> str:
        return f"{self.model}: {self.question}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillCompleted(Event):
    """A completed backfill: all channels were read up to `until`, those in `behind` less far."""

    kind = "caught-up"
    stays: ClassVar[tuple[str, ...]] = ("behind",)
    until: float
    behind: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress(Event):
    """The watermarks of channels and threads during a backfill."""

    kind = "read-on"
    stays: ClassVar[tuple[str, ...]] = ("channels", "threads")
    channels: Mapping[str, float] = field(default_factory=dict)
    threads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequested(Event):
    """A daemon's request to the one that reads missed messages. `missed`: no connection was open. `died`: a
    daemon that had connections counts as dead.
    """

    kind = "backfill-asked"
    missed: bool = False
    died: bool = False

    def line(self) -> str:
        if self.died:
            return "a daemon died"
        return "no connection was open" if self.missed else "a connection was replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCleared(Event):
    """The removal of the statuses of all attempts up to the entry `upto`."""

    kind = "status-cleared"
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeStatusCleared(Event):
    """The removal of the statuses of all attempts of the worker start `life` up to the entry `upto`."""

    kind = "life-cleared"
    life: int
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNamed(Event):
    """The journal's id in the metadata of the soul's messages."""

    kind = "journal-named"
    stays: ClassVar[tuple[str, ...]] = ("id",)
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMoved(Event):
    """A new id that Slack gave to a channel. The journal keeps the first one."""

    kind = "channel-moved"
    stays: ClassVar[tuple[str, ...]] = ("team", "old", "new")
    team: str
    old: str
    new: str

    def line(self) -> str:
        return f"{self.old} is {self.new} now"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingMessageSeen(Event):
    """A message that another bot may still be writing. Its final text will be read from Slack."""

    kind = "may-grow"
    pending = True
    closed_by = frozenset({"grown"})
    state = "still being written by another bot"
    stays: ClassVar[tuple[str, ...]] = ("channel", "where", "root", "ts")
    channel: str
    where: str
    root: str
    ts: str

    def line(self) -> str:
        return f"{self.channel}:{self.ts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGrowthEnded(Event):
    """The end of a growing message: complete, edited, or gone."""

    kind = "grown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesShown(StepEvent):
    """Notes shown to a person, numbered from 1. Unless `listed`, these are versions of one note."""

    kind = "notes-shown"
    stays: ClassVar[tuple[str, ...]] = ("person",)
    person: str
    seqs: tuple[int, ...]
    listed: bool = True
    text: str = ""
    fixed: bool = False

    def line(self) -> str:
        return f"{len(self.seqs)} about {self.person}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCorrected(StepEvent):
    """A person's correction of the note `of`, which keeps its visibility."""

    kind = "corrected"
    stays: ClassVar[tuple[str, ...]] = ("person",)
    of: int
    person: str
    name: str
    text: str

    def line(self) -> str:
        return f"{self.of}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequested(StepEvent):
    """A request to forget these notes about a person (without `seqs`: everything)."""

    kind = "to-forget"
    pending = True
    closed_by = frozenset({"forget-done"})
    state = "to be forgotten"
    stays: ClassVar[tuple[str, ...]] = ("person",)
    person: str
    seqs: tuple[int, ...] = ()
    deletes: bool = False

    def line(self) -> str:
        if not self.seqs:
            return f"all of {self.person}"
        return f"{len(self.seqs)} notes about {self.person}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCompleted(Input):
    """A completed forget request. `deletes`: deletion in Slack follows."""

    kind = "forget-done"
    rank = InputRank.RESUME
    stays: ClassVar[tuple[str, ...]] = ("person",)
    person: str
    all: bool
    deletes: bool = False

    def line(self) -> str:
        return self.person


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequested(StepEvent):
    """A confirmed request to delete the soul's earlier messages in a DM."""

    kind = "to-delete"
    pending = True
    closed_by = frozenset({"delete-done"})
    state = "to be deleted"
    stays: ClassVar[tuple[str, ...]] = ("person",)
    person: str

    def line(self) -> str:
        return self.person


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionListed(Event):
    """The ts of messages to delete. `whole`: none is missing."""

    kind = "deletion-listed"
    stays: ClassVar[tuple[str, ...]] = ("messages",)
    messages: tuple[str, ...]
    whole: bool = True

    def line(self) -> str:
        return f"{len(self.messages)} messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionProgress(Event):
    """Progress of a deletion. `why` is Slack's error for the last message that is left."""

    kind = "deleted-some"
    stays: ClassVar[tuple[str, ...]] = ("why",)
    deleted: int
    left: int = 0
    why: str = ""

    def line(self) -> str:
        return f"{self.deleted} deleted, {self.left} left"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCompleted(Input):
    """A completed deletion of messages."""

    kind = "delete-done"
    rank = InputRank.RESUME
    stays: ClassVar[tuple[str, ...]] = ("person", "why")
    person: str
    deleted: int
    left: int = 0
    why: str = ""
    whole: bool = True

    def line(self) -> str:
        return f"{self.deleted} deleted, {self.left} left"


FORGETTING: tuple[type[Event], ...] = (
    NotesShown,
    NoteCorrected,
    ForgetRequested,
    ForgetCompleted,
    DeleteRequested,
    DeletionListed,
    DeletionProgress,
    DeletionCompleted,
)
