"""The kinds of entries that the engine itself writes. A program derives its own from some of them.

Four stories are told with them: a turn (began, resumed, ended), a step that waits (asked or waiting, then
answered), something that cannot be reached (outage, then ended), and a thread under a thread (spawned, then
ended). The lives of the worker stand in `lives.py`, what is forgotten in `erasing.py`.

What a worker notes of itself: when it began and ended, and how long it lived with whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Date, Entry, Event, EventCodec, Input, InputRank, Seqs, StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStarted(Event):
    """A worker was started, `after` a stop or a kill; `standings`: half turns it may have died of."""

    kind = "life-began"
    after: Literal["", "stop", "kill"]
    standings: Mapping[str, tuple[int, int, float]] = field(default_factory=dict)

    def line(self) -> str:
        return f"after a {self.after}" if self.after else "for the first time"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStopped(Event):
    """The worker was told to stop."""

    kind = "life-ended"
    life: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHeartbeat(Event):
    """The worker has lived so many seconds with a half turn that it may die of."""

    kind = "lived"
    life: int
    turn: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashControlPassed(Event):
    """The worker has lived without that half turn for so long that the last death counts against it."""

    kind = "controlled"
    life: int
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCorrected(Event):
    """This machine's clock was ahead: what it called `ahead` counts as `right`."""

    kind = "clock"
    ahead: float
    right: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesForgotten(Event):
    """The words of these entries are forgotten: their bodies are blanked, all else of them stays.

    It is pending until nothing of them is left in the file. It closes what of them still waited: nobody goes
    on with that. `why` says so without their words.
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
    """Of what was forgotten nothing is left in the file, nor beside it."""

    kind = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadOpened(Event):
    """A thread with an id of its own: its first entry. A program derives its own from it."""

    kind = "thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan(Event):
    """A thread takes a turn: an execution begins over these inputs, or goes on with them.

    `execution` is its id; where it goes on, that of an earlier turn, and `answers` is the key of the question
    that its inputs answer, where they don't say so themselves. `unfit`: nobody can tell what is to be
    done with what it took up. `life` is the seq of the life of the worker that began it.
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
    """Another attempt at a turn that a crash or a failure left half."""

    kind = "turn-resumed"
    attempt: int
    life: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """A turn is over. Where it is suspended, its execution goes on in a later one.

    `failed`: given up, and whoever waits was told; `abandoned`: not even that could be done; `stopped`: it
    had failed before, and somebody stopped it.
    """

    kind = "turn-ended"
    stays: ClassVar[tuple[str, ...]] = ("outcome",)
    outcome: str

    def line(self) -> str:
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(Event):
    """An attempt at a turn raised an error, while it was at this key.

    `fault`: is it the turn's own; `final`: would every further attempt come to the same? `why`: what
    the error says, where no traceback says it better.
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
    """A turn could not even be begun, or taken up again."""

    kind = "unbegun"
    error: str

    def line(self) -> str:
        return self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGivenUp(Event):
    """A turn is given up, or stopped after it had failed: nothing of it runs again, only its end is told."""

    kind = "last-words"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRestarted(Event):
    """The code no longer fits what is recorded: the execution begins again, with its log."""

    kind = "restarted"
    within_turn = True
    why: str

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsReceived(StepEvent):
    """What an execution saw when it looked what came meanwhile."""

    kind = "received"
    inputs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(StepEvent):
    """What a step came to, where it needs no kind of its own: any JSON."""

    kind = "result"
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageBegan(StepEvent):
    """An execution waits, in the middle of its turn, for something that cannot be reached.

    It was tried `tries` times, and is tried again at `due` at the latest. Each try that its time has come for
    is an entry of its own, which closes the one before; `since` is the first of them (0: this one).
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
    """It can be reached again; or, `gave_up`, nobody waits for it any more."""

    kind = "outage-ended"
    gave_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGivenUp(StepEvent):
    """A step was not done: what it needs could not be reached for too long, and Unavailable was raised."""

    kind = "given-up"
    reason: str
    subject: str = ""

    def line(self) -> str:
        return f"{self.reason} {self.subject}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(StepEvent):
    """Something is about to be done in the world. What became of it is an Outcome."""

    kind = "intent"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    pending = True
    closed_by = frozenset({"outcome", "turn-ended"})
    name: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(StepEvent):
    """What became of an intent. `unknown`: nobody can tell whether it was done."""

    kind = "outcome"
    receipt_of = "intent"
    result: Any = None
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAwaited(StepEvent):
    """A question whose answer is an input to come. A program derives its own questions from it."""

    kind = "asked"
    stays: ClassVar[tuple[str, ...]] = ("execution",)
    pending = True
    closed_by = frozenset({"answered", "withdrawn", "restarted", "turn-ended", "thread-ended", "forgotten"})
    state = "waiting for an answer"
    execution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """Entries to come: of one of these kinds, in this thread (with `tree`, also in those under it; empty: the
    waiting one; `anywhere`: in whatever thread), whose fields equal these, and which fit `about` as the
    program sees it (Program.fits). Those after the seq `after` count; None: after what the execution that
    waits had received.
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
    """The one way to wait: until entries are closed, some or all; until one that matches comes; until a time.

    It becomes exactly one input. `note` is handed on to it; `resumes`: an execution is suspended on it.
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
    """A wait is over. `missing` are the entries that it waited for and that are still pending.

    `matched` are the entries that it was to match, up to the seq `upto`, which is what was looked through.
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
    """A wait is over that no execution is suspended on: a turn of its own begins with it."""

    kind = "reminder"
    rank = InputRank.MESSAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReceived(StepEvent):
    """The input that a question or a wait was answered by."""

    kind = "answered"
    input: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWithdrawn(StepEvent):
    """Nobody needs to answer any more what it closes."""

    kind = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest(Input):
    """The thread above, or the program, wants what this thread does to end."""

    kind = "cancel"
    rank = InputRank.STOP
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSent(StepEvent):
    """An input was sent to a thread; `delivered` is false where that thread had ended."""

    kind = "sent"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    delivered: bool = True

    def line(self) -> str:
        return self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSpawned(StepEvent):
    """A thread under this one was begun."""

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
    """The last word of a thread to the one that spawned it."""

    kind = "thread-ended"
    stays: ClassVar[tuple[str, ...]] = ("status",)
    status: str = "completed"
    result: Any = None

    def line(self) -> str:
        return self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class InputUndeliverable(Event):
    """What came for a thread that had ended, or of a wait that nobody is suspended on any more."""

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
    WorkerHeartbeat,
    CrashControlPassed,
    ClockCorrected,
)
"""Where a program derives its own class of one of these kinds, that class stands in its place."""


LEASES = (TurnBegan, TurnResumed)
"""Who writes one of these holds the thread from then on."""


def with_engine_kinds(kinds: Iterable[type[Event]]) -> EventCodec:
    """The program's kinds, and those of the engine that it has no class of its own for."""
    own = list(kinds)
    taken = {getattr(each, "kind", "") for each in own}
    return EventCodec([*own, *(each for each in ENGINE_KINDS if each.kind not in taken)])


def turn_id(began: Entry[TurnBegan]) -> str:
    """The id of the turn that began with this entry."""
    return began.key.removesuffix("/began")
