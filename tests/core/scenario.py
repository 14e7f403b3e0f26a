"""Parts of a core scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daemon.app.discovery import PROCESSES
from daemon.ports import EarlierMessageSource
from daemon.turn.turn import Process
from tests.core.living import Step
from tests.core.outside import Event, NothingEarlier, Script, echo


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Events, allowed endings and peculiarities of a scenario.

    Without endings any text is allowed; answers and duplicates are checked.
    """

    events: Sequence[Event]
    endings: Sequence[Sequence[str]]
    endings_met: Sequence[Sequence[str]] = ()
    """Further endings where two daemons met."""
    script: Script = echo
    processes: Callable[[Path], Mapping[str, Process]] = lambda _home: PROCESSES
    sees_all: bool = False
    """True if the script gets the whole conversation."""
    changes: bool = False
    """True if the owner edits soul.md after each crash."""
    restarts: bool = False
    last_phase: int = 0
    price: float = 0.0
    """Cost of a call; the daily budget is 1.5 calls."""
    pace: float = 0.0
    thinks_for: float = 0.0
    """Seconds before the first piece; people hear of long waits."""
    surroundings: Callable[[Path], EarlierMessageSource] = lambda _home: NothingEarlier()
    plan: Sequence[Step] = ()
    pausable: bool = True
    """True with one thread: nothing comes between `hold` and effect."""
    stutters: Sequence[int] = (13, 17, 23)
    """Intervals of kills that still allow progress."""
    extra: Callable[[Path], None] = field(default=lambda _home: None)

    @property
    def phases(self) -> int:
        return 1 + max(self.last_phase, *(event.phase for event in self.events))


def dm(ts: int, text: str, **more: object) -> Event:
    return Event(ts=f"{ts}.000100", text=text, **more)  # type: ignore[arg-type]


def top(ts: int, text: str, **more: object) -> Event:
    """Return a message at the top of a DM with many conversations."""
    return dm(ts, text, root=f"{ts}.000100", **more)


def below(root: int, ts: int, text: str, **more: object) -> Event:
    return dm(ts, text, root=f"{root}.000100", **more)
