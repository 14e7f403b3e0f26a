"""Kinds for the inner life.

Notes, records and settings are projections of commands and messages. HMP seed, sections 1 to 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from daemon.engine.event import Event, Input, InputRank, Seqs, StepEvent
from daemon.kinds.conversation_kinds import PersonMessage

INNER = "sess-inner"
"""Thread of the inner life, with a fixed id and no address."""


INNER_WAIT = "inner"


FAMILIES = frozenset(
    {"notes", "diary", "concepts", "links", "llm_memory", "process", "cleanup", "cycle", "message", "mesh"}
)
"""Command families whose names survive forgetting."""


ABOUT = ("id", "ids", "read", "older_than_days")


Status = Literal["pending", "in_progress", "ok", "warning", "error", "timeout", "offline", "close"]
"""Status in the process log. `close`: handled and hidden."""


Became = Literal["said", "declined", "unanswered", "refused"]
"""The outcome of something that the inner life wanted said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientMessage(PersonMessage):
    """A message where the soul only reads, known to its inner life alone; in its channel's thread, whose `ts`
    is empty.
    """

    kind = "noticed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionChanged(Event):
    """A person's emoji on the message `on`, added or removed."""

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
    """A start of the daemon with an inner life, also in DMs if `reads_dms`."""

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
    """A command of a tick, with its result: the source of notes, records and settings.

    `name`: family and verb; `text`: result for the model; `shows`: notes and records for the next tick;
    `view`: its conversation (empty: public). `stays_open`: a failure, visible until handled (in older daemons
    one tick).
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
        """Copy with ids of notes and records, so that deletions survive forgetting."""
        left = replace(self, cmd_id="", name="", args={}, description="", text="")
        if not self.ok or self.name.partition(".")[0] not in FAMILIES:
            return left
        args = {name: self.args[name] for name in ABOUT if name in self.args}
        return replace(left, name=self.name, args=args)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickLogged(StepEvent):
    """A log line of the inner life (the seed's agent_log): a tick, or an event during sleep.

    `outcome`: thought, `repeated`, `waiting`, no model, or `asleep`. `answer`: seq of the call (0: none);
    `saw`: entries shown. `reflex`: strategy after a repetition, which adds `advice` and `shows` to the next
    tick. `novelty`: 0 to 1.
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
    """A program of the owner's list to be run, with values for slots.

    A supervisor starts it while pending; the key names its folder. `seconds`: limit in older daemons.
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
class ProgramStopRequested(StepEvent):
    """A request to end this program (seq)."""

    kind = "process-stop"
    process: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded(Input):
    """The end of a program: `result` is its output, as shown."""

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

    `by`: seq of the tick; `view`: the tick's. `leave`: only with an owner's approval, asked here; `to` is
    then the target thread.
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
class UnpromptedOutcome(Event):
    """The fate of an unprompted message to `to`: sent, declined, unanswered for a day, or `refused`."""

    kind = "said-out"
    by: int
    to: str
    outcome: Became

    def line(self) -> str:
        return f"{self.outcome} (wanted by the tick {self.by})"
