"""What the daemon notes of itself: the owner's files, and up to where it has read Slack.

What a person was told that is noted about them, what they corrected of it, and what is to be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from daemon.engine.event import Event, Input, InputRank, StepEvent
from daemon.settings.limits import TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVersion(Event):
    """One of the owner's files as it was when it was used, or what was made of some; key `text:{sha256}`."""

    kind = "text"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet(Event):
    """All of these as they were when a turn began, name to sha256, under `texts:{digest}`."""

    kind = "texts"
    stays: ClassVar[tuple[str, ...]] = ("texts",)
    texts: Mapping[str, str]

    def line(self) -> str:
        return f"{len(self.texts)} of the owner's texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixDrawn(Event):
    """What the tags of a model's sections end with from now on (`<say-k7>`), under `tag-suffix`."""

    kind = "tag-suffix"
    stays: ClassVar[tuple[str, ...]] = ("suffix",)
    suffix: str

    def line(self) -> str:
        return f"the tags of sections end with -{self.suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFault(Event):
    """One of the owner's files cannot be used, and why.

    `instead` says what is in use: the last good version is kept, the file is left out, or it is used as it
    is.
    """

    kind = "fault"
    stays: ClassVar[tuple[str, ...]] = ("name", "text")
    name: str
    text: str
    instead: Literal["kept", "left out", "as it is"] = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpCall(Event):
    """A tiny call that asked a model what it can do (`question`), whatever came of it, and what it cost."""

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
    """All that was said in this workspace up to a time is in the journal; less in the channels `behind`."""

    kind = "caught-up"
    stays: ClassVar[tuple[str, ...]] = ("behind",)
    until: float
    behind: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress(Event):
    """How far catching up has come: up to when it has read these channels, and these threads of channels."""

    kind = "read-on"
    stays: ClassVar[tuple[str, ...]] = ("channels", "threads")
    channels: Mapping[str, float] = field(default_factory=dict)
    threads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCleared(Event):
    """Slack shows no status of any attempt up to this one."""

    kind = "status-cleared"
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNamed(Event):
    """The id of this journal, which stands in the metadata of each message of the soul's."""

    kind = "journal-named"
    stays: ClassVar[tuple[str, ...]] = ("id",)
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMoved(Event):
    """Slack calls a channel by another id from now on; the journal goes on to call it by the first one."""

    kind = "channel-moved"
    stays: ClassVar[tuple[str, ...]] = ("team", "old", "new")
    team: str
    old: str
    new: str

    def line(self) -> str:
        return f"{self.old} is {self.new} now"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingMessageSeen(Event):
    """Another bot's message that may still grow; its words are taken from Slack when it does no more.

    `where` is what Slack calls the conversation, `root` the ts of its thread.
    """

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
    """The message grows no more: it was taken, or heard as edited; neither, if it is gone."""

    kind = "grown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesShown(StepEvent):
    """A person is shown what is noted about them, in this order: number 1 is the first of these entries.

    `text` is how it read. Not `listed`: these are the versions of one note, which they named by its number;
    `fixed`: it can be forgotten, but not corrected.
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
    """The person whom the entry `of` is about wants it to read so. It may be known where that one may."""

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
    """A person wants this to be forgotten: these notes about them, or (none) all that there is of them.

    `deletes`: then the soul is to delete its own messages in their DM from Slack.
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
    """It is forgotten: whoever wanted it is to be told.

    `deletes`: what the soul said in their DM is to be deleted from Slack next.
    """

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
    """A person wants the soul to delete from Slack what it said in their DM, up to when they confirmed it."""

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
    """The messages to be deleted, by their ts. Not `whole`: Slack did not show all that there are."""

    kind = "deletion-listed"
    stays: ClassVar[tuple[str, ...]] = ("messages",)
    messages: tuple[str, ...]
    whole: bool = True

    def line(self) -> str:
        return f"{len(self.messages)} messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionProgress(Event):
    """So many of these messages are gone from Slack, `left` are not: the last for `why` (Slack's word)."""

    kind = "deleted-some"
    stays: ClassVar[tuple[str, ...]] = ("why",)
    deleted: int
    left: int = 0
    why: str = ""

    def line(self) -> str:
        return f"{self.deleted} deleted, {self.left} left"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCompleted(Input):
    """So many messages of the soul's are gone from Slack: whoever wanted that is to be told."""

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
