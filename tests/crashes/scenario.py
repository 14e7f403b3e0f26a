"""Common parts of the scenarios of all crash harnesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioInput:
    """Input from outside, in a phase."""

    phase: int = 0


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Inputs by phase, and the faults that a harness may inject."""

    inputs: Sequence[ScenarioInput]
    last_phase: int = 0
    kill_intervals: Sequence[int] = ()
    """Intervals of repeated kills that still allow progress."""
    pausable: bool = True
    """True if a second worker may take over from a paused one."""

    @property
    def phases(self) -> int:
        return 1 + max(self.last_phase, *(one.phase for one in self.inputs), 0)
