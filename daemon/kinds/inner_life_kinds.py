"""Kinds of the inner life (HMP seed, sections 1 to 6).

Notes, records and settings are projected from commands and messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from daemon.engine.event import Event, Input, InputRank, Seqs, StepEvent
from daemon.kinds.conversation_kinds import PersonMessage

INNER = "sess-inner"
"""Thread id of the inner life."""

INNER_WAIT = "inner"

LONGEST_SLOT = 300
"""Most characters of the arguments of a requested call in the process log."""

FAMILIES = frozenset(
    {"notes", "diary", "concepts", "links", "llm_memory", "process", "cleanup", "cycle", "message", "mesh"}
)
"""Families of inner commands whose names stay in the journal after forgetting."""

ABOUT = ("id", "ids", "read", "older_than_days")

Status = Literal["pending", "in_progress", "ok", "warning", "error", "timeout", "offline", "close"]
"""Statuses in the process log. "close" hides a handled line."""

Became = Literal["said", "declined", "unanswered", "refused"]
"""The outcome of something that the inner life wanted said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientMessage(PersonMessage):
    """A message in a channel where the soul only reads, seen by its inner life alone."""

    kind = "noticed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionChanged(Event):
    """A person's emoji, added to the message `on` or removed."""

    kind = "reaction"
    stays: ClassVar[tuple[str, ...]] = ("user", "on", "ts")
    user: str
    name: str
    emoji: str
    on: str
    ts: str
    removed: bool = False

    def line(self) -> str:
        said = f"{self.name or self.user}: :{self.emoji}:"
        if self.removed:
            said += " taken away"
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLifeStarted(Input):
    """A start of the daemon with an inner life, which reads DMs, too, if `reads_dms`."""

    kind = "inner-began"
    rank = InputRank.RESUME
    reads_dms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TickDue(Input):
    """A due tick of the inner life, for the reason `why`."""

    kind = "tick-due"
    rank = InputRank.RESUME
    why: str
    notes: tuple[int, ...] = ()

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRan(StepEvent):
    """An inner command and its result, `text`. Notes, records and settings are projected from these entries.

    The next tick sees the notes and records in `shows`. `view` is the conversation of the tick (empty:
    public). `stays_open`: a failure, shown until it is handled.
    """

    kind = "command"
    stays: ClassVar[tuple[str, ...]] = ("view",)
    tick: int
    cmd_id: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    ok: bool = True
    text: str = ""
    shows: tuple[int, ...] = ()
    view: str = ""
    stays_open: bool = False

    def line(self) -> str:
        return f"{self.name}: {self.text}"

    def without_words(self) -> Self:
        """Return a copy without texts. Ids of notes and records stay, so that deleted ones stay deleted."""
        left = replace(self, cmd_id="", name="", args={}, description="", text="")
        if not self.ok or self.name.partition(".")[0] not in FAMILIES:
            return left
        args = {name: self.args[name] for name in ABOUT if name in self.args}
        return replace(left, name=self.name, args=args)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickLogged(StepEvent):
    """A line of the inner life's log (the seed's agent_log): a tick, or an event while it sleeps.

    `answer` is the seq of the model call (0: none); `saw` lists the entries in its prompt. A `reflex` gives
    the next tick `advice` and the entries in `shows`.
    """

    kind = "tick"
    stays: ClassVar[tuple[str, ...]] = ("view", "reflex")
    tick: int
    outcome: Literal["thought", "repeated", "waiting", "failed", "refused", "over-budget", "asleep"]
    why: str = ""
    view: str = ""
    answer: int = 0
    commands: Seqs = ()
    saw: tuple[int, ...] = ()
    reflex: str = ""
    advice: str = ""
    shows: tuple[int, ...] = ()
    novelty: float = 1.0

    def line(self) -> str:
        said = f"{self.outcome} ({self.why}), {len(self.commands)} commands"
        if self.reflex:
            said += f", reflex {self.reflex}"
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStarted(StepEvent):
    """A program of the owner's list that is to be run, with values for its slots.

    A supervisor runs it while this entry is pending, in a folder named by the entry's key.
    """

    kind = "process-started"
    stays: ClassVar[tuple[str, ...]] = ("name", "view")
    pending = True
    closed_by = frozenset({"process-ended"})
    state = "running"
    name: str
    slots: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 600.0
    view: str = ""

    def line(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested(StepEvent):
    """A tool call that a tick wants, and that people have to approve first. `by` is the seq of the tick."""

    kind = "tool-wanted"
    stays: ClassVar[tuple[str, ...]] = ("tool", "digest", "view")
    pending = True
    closed_by = frozenset({"process-ended"})
    state = "running"
    tool: str
    digest: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    by: int
    view: str = ""

    @property
    def slots(self) -> Mapping[str, str]:
        """The beginning of the arguments, as a program's slots are shown."""
        if not self.arguments:
            return {}
        return {"arguments": json.dumps(self.arguments, ensure_ascii=False)[:LONGEST_SLOT]}

    def line(self) -> str:
        return self.tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStopRequested(StepEvent):
    """A request to stop the program that the entry `process` started."""

    kind = "process-stop"
    process: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPlaced(StepEvent):
    """The machine that runs the program of the entry `process`, and the worker id of its daemon."""

    kind = "process-placed"
    process: int
    machine: str
    daemon: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded(Input):
    """The end of a program, or of a tool call of the inner life, with its output as `result`."""

    kind = "process-ended"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    rank = InputRank.RESUME
    process: int
    name: str
    status: Status
    result: str

    def line(self) -> str:
        return f"{self.name}: {self.status}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpromptedMessage(Input):
    """A message that the inner life wants to send in this conversation.

    `by` is the seq of the tick. `leave`: an owner is asked here first, and the message is for the thread
    `to`.
    """

    kind = "to-say"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    rank = InputRank.MESSAGE
    text: str
    by: int
    to: str = ""
    place: str = ""
    leave: bool = False
    view: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolErrand(UnpromptedMessage):
    """A tool call of the inner life that is to be approved and made in this conversation; `call` is its
    request.
    """

    kind = "tool-errand"
    call: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpromptedOutcome(Event):
    """The outcome of an unprompted message to the thread `to`. "unanswered": no owner
    decided within a day.
    """

    kind = "said-out"
    by: int
    to: str
    outcome: Became

    def line(self) -> str:
        return f"{self.outcome} (wanted by the tick {self.by})"
