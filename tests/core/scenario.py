"""What a scenario of the soul is made of: its events, and the endings that it may honestly have."""

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
    """A scenario: its events, the endings that it may honestly have, and what is unusual about its world.

    Without endings people may read anything: that all is answered and nothing doubled is checked.
    """

    events: Sequence[Event]
    endings: Sequence[Sequence[str]]
    endings_met: Sequence[Sequence[str]] = ()
    """Those more that are honest where two daemons met: what comes during one's call may find all said."""
    script: Script = echo
    processes: Callable[[Path], Mapping[str, Process]] = lambda _home: PROCESSES
    sees_all: bool = False
    """Is the script told the whole conversation, and not only what came since the model last spoke?"""
    changes: bool = False
    """The owner edits soul.md after each crash."""
    restarts: bool = False
    """May its executions begin again, since what they ask changes?"""
    last_phase: int = 0
    """Where time goes on after the last event."""
    price: float = 0.0
    """What a call costs; the day's budget is one and a half."""
    pace: float = 0.0
    """Seconds that the model takes for each piece of an answer."""
    thinks_for: float = 0.0
    """Seconds before the first piece: with any, people are told of long waits."""
    surroundings: Callable[[Path], EarlierMessageSource] = lambda _home: NothingEarlier()
    """What was said before the soul was called in."""
    plan: Sequence[Step] = ()
    """What it thinks on its own, tick by tick; without a plan it has no inner life."""
    pausable: bool = True
    """A pause can be told apart here: one thread, so that nothing is between `hold` and its effect."""
    stutters: Sequence[int] = (13, 17, 23)
    """A kill at each so-manieth boundary of every life: often, but so that each life gets somewhere."""
    extra: Callable[[Path], None] = field(default=lambda _home: None)

    @property
    def phases(self) -> int:
        """How many there are."""
        return 1 + max(self.last_phase, *(event.phase for event in self.events))


def dm(ts: int, text: str, **more: object) -> Event:
    return Event(ts=f"{ts}.000100", text=text, **more)  # type: ignore[arg-type]


def top(ts: int, text: str, **more: object) -> Event:
    """Something said at the top of a DM that may hold many conversations."""
    return dm(ts, text, root=f"{ts}.000100", **more)


def below(root: int, ts: int, text: str, **more: object) -> Event:
    """Something said there below the message `root`."""
    return dm(ts, text, root=f"{root}.000100", **more)
