"""How far the soul may go before it asks its owner: bounds per turn, per thread and per person and day."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400.0
"""In seconds."""
PROCESS_TIMEOUT = 600.0
"""Seconds that a program of the inner life may run where the owner says nothing else."""
CONTINUE = "continue"
"""The value of the choice with which an owner lets the soul go on past a bound."""


ITERATIONS = "iterations"
"""The bound of open thought: how often the soul calls itself for one message of a person."""


def midnight(now: float) -> float:
    """When the UTC day of this time began, in Unix seconds."""
    return now - now % DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What something may take at the most: calls of a model, their tokens, dollars, seconds; None: any."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


TURN = Limits(calls=40, tokens=600_000, usd=1.0, seconds=900.0)
THREAD = Limits(calls=400, tokens=6_000_000, usd=5.0)
PERSON = Limits(calls=1_000, usd=3.0)
"""What holds where the owner says nothing else; a person's is counted anew each day (UTC)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """How far one reading goes, with all that it reads by calling itself: one budget for the whole tree.

    `depth`: how many levels of readings there may be below it; `iterations` each has of its own. `calls` of a
    model, dollars and seconds are those of the tree; `concurrency`: how many calls are on their way at once.
    What has fewer tokens than `threshold` (estimated) is read in one call.
    """

    depth: int = 1
    iterations: int = 20
    calls: int = 500
    usd: float = 1.0
    seconds: float = 900.0
    concurrency: int = 16
    threshold: int = 8_000


READING = ReadingLimits()
"""What holds for a reading where the owner says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerLimits:
    """How far the inner life goes by itself: seconds between two ticks at the least, dollars and messages a
    UTC day at the most; and whether it reads along in DMs.
    """

    pause: float = 60.0
    usd: float = 1.0
    messages: int = 10
    reads_dms: bool = False


INNER = InnerLimits()
"""What holds for the inner life where the owner says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """How long the answer of a model is waited for, in seconds.

    `first_event` counts from the sending; None: it follows from the model. `stall` is the longest silence of
    a stream that has begun.
    """

    first_event: float | None = None
    stall: float = 60.0

    @property
    def events(self) -> float:
        """The longest time without an event of a stream that has begun, whatever else it sends."""
        return max(WITHOUT_EVENT, self.first_event or 0.0)


WITHOUT_EVENT = 600.0
"""Seconds for which comments and pings alone keep a stream that has begun."""

STREAM = StreamLimits()
"""What holds for a stream where the owner says nothing else."""
