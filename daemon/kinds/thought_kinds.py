"""What a turn thinks, says and does, step by step.

What a reading writes down: that it began, the cells that it runs, and how it ended.

Its model calls are `model-call` entries beside them, and what a reading reads by calling itself stands within
the cell that called: under the cell's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from daemon.engine.event import Event, Seqs, StepEvent, digest
from daemon.engine.kinds import Intent
from daemon.settings.limits import TokenUsage

OUT_OF_TIME = "time"
"""The failure of a call that was broken off because the time of its reading was over."""


GAVE_WAY = "gave-way"
"""The failure of a call that was broken off so that a person need not wait; it is made again."""


TOO_DEAR = "too-dear"
"""Why a call was never sent that may cost more than a whole day may."""


def prompt_chunk_key(thread: str, seqs: Sequence[int]) -> str:
    """The natural key of a stretch of a thread's conversation."""
    return f"stretch:{thread}:{digest(seqs)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptChunk(Event):
    """A stretch of what a thread's prompts are made of, which calls name as one; under its `stretch_key`."""

    kind = "stretch"
    seqs: Seqs

    def line(self) -> str:
        return f"{len(self.seqs)} entries of a conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(StepEvent):
    """One call of a model, whatever came of it: see Reply. `saw` is a hash of its request without bounds.

    `texts`, `stretches`, `seqs` and `trailing` are what its prompt is made of, in this order, and `beginning`
    the words with which the answer was to begin; `wording` the names of the owner's texts that this execution
    has read, `people` those whose messages it answers, `schema` what the answer was held to. Without
    `private`, it did not see the private sections of earlier answers.
    `reading`: it is part of one, whose calls and time have bounds of their own. `suffix` is what the tags of
    its sections end with; empty where they are bare.
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
        """Did the model answer at all?"""
        return self.outcome in ("ok", "cut")

    @property
    def is_beyond_budget(self) -> Literal["", "day", "never"]:
        """Whether the day's budget did not let it through, or would not let it through on any day."""
        if self.outcome != "over-budget":
            return ""
        if self.failure == TOO_DEAR:
            return "never"
        return "" if self.failure else "day"

    @property
    def ran_out_of_time(self) -> bool:
        """True if it was broken off because the time of its reading was over."""
        return self.failure == OUT_OF_TIME

    @property
    def gave_way(self) -> bool:
        """True if it was broken off so that a person need not wait."""
        return self.failure == GAVE_WAY

    @property
    def is_too_long(self) -> bool:
        """Was it refused for its size? As it is, it will be refused again."""
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
    """The next answer of this model is asked for in another form than sections: in plain words."""

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
    """What the soul wants to remember, and about whom (a name), if it is about somebody."""

    kind = "remembered"
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonModelWritten(StepEvent):
    """What the soul knows of a person, made from the entry `since` (0: from nothing)."""

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
    """What a conversation was summed up to, up to the entry `last`; with `kept`, what is still in sight.

    Without a text the soul asked for it: its `kept` last messages stay. With `seqs` it stands for what was
    said in a DM, in whichever of its conversations: for these entries.
    """

    kind = "context-cleared"
    brings = True
    text: str
    last: int
    kept: int = 0
    seqs: Seqs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptShortened(StepEvent):
    """The prompt of the next call was too long for its model: what of the conversation it was shown.

    `left_out` are places in the conversation, from 0; of each memory that is longer than `longest` characters
    (0: any) the middle was left out. `refused`: the model's server had refused the whole.
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
    """A plan as the journal tells it: until what it holds, and its steps, each a text and a state.

    A state is "open", "done" or "cancelled". People see its `title`, the soul keeps the `condition`.
    """

    condition: str
    steps: tuple[tuple[str, str], ...] = ()
    title: str = ""

    @property
    def heading(self) -> str:
        """What people see above it: where the soul gave it no title, its condition."""
        return self.title or self.condition

    @property
    def done_count(self) -> int:
        """How many of its steps are done."""
        return sum(state == "done" for _, state in self.steps)

    @property
    def open_steps(self) -> Sequence[str]:
        """Those that are open."""
        return [text for text, state in self.steps if state == "open"]

    @property
    def closed_steps(self) -> Sequence[str]:
        """The steps that are done or cancelled."""
        return [text for text, state in self.steps if state != "open"]

    def line(self) -> str:
        return f"{self.done_count}/{len(self.steps)}: {self.heading}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged(PlanState):
    """The plan of a thread from now on: until what it holds, what people see above it, and its steps."""

    kind = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(StepEvent):
    """What the core tells the soul of what became of its words: always at once, always in the thread."""

    kind = "system-message"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMessage(StepEvent):
    """What a run of the Implicit Semantic Machine was told."""

    kind = "ism"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(StepEvent):
    """Why a run of the Implicit Semantic Machine ended, after how many rounds and calls."""

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
    """The card of a conversation is about to show this plan."""

    kind = "card"
    pending = True
    closed_by = frozenset({"card-shown", "card-missed", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardShown(PlanState):
    """The card, which is the message `ts`, shows this plan in Slack."""

    kind = "card-shown"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "card"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFailed(StepEvent):
    """Nothing of it stands in Slack: what the card showed before stays, if there is a card."""

    kind = "card-missed"
    receipt_of = "card"
    why: str

    def line(self) -> str:
        return self.why


Ending = Literal[
    "answered", "iterations", "calls", "money", "time", "stuck", "stopped", "failed", "unreadable"
]
"""Why a reading ended: with a final answer, at a bound, because it went round in circles or said nothing that
could be run, because someone stopped it, because no model answered, or because what was to be read was not
there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingBegan(StepEvent):
    """Something is to be read to answer a question. `shape` says of the context all that a model is told.

    `depth` is 0 for a reading that no other one called. What is `short` is read in a single call, and stands
    here whole in place of its shape. `fault` says why it cannot be read at all.
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
    """A small program that the model wrote is about to run."""

    kind = "cell"
    closed_by = frozenset({"cell-ran", "turn-ended"})
    code: str

    def line(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRan(StepEvent):
    """What came of it. `text` is what the model is shown of that; `final` the answer that it gave, if it did.

    `variables` are those of all cells by then, each with its type. `lost`: they are gone.
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
    """What a reading came to. `partial`: something stood in its way, and this is what it knew by then.

    `calls` and `usd` are those of all that it read by calling itself, too. `beyond`: it was the day's budget,
    "day", that did not let a call through, or would not on any day, "never".
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
"""What came of a cell that was left half done when the code of its process changed."""
