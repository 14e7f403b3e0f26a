"""What a reading writes down: that it began, the cells that it runs, and how it ended.

Its model calls are `model-call` entries beside them, and what a reading reads by calling itself stands within
the cell that called: under the cell's key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from daemon.engine import kinds as engine
from daemon.engine.event import StepEvent

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
class CellBegan(engine.Intent):
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
