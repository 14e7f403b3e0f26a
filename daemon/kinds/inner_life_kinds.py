"""What the inner life writes down: when it is due, what it did in a tick, and the programs that it started.

Its notes, records and settings have no entries of their own: they are folds over the commands of its ticks,
and over what was said in other threads. HMP seed, sections 1 to 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from daemon.engine.event import Event, Input, InputRank, Seqs, StepEvent
from daemon.kinds.conversation_kinds import PersonMessage

INNER = "sess-inner"
"""The thread of the inner life: the one id that is not derived, and a thread without an address."""


INNER_WAIT = "inner"
"""What the note of a wait says why the inner life is to think again."""


FAMILIES = frozenset(
    {"notes", "diary", "concepts", "links", "llm_memory", "process", "cleanup", "cycle", "message", "mesh"}
)
"""The families of commands whose names are told, and counted, also when their words are forgotten."""


ABOUT = ("id", "ids", "read", "older_than_days")
"""The arguments of commands that tell which notes and records they were about."""


Status = Literal["pending", "in_progress", "ok", "warning", "error", "timeout", "offline", "close"]
"""Of a process in the process log. `close`: it was dealt with, and is out of sight."""


Became = Literal["said", "declined", "unanswered", "refused"]
"""The outcome of something that the inner life wanted said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbientMessage(PersonMessage):
    """Something said where the soul reads and takes no part: only its inner life knows of it.

    It stands in the thread of its channel, whose `ts` is empty.
    """

    kind = "noticed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionChanged(Event):
    """Somebody put an emoji on the message `on`, or took it away. `ts` is when, as Slack dates it."""

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
    """The daemon was started with an inner life. `reads_dms`: it may read along in DMs from now on."""

    kind = "inner-began"
    rank = InputRank.RESUME
    reads_dms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TickDue(Input):
    """The inner life is to think again: what it waited for has come.

    `why` is a sentence for it ("the pause is over"), `notes` are the notes that woke it.
    """

    kind = "tick-due"
    rank = InputRank.RESUME
    why: str
    notes: tuple[int, ...] = ()

    def line(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRan(StepEvent):
    """One command of a tick, and what came of it: notes, records and settings are folds over these.

    `tick` is the seq that its tick is known by, `name` the family and verb, `args` those that it was carried
    out with. `ok`: was it carried out? `text` is what the model is told of it, `shows` are the notes and
    records that the next tick is to see, and `view` is the conversation in whose sight it was written
    (empty: in sight of public things only). `stays_open`: it failed, and is in sight until it is marked as
    dealt with; those of older daemons were in sight for one tick.
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
        """What is left of it when it is forgotten: which notes and records it was about, lest one that was
        deleted or hidden comes back, or others go."""
        left = replace(self, cmd_id="", name="", args={}, description="", text="")
        if not self.ok or self.name.partition(".")[0] not in FAMILIES:
            return left
        args = {name: self.args[name] for name in ABOUT if name in self.args}
        return replace(left, name=self.name, args=args)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickLogged(StepEvent):
    """One line of the log of the inner life (the seed's agent_log): a tick, or what happened asleep.

    `outcome`: it thought; it said nothing new (`repeated`); it only waits on (`waiting`); no model answered,
    or none may be asked; or nothing was asked at all (`asleep`). `answer` is the seq of the model call (0:
    none), `commands` are those that it carried out or refused, `saw` the entries whose words it was shown.
    `reflex` names the strategy that a repeat led to, which has the next tick see `advice` and `shows`.
    `novelty` says how new the answer was, from 0 to 1.
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
    """A program of the owner's list is to run, with these values in its slots.

    A supervisor starts it because this is pending; its key names the folder that it runs in. How long it may
    run is the owner's setting (PROCESS_TIMEOUT); `seconds` is what an older daemon allowed.
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
    """The inner life wants this process to end (its seq)."""

    kind = "process-stop"
    process: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnded(Input):
    """A process has ended: `result` is all of its output that anybody is shown."""

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
    """The inner life wants this said in this conversation. `by` is the seq of its tick, `view` what that saw.

    With `leave` it is said only if an owner agrees, who is asked in the conversation that this stands in;
    `to` is then the thread in which it would be said.
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
    """What became of something that the inner life wanted said in the conversation `to` (ToSay).

    It was said; an owner declined it; no owner answered within a day; or `refused`: Slack does not take it
    there, nothing of it was fit to be said, or nobody may agree to it any more.
    """

    kind = "said-out"
    by: int
    to: str
    outcome: Became

    def line(self) -> str:
        return f"{self.outcome} (wanted by the tick {self.by})"
