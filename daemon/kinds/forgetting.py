"""What a person was told that is noted about them, what they corrected of it, and what is to be forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from daemon.engine.event import Event, Input, InputRank, StepEvent


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
