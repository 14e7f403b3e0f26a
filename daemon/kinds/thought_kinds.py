"""Kinds for a turn's steps and for readings; a sub-reading is under its cell's key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Event, Seqs, StepEvent, digest
from daemon.engine.kinds import Intent
from daemon.settings.limits import TokenUsage

OUT_OF_TIME = "time"
"""Failure of a call beyond its reading's time."""


GAVE_WAY = "gave-way"
"""Failure of a call cut off in favor of a person; it is repeated."""


TOO_DEAR = "too-dear"
"""Failure of a call dearer than a whole day's budget."""


def prompt_chunk_key(thread: str, seqs: Sequence[int]) -> str:
    return f"stretch:{thread}:{digest(seqs)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptChunk(Event):
    """A chunk of a thread's prompts that calls refer to."""

    kind = "stretch"
    seqs: Seqs

    def line(self) -> str:
        return f"{len(self.seqs)} entries of a conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(StepEvent):
    """A model call with its result; `saw` is its request's hash, without limits.

    The prompt consists of `texts`, `stretches`, `seqs`, `trailing`. `beginning` starts the answer; `wording`:
    owner's texts read so far; `people`: authors it answers; `private`: earlier private sections were shown;
    `reading`: it has limits of its own; `suffix`: of section tags, or empty.
    """

    kind = "model-call"
    stays: ClassVar[tuple[str, ...]] = (
        *("name", "role", "texts", "wording", "people", "suffix", "model", "stop_reason", "failure"),
    )
    hashes: ClassVar[tuple[str, ...]] = ("saw",)
    name: str
    role: str
    saw: str
    texts: tuple[str, ...]
    stretches: Seqs = ()
    seqs: Seqs
    trailing: str
    beginning: str = ""
    wording: tuple[str, ...]
    people: tuple[str, ...]
    schema: Mapping[str, Any] | None = None
    private: bool = True
    reading: bool = False
    suffix: str = ""
    outcome: Literal["ok", "cut", "refused", "over-budget", "cancelled", "failed"]
    model: str
    text: str = ""
    stop_reason: str | None = None
    failure: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    cost: float = 0.0
    worth: float = 0.0
    first_text: float | None = None
    seconds: float = 0.0
    tries: int = 0

    @property
    def is_usable(self) -> bool:
        return self.outcome in ("ok", "cut")

    @property
    def is_beyond_budget(self) -> Literal["", "day", "never"]:
        """Budget that blocked it: the day's, or any day's."""
        if self.outcome != "over-budget":
            return ""
        if self.failure == TOO_DEAR:
            return "never"
        return "" if self.failure else "day"

    @property
    def ran_out_of_time(self) -> bool:
        return self.failure == OUT_OF_TIME

    @property
    def gave_way(self) -> bool:
        return self.failure == GAVE_WAY

    @property
    def is_too_long(self) -> bool:
        """True if refused for its size, as it will be again."""
        return self.failure == "too-long"

    def line(self) -> str:
        came: str = self.outcome
        if self.failure:
            came += f" ({self.failure})"
        return (
            f"{self.name} by {self.model}, {came}, {self.usage.prompt} + {self.usage.output} tokens,"
            f" ${self.cost:.4f}, {self.seconds:.1f} s: {self.text}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormChosen(StepEvent):
    """A change of a model's answer form to plain words."""

    kind = "form"
    stays: ClassVar[tuple[str, ...]] = ("form", "model")
    form: Literal["plain"] = "plain"
    model: str = ""

    def line(self) -> str:
        return f"{self.model}: {self.form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoodChanged(StepEvent):
    """The soul's mood in this thread from now on."""

    kind = "mood"
    mood: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNote(StepEvent):
    """A note to remember, perhaps about a person."""

    kind = "remembered"
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonModelWritten(StepEvent):
    """The soul's knowledge of a person, built on the entry `since` (0: none)."""

    kind = "person"
    stays: ClassVar[tuple[str, ...]] = ("person",)
    person: str
    name: str
    text: str
    since: int

    def line(self) -> str:
        return f"{self.name}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCleared(StepEvent):
    """A summary of a conversation up to `last`; `kept` stays visible.

    Without text, the soul cleared all but its `kept` last messages. With `seqs`, it replaces entries of a DM.
    """

    kind = "context-cleared"
    brings = True
    text: str
    last: int
    kept: int = 0
    seqs: Seqs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptShortened(StepEvent):
    """A reduction of a prompt too long for its model.

    `left_out`: positions from 0; memories above `longest` characters (0: none) lost their middle. `refused`:
    by the server.
    """

    kind = "prompt-shortened"
    model: str
    left_out: tuple[int, ...] = ()
    longest: int = 0
    refused: bool = False

    def line(self) -> str:
        said = f"for {self.model}: {len(self.left_out)} memories left out"
        if self.longest:
            said += f", none longer than {self.longest:,} characters"
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState(StepEvent):
    """A plan: until when it holds, and its steps ("open", "done" or "cancelled").

    People see the `title`, the soul keeps the `condition`.
    """

    condition: str
    steps: tuple[tuple[str, str], ...] = ()
    title: str = ""

    @property
    def heading(self) -> str:
        return self.title or self.condition

    @property
    def done_count(self) -> int:
        return sum(state == "done" for _, state in self.steps)

    @property
    def open_steps(self) -> Sequence[str]:
        return [text for text, state in self.steps if state == "open"]

    @property
    def closed_steps(self) -> Sequence[str]:
        return [text for text, state in self.steps if state != "open"]

    def line(self) -> str:
        return f"{self.done_count}/{len(self.steps)}: {self.heading}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged(PlanState):
    """A thread's plan from now on."""

    kind = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(StepEvent):
    """A message of the core about the fate of the soul's words."""

    kind = "system-message"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMessage(StepEvent):
    """A message to a run of the Implicit Semantic Machine."""

    kind = "ism"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(StepEvent):
    """The end of a run of the Implicit Semantic Machine."""

    kind = "ism-ended"
    stays: ClassVar[tuple[str, ...]] = ("reason",)
    reason: str
    loops: int
    calls: int
    log: tuple[str, ...] = ()

    def line(self) -> str:
        return f"{self.reason}, {self.loops} rounds, {self.calls} calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardIntended(PlanState):
    """A plan card about to be shown."""

    kind = "card"
    pending = True
    closed_by = frozenset({"card-shown", "card-missed", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShown(PlanState):
    """A plan card shown in Slack, as message `ts`."""

    kind = "card-shown"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "card"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFailed(StepEvent):
    """A failed card change; an earlier card stays."""

    kind = "card-missed"
    receipt_of = "card"
    why: str

    def line(self) -> str:
        return self.why


Ending = Literal[
    "answered", "iterations", "calls", "money", "time", "stuck", "stopped", "failed", "unreadable"
]
"""Reason of a reading's end: answer, a limit, circles or no code, a stop, no model, or a missing text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingBegan(StepEvent):
    """The start of a reading; the model sees only `shape` of its context.

    `depth`: 0 for the root. `short` text is read in one call, and recorded whole. `fault`: why it is
    unreadable.
    """

    kind = "reading"
    question: str
    shape: str
    depth: int = 0
    short: bool = False
    fault: str = ""

    def line(self) -> str:
        return self.question


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBegan(Intent):
    """A cell of the model about to run."""

    kind = "cell"
    closed_by = frozenset({"cell-ran", "turn-ended"})
    code: str

    def line(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRan(StepEvent):
    """The result of a cell: `text` for the model, `final` answer if given.

    `variables`: all so far, with types; gone if `lost`.
    """

    kind = "cell-ran"
    receipt_of = "cell"
    text: str
    final: str | None = None
    failed: bool = False
    lost: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingEnded(StepEvent):
    """The end of a reading; `partial`: its answer is incomplete.

    `calls` and `usd` include sub-readings. `beyond`: blocked by the budget of this "day", or any ("never").
    """

    kind = "reading-ended"
    answer: str
    reason: Ending
    partial: bool = False
    iterations: int = 0
    calls: int = 0
    usd: float = 0.0
    beyond: Literal["", "day", "never"] = ""

    def line(self) -> str:
        return f"{self.reason}, {self.iterations} rounds, {self.calls} calls, ${self.usd:.4f}: {self.answer}"


INTERRUPTED = CellRan(text="(interrupted)", failed=True, lost=True)
