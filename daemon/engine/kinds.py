"""The kinds of entries that the engine itself writes. A program derives its own from some of them.

Three stories are told with them: a turn (began, resumed, ended), a step that waits (asked or waiting, then
answered), and a thread under a thread (spawned, then ended).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from daemon.engine.event import Event, Input, Rank, StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan(Event):
    """A thread takes a turn: an execution begins over these inputs, or goes on with them.

    `execution` is its id; where it goes on, that of an earlier turn.
    """

    kind: ClassVar[str] = "turn-began"
    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset({"turn-ended"})
    execution: str
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResumed(Event):
    """Another attempt at a turn that a crash or a failure left half."""

    kind: ClassVar[str] = "turn-resumed"
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """A turn is over. Where it is suspended, its execution goes on in a later one."""

    kind: ClassVar[str] = "turn-ended"
    outcome: Literal["completed", "suspended", "failed"]

    def line(self) -> str:
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed(Event):
    """An attempt at a turn raised an error, while it was at this key."""

    kind: ClassVar[str] = "attempt-failed"
    at: str
    error: str

    def line(self) -> str:
        return f"{self.error} at {self.at}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted(Event):
    """The code no longer fits what is recorded: the execution begins again, with its log."""

    kind: ClassVar[str] = "restarted"
    why: str

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Received(StepEvent):
    """What an execution saw when it looked what came meanwhile."""

    kind: ClassVar[str] = "received"
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(StepEvent):
    """What a step came to, where it needs no kind of its own: any JSON."""

    kind: ClassVar[str] = "result"
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(StepEvent):
    """Something is about to be done in the world. What became of it is an Outcome."""

    kind: ClassVar[str] = "intent"
    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset({"outcome", "turn-ended"})
    name: str

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(StepEvent):
    """What became of an intent. `unknown`: nobody can tell whether it was done."""

    kind: ClassVar[str] = "outcome"
    result: Any = None
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(StepEvent):
    """A question whose answer is an input to come. A program derives its own questions from it."""

    kind: ClassVar[str] = "asked"
    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset({"answered", "withdrawn", "restarted", "turn-ended"})
    execution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(StepEvent):
    """The one way to wait: until some or all of these entries are closed, or until a time.

    It becomes exactly one input, Woke. `note` is handed on to it; `resumes`: an execution is suspended on it.
    """

    kind: ClassVar[str] = "waiting"
    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset(
        {"reminder", "answered", "withdrawn", "restarted", "turn-ended"}
    )
    closed: tuple[int, ...] = ()
    want: Literal["any", "all"] = "all"
    due: float | None = None
    note: Any = None
    resumes: bool = True
    execution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Woke(Input):
    """A wait is over. `missing` are the entries that it waited for and that are still pending."""

    kind: ClassVar[str] = "woke"
    rank: ClassVar[Rank] = Rank.RESUME
    missing: tuple[int, ...] = ()
    note: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(Woke):
    """A wait is over that no execution is suspended on: a turn of its own begins with it."""

    kind: ClassVar[str] = "reminder"
    rank: ClassVar[Rank] = Rank.MESSAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(StepEvent):
    """The input that a question or a wait was answered by."""

    kind: ClassVar[str] = "answered"
    input: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn(StepEvent):
    """Nobody needs to answer any more what it closes."""

    kind: ClassVar[str] = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Input):
    """Somebody wants what this thread does to end."""

    kind: ClassVar[str] = "stop"
    rank: ClassVar[Rank] = Rank.STOP
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(StepEvent):
    """An input was sent to a thread; `delivered` is false where that thread had ended."""

    kind: ClassVar[str] = "sent"
    to: str
    delivered: bool = True

    def line(self) -> str:
        return self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned(StepEvent):
    """A thread under this one was begun."""

    kind: ClassVar[str] = "thread-spawned"
    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset({"thread-ended"})
    thread: str

    def line(self) -> str:
        return self.thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEnded(StepEvent):
    """The last word of a thread to the one that spawned it."""

    kind: ClassVar[str] = "thread-ended"
    status: str = "completed"
    result: Any = None

    def line(self) -> str:
        return self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeliverable(Event):
    """What was sent to a thread that had ended."""

    kind: ClassVar[str] = "undeliverable"


ENGINE_KINDS: tuple[type[Event], ...] = (
    TurnBegan,
    TurnResumed,
    TurnEnded,
    AttemptFailed,
    Restarted,
    Received,
    Result,
    Intent,
    Outcome,
    Asked,
    Waiting,
    Woke,
    Reminder,
    Answered,
    Withdrawn,
    Stop,
    Sent,
    Spawned,
    ThreadEnded,
    Undeliverable,
)
"""Where a program derives its own class of one of these kinds, that class stands in its place."""
