"""Parts of a core scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.ports import EarlierMessageSource
from daemon.turn.turn import Process
from tests.core.file_world import CoreInput, NothingEarlier, Script, echo
from tests.core.inner_life import Step
from tests.crashes.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class CoreScenario(Scenario):
    """Inputs, allowed endings and peculiarities.

    Without endings any text is allowed; answers and duplicates are checked. Pausable with one thread: nothing
    comes between `hold` and effect.
    """

    inputs: Sequence[CoreInput]
    endings: Sequence[Sequence[str]]
    split_brain_endings: Sequence[Sequence[str]] = ()
    """Further endings after a split brain."""
    script: Script = echo
    processes: Callable[[Path], Mapping[str, Process]] = lambda _home: PROCESSES
    sees_all: bool = False
    """True if the script gets the whole conversation."""
    changes: bool = False
    """True if the owner edits soul.md after each kill."""
    restarts: bool = False
    price: float = 0.0
    """Cost of a call; the daily budget is 1.5 calls."""
    pace: float = 0.0
    thinks_for: float = 0.0
    """Seconds before the first piece; people hear of long waits."""
    surroundings: Callable[[Path], EarlierMessageSource] = lambda _home: NothingEarlier()
    plan: Sequence[Step] = ()
    kill_intervals: Sequence[int] = (13, 17, 23)
    check: Callable[[Path], None] = field(default=lambda _home: None)
    """Further check of a home after the last run."""


def dm(ts: int, text: str, **more: object) -> CoreInput:
    return CoreInput(ts=f"{ts}.000100", text=text, **more)  # type: ignore[arg-type]


def top(ts: int, text: str, **more: object) -> CoreInput:
    """Return a message at the top of a DM with many conversations."""
    return dm(ts, text, root=f"{ts}.000100", **more)


def below(root: int, ts: int, text: str, **more: object) -> CoreInput:
    return dm(ts, text, root=f"{root}.000100", **more)
