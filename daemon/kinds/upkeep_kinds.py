"""Kinds for upkeep, notes about people, and forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from daemon.engine.event import Event, Input, InputRank, StepEvent
from daemon.settings.limits import TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersion(Event):
    """A version of an owner's file, or a derived text; key `text:{sha256}`."""

    kind = "text"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet(Event):
    """The owner's texts of a turn, name to sha256; key `texts:{digest}`."""

    kind = "texts"
    stays: ClassVar[tuple[str, ...]] = ("texts",)
    texts: Mapping[str, str]

    def line(self) -> str:
        return f"{len(self.texts)} of the owner's texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixDrawn(Event):
    """The suffix of section tags from now on (`<say-k7>`), under `tag-suffix`."""

    kind = "tag-suffix"
    stays: ClassVar[tuple[str, ...]] = ("suffix",)
    suffix: str

    def line(self) -> str:
        return f"the tags of sections end with -{self.suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFault(Event):
    """A fault of an owner's file; `instead` says if the last good version, nothing, or the file is used."""

    kind = "fault"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str
    instead: Literal["kept", "left out", "as it is"] = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpCall(Event):
    """A probe of a model's abilities, with its cost."""

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
    """A completed backfill of a workspace up to a time, except channels `behind`."""

    kind = "caught-up"
    stays: ClassVar[tuple[str, ...]] = ("behind",)
    until: float
    behind: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress(Event):
    """A backfill's watermarks of channels and threads."""

    kind = "read-on"
    stays: ClassVar[tuple[str, ...]] = ("channels", "threads")
    channels: Mapping[str, float] = field(default_factory=dict)
    threads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCleared(Event):
    """The removal of all statuses up to this attempt."""

    kind = "status-cleared"
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNamed(Event):
    """The journal's id in the metadata of the soul's messages."""

    kind = "journal-named"
    stays: ClassVar[tuple[str, ...]] = ("id",)
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMoved(Event):
    """A channel's new id in Slack; the journal keeps the first."""

    kind = "channel-moved"
    stays: ClassVar[tuple[str, ...]] = ("team", "old", "new")
    team: str
    old: str
    new: str

    def line(self) -> str:
        return f"{self.old} is {self.new} now"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingMessageSeen(Event):
    """Another bot's message that may grow; its final text is read from Slack."""

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
    """The end of growth: taken, edited, or gone."""

    kind = "grown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesShown(StepEvent):
    """Notes shown to a person, numbered from 1 in this order.

    Not `listed`: versions of one note; `fixed`: it cannot be corrected.
    """

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
    """A person's correction of the entry `of`, with its visibility."""

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
    """A request to forget these notes about a person (none: everything); `deletes`: and the soul's DM
    messages.
    """

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
    """A completed forget request; `deletes`: deletion from Slack follows."""

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
    """The ts of messages to delete; `whole`: all of them."""

    kind = "deletion-listed"
    stays: ClassVar[tuple[str, ...]] = ("messages",)
    messages: tuple[str, ...]
    whole: bool = True

    def line(self) -> str:
        return f"{len(self.messages)} messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionProgress(Event):
    """Progress of a deletion; `why` is Slack's error for the last one left."""

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
