"""Kinds that the engine writes. Programs may derive their own from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Date, Entry, Event, EventCodec, Input, InputRank, Seqs, StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStarted(Event):
    """A worker started. `after` says if the previous one was stopped or killed; `standings` has crash records
    by turn.
    """

    kind = "life-began"
    after: Literal["", "stop", "kill"]
    standings: Mapping[str, tuple[int, int, float]] = field(default_factory=dict)

    def line(self) -> str:
        return f"after a {self.after}" if self.after else "for the first time"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStopped(Event):
    """A worker was told to stop."""

    kind = "life-ended"
    life: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDied(Event):
    """A worker beside others was counted as dead. `standings` has the crash records that changed by it."""

    kind = "life-lost"
    life: int
    standings: Mapping[str, tuple[int, int, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHeartbeat(Event):
    """A worker has run for `seconds` with this crash suspect, a turn."""

    kind = "lived"
    life: int
    turn: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashControlPassed(Event):
    """A worker has run without this crash suspect long enough that the last kill counts against it."""

    kind = "controlled"
    life: int
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCorrected(Event):
    """A wait began when the clock was ahead: the time `ahead` counts as `right`."""

    kind = "clock"
    ahead: float
    right: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesForgotten(Event):
    """Entries were forgotten: their bodies are blank. This entry is pending until their words are erased from
    the files.
    """

    kind = "forgotten"
    pending = True
    closed_by = frozenset({"erased"})
    state = "being erased"
    stays: ClassVar[tuple[str, ...]] = ("why",)
    seqs: tuple[int, ...]
    why: str

    def line(self) -> str:
        return f"{len(self.seqs)} entries: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesErased(Event):
    """The forgotten words are erased from the files."""

    kind = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadOpened(Event):
    """A thread was opened."""

    kind = "thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan(Event):
    """A turn began: an execution begins with these inputs, or is resumed by them.

    `answers` is the key of the answered question. `unfit`: the turn will be given up, its inputs unread.
    `life` is the seq of the worker's start.
    """

    kind = "turn-began"
    stays: ClassVar[tuple[str, ...]] = ("execution", "answers")
    pending = True
    closed_by = frozenset({"turn-ended"})
    state = "half"
    execution: str
    inputs: Seqs
    answers: str = ""
    unfit: bool = False
    life: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResumed(Event):
    """A new attempt at an unfinished turn began."""

    kind = "turn-resumed"
    attempt: int
    life: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """A turn ended. A suspended execution is resumed by a later turn.

    People were told of a "failed" turn, but not of an "abandoned" one.
    """

    kind = "turn-ended"
    stays: ClassVar[tuple[str, ...]] = ("outcome",)
    outcome: str

    def line(self) -> str:
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(Event):
    """An attempt at a turn failed in the step with the key `at`.

    `fault`: the turn itself is to blame; `final`: a retry would fail, too.
    """

    kind = "attempt-failed"
    within_turn = True
    at: str
    error: str
    fault: bool = True
    final: bool = False
    why: str = ""

    def line(self) -> str:
        return f"{self.error} at {self.at}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNotBegun(Event):
    """A turn could not be begun or resumed."""

    kind = "unbegun"
    error: str

    def line(self) -> str:
        return self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGivenUp(Event):
    """A turn was given up or stopped. Only the report of its end still runs."""

    kind = "last-words"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRestarted(Event):
    """An execution began again, since the code does not fit its recorded steps."""

    kind = "restarted"
    within_turn = True
    why: str

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsReceived(StepEvent):
    """An execution received new inputs."""

    kind = "received"
    inputs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(StepEvent):
    """A step returned this JSON value."""

    kind = "result"
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageBegan(StepEvent):
    """A service cannot be reached, and the execution waits within its turn.

    Each failed retry closes the last entry and adds one: `tries` counts the retries, `due` is the time of the
    next, and `since` is the seq of the first entry (0: this one).
    """

    kind = "outage"
    stays: ClassVar[tuple[str, ...]] = ("reason", "subject")
    pending = True
    closed_by = frozenset({"outage", "outage-ended", "restarted", "turn-ended"})
    reason: str
    subject: str = ""
    since: int = 0
    tries: int = 0
    due: Date = 0.0

    def line(self) -> str:
        return f"{self.reason} {self.subject}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageEnded(StepEvent):
    """An outage ended. `gave_up`: the service is still not reached."""

    kind = "outage-ended"
    gave_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGivenUp(StepEvent):
    """A step was given up, since its service was not reached for too long."""

    kind = "given-up"
    reason: str
    subject: str = ""

    def line(self) -> str:
        return f"{self.reason} {self.subject}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(StepEvent):
    """An effect is about to be tried."""

    kind = "intent"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    pending = True
    closed_by = frozenset({"outcome", "turn-ended"})
    name: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(StepEvent):
    """The outcome of an effect. `unknown`: nobody knows if it happened."""

    kind = "outcome"
    receipt_of = "intent"
    result: Any = None
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAwaited(StepEvent):
    """A question waits for an input that answers it."""

    kind = "asked"
    stays: ClassVar[tuple[str, ...]] = ("execution",)
    pending = True
    closed_by = frozenset({"answered", "withdrawn", "restarted", "turn-ended", "thread-ended", "forgotten"})
    state = "waiting for an answer"
    execution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """Condition on entries after the seq `after` (None: after the inputs received).

    An empty `thread` is the waiting one. `tree` adds descendants, `anywhere` all threads. The program judges
    `about`.
    """

    kinds: tuple[str, ...]
    thread: str = ""
    tree: bool = False
    anywhere: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    about: Any = None
    after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitBegan(StepEvent):
    """A wait began: for entries to be closed, a matching entry, or a time.

    It ends in one input, which has its `note`. `resumes`: an execution is suspended on it.
    """

    kind = "waiting"
    stays: ClassVar[tuple[str, ...]] = ("matching", "execution")
    pending = True
    closed_by = frozenset(
        {"reminder", "answered", "withdrawn", "restarted", "turn-ended", "thread-ended", "forgotten"}
    )
    state = "for its end"
    closed: Seqs = ()
    want: Literal["any", "all"] = "all"
    matching: EntryMatch | None = None
    due: Date | None = None
    note: Any = None
    resumes: bool = True
    execution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEnded(Input):
    """A wait ended.

    `missing` are entries that were not closed; `matched` are matching ones up to the seq `upto`.
    """

    kind = "woke"
    stays: ClassVar[tuple[str, ...]] = ("answers",)
    rank = InputRank.RESUME
    answers: str
    missing: Seqs = ()
    matched: tuple[int, ...] = ()
    upto: int = 0
    note: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitReminder(WaitEnded):
    """A watch ended: a wait that suspended no execution."""

    kind = "reminder"
    rank = InputRank.MESSAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceived(StepEvent):
    """An input answered a question or ended a wait."""

    kind = "answered"
    input: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWithdrawn(StepEvent):
    """A question or wait was withdrawn."""

    kind = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest(Input):
    """The parent thread or the program asks this thread to stop."""

    kind = "cancel"
    rank = InputRank.STOP
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSent(StepEvent):
    """An input was sent to a thread; `delivered` is false if the thread had ended."""

    kind = "sent"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    delivered: bool = True

    def line(self) -> str:
        return self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSpawned(StepEvent):
    """A child thread began."""

    kind = "thread-spawned"
    stays: ClassVar[tuple[str, ...]] = ("thread",)
    pending = True
    closed_by = frozenset({"thread-ended", "forgotten"})
    state = "not ended"
    thread: str

    def line(self) -> str:
        return self.thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEnded(StepEvent):
    """A thread ended, with a result for its parent."""

    kind = "thread-ended"
    stays: ClassVar[tuple[str, ...]] = ("status",)
    status: str = "completed"
    result: Any = None

    def line(self) -> str:
        return self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class InputUndeliverable(Event):
    """An input came too late for its thread or wait."""

    kind = "undeliverable"


ENGINE_KINDS: tuple[type[Event], ...] = (
    ThreadOpened,
    TurnBegan,
    TurnResumed,
    TurnEnded,
    AttemptFailed,
    TurnNotBegun,
    TurnGivenUp,
    ExecutionRestarted,
    InputsReceived,
    StepResult,
    OutageBegan,
    OutageEnded,
    StepGivenUp,
    Intent,
    Outcome,
    AnswerAwaited,
    WaitBegan,
    WaitEnded,
    WaitReminder,
    AnswerReceived,
    QuestionWithdrawn,
    CancelRequest,
    InputSent,
    ThreadSpawned,
    ThreadEnded,
    InputUndeliverable,
    EntriesForgotten,
    EntriesErased,
    WorkerStarted,
    WorkerStopped,
    WorkerDied,
    WorkerHeartbeat,
    CrashControlPassed,
    ClockCorrected,
)

LEASES = (TurnBegan, TurnResumed)
"""Kinds of entries that take a thread's lease."""


def with_engine_kinds(kinds: Iterable[type[Event]]) -> EventCodec:
    """Return a codec for the program's kinds and those of the engine that it does not replace."""
    own = list(kinds)
    taken = {getattr(each, "kind", "") for each in own}
    return EventCodec([*own, *(each for each in ENGINE_KINDS if each.kind not in taken)])


def turn_id(began: Entry[TurnBegan]) -> str:
    return began.key.removesuffix("/began")
