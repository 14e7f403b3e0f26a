"""What a worker notes of itself: when it began and ended, and how long it lived with whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from daemon.engine.event import Event


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
