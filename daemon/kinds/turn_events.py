"""What becomes of a turn: how it begins and ends, what it waits for, and what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from daemon.engine import kinds as engine
from daemon.engine.blanking import without_words
from daemon.engine.event import UNASKED, Event, Seqs, StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnBegan(engine.TurnBegan):
    """A thread takes a turn, in this process; `texts` is the set of the owner's files as they are now, a
    digest.

    `apart` are the parameters of a process beside what the thread is about: it leaves the thread's process
    as it is.
    """

    stays: ClassVar[tuple[str, ...]] = ("process", "texts")
    process: str = ""
    texts: str = ""
    apart: Mapping[str, Any] | None = None

    def line(self) -> str:
        return f"{self.process}, over {', '.join(map(str, self.inputs))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnEnded(engine.TurnEnded):
    """A turn is over. `keep` are the entries that the thread remembers of it, in order.

    `process` and `params` say where the thread is now; None where this turn does not say.
    """

    stays: ClassVar[tuple[str, ...]] = ("process",)
    keep: Seqs = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def without_words(self) -> Self:
        """A process whose parameters are forgotten cannot be gone on with."""
        if self.params:
            return without_words(replace(self, process=""))
        return without_words(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessChanged(StepEvent):
    """The thread goes over into another process; `now`: within this turn."""

    kind = "transition"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    params: Mapping[str, Any] = field(default_factory=dict)
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMade(Event):
    """What may happen once across threads, and the execution that got it; its key says what."""

    kind = "claim"
    stays: ClassVar[tuple[str, ...]] = ("by",)
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(StepEvent):
    """What an execution had done that could not go on, for the one that begins afresh."""

    kind = "log"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessagesFetched(StepEvent):
    """What was fetched of what was said before the soul was called in; `whole`: was that all of it?"""

    kind = "overheard"
    brings = True
    seqs: Seqs
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DmContextImported(StepEvent):
    """What was said in other conversations of a DM, and this one knows from here on: all before `before`.

    In order: what it begins with, or what the others kept since; then what waited there for an answer.
    """

    kind = "carried-over"
    brings = True
    seqs: Seqs
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DmSummaryPlanned(StepEvent):
    """What is to be summed up of a DM, in whichever of its conversations it was said."""

    kind = "gathered"
    brings = True
    seqs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(engine.AnswerAwaited):
    """A question. `to` may answer; those in `owners` only as long as they own the soul.

    It is answered by a press of one of `choices`; with `words` by any message of theirs; with `resumes` by
    one that says no more than "go on". `said` are the receipts of its messages, `about` what it is for, and
    `labels` what the buttons of the choices read.
    """

    stays: ClassVar[tuple[str, ...]] = ("to", "owners")
    text: str = ""
    to: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    words: bool = False
    resumes: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    said: Seqs = ()
    labels: tuple[str, ...] = field(default=(), metadata=UNASKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(engine.AnswerReceived):
    """A question was answered by this person (empty: by nobody), with this choice or these words.

    `text` is how a choice is remembered, `meanwhile` what the thread kept since the question, `seqs` are the
    messages that were the answer, and `about` is what it was asked for.
    """

    stays: ClassVar[tuple[str, ...]] = ("by",)
    asked: int = 0
    value: str = ""
    by: str = ""
    text: str = ""
    meanwhile: Seqs = ()
    seqs: Seqs = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.text or self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(StepEvent):
    """Which bound stands in the way of another call; `resets` is what a consent begins anew.

    `final`: no consent would make room for the call.
    """

    kind = "limit"
    stays: ClassVar[tuple[str, ...]] = ("bound", "resets", "person", "consents")
    bound: str
    resets: str
    person: str = ""
    consents: str = ""
    final: bool = False

    def line(self) -> str:
        return f"{self.bound} of the {self.resets}"
