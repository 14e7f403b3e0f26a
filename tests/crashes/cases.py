"""Cases: a scenario with one injected fault."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Fault = Literal["kill", "repeated-kill", "pause", "split-brain", "replay"]
"""Faults of a case:

- *kill*: a run is killed at a kill point; the next one continues;
- *repeated-kill*: each run is killed at every n-th kill point;
- *pause*: a run is paused, another takes over, then the first resumes;
- *split-brain*: the other is paused, too, and both resume at once;
- *replay*: no kill; each execution runs again after each step.
"""
Place = TypeVar("Place")
"""Name or number of a kill point."""


class KillPointNotReached(Exception): ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection(Generic[Place]):
    """Signal for a run, once `at` a kill point or at `every` n-th one."""

    at: Place | None = None
    every: int = 0
    sent: signal.Signals = signal.SIGKILL
    replays: bool = False
    """True if executions run again after each step."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class CrashCase(Generic[Place]):
    """Fault of a scenario, and its kill point in a phase.

    `every`: interval of repeated kills. `other`: kill point of the second worker of a split brain.
    """

    scenario: str
    fault: Fault
    at: Place | None = None
    every: int = 0
    phase: int = 0
    other: Place | None = None

    def injection(self) -> Injection[Place]:
        """Return the fault's signal for the first run of the case's phase."""
        sent = signal.SIGSTOP if self.fault in ("pause", "split-brain") else signal.SIGKILL
        return Injection(at=self.at, every=self.every, sent=sent, replays=self.fault == "replay")


def replay_of(scenario: str) -> CrashCase[int]:
    return CrashCase(scenario=scenario, fault="replay")
