"""Kinds of a turn's steps and of readings. The keys of a sub-reading begin with the key of its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Event, Seqs, StepEvent, digest
from daemon.engine.kinds import Intent
from daemon.settings.limits import TokenUsage

OUT_OF_TIME = "time"
"""Failure of a model call: the time of its reading is over."""

GAVE_WAY = "gave-way"
"""Failure of a model call: it made room for a person and will be repeated."""

TOO_DEAR = "too-dear"
"""Failure of a model call: it would cost more than a whole day's budget."""


def prompt_chunk_key(thread: str, seqs: Sequence[int]) -> str:
    return f"stretch:{thread}:{digest(seqs)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptChunk(Event):
    """A list of entries that several prompts of a thread share."""

    kind = "stretch"
    seqs: Seqs

    def line(self) -> str:
        return f"{len(self.seqs)} entries of a conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(StepEvent):
    """A model call with its result.

    The prompt consists of `texts`, `stretches` (PromptChunks), `seqs` and `trailing`; the model continues
    `beginning`. `saw` is the request's hash. `wording` names the owner's texts used so far; `people` are the
    authors whom the call answers.
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
    def exceeded_budget(self) -> Literal["", "day", "never"]:
        """Budget that the call exceeds: "day" (what is left today), "never" (that of any day), or empty."""
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
    """A model's change to answers in plain words."""

    kind = "form"
    stays: ClassVar[tuple[str, ...]] = ("form", "model")
    form: Literal["plain"] = "plain"
    model: str = ""

    def line(self) -> str:
        return f"{self.model}: {self.form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoodChanged(StepEvent):
    """A change of the soul's mood in this thread."""

    kind = "mood"
    mood: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNote(StepEvent):
    """A note of the soul, perhaps about a person."""

    kind = "remembered"
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonModelWritten(StepEvent):
    """The soul's notes about a person; they continue the entry `since` (0: none)."""

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
    """A summary that replaces a conversation up to the entry `last`.

    An empty `text` clears all but the last `kept` messages. In a DM, `seqs` are the summarized entries.
    """

    kind = "context-cleared"
    brings = True
    text: str
    last: int
    kept: int = 0
    seqs: Seqs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptShortened(StepEvent):
    """A prompt that was too long for its model, and was shortened.

    Memories at the positions `left_out` were omitted; those above `longest` characters (0: none) lost their
    middle.
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
    """A plan with its steps, which are "open", "done" or "cancelled". It is in force until the `condition` is
    true.
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
    """A change of a thread's plan."""

    kind = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(StepEvent):
    """A message from the daemon about what became of the soul's words."""

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
    """A plan card that is about to be shown in Slack."""

    kind = "card"
    pending = True
    closed_by = frozenset({"card-shown", "card-missed", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShown(PlanState):
    """A plan card in Slack, in the message `ts`."""

    kind = "card-shown"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "card"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFailed(StepEvent):
    """A failure to show or change a plan card; the previous card stays."""

    kind = "card-missed"
    receipt_of = "card"
    why: str

    def line(self) -> str:
        return self.why


Ending = Literal[
    "answered", "iterations", "calls", "money", "time", "stuck", "stopped", "failed", "unreadable"
]
"""Reasons for the end of a reading. "stuck": it repeated itself or wrote no code;
"failed": no model replied.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingBegan(StepEvent):
    """The start of a reading. The model sees only `shape`, a description of the text. `depth` is 0 for a root
    reading.
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
    """A cell of a reading that is about to run."""

    kind = "cell"
    closed_by = frozenset({"cell-ran", "turn-ended"})
    code: str

    def line(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRan(StepEvent):
    """The result of a cell: `text` for the model, and the `final` answer if the cell gave one. `lost`: its
    variables are gone.
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
    """The end of a reading. `partial`: the answer is incomplete. `calls` and `usd` include sub-readings."""

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
