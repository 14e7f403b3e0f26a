"""Parts of a scenario for the engine alone: programs, inputs, and effects.

Of the daemon, only `daemon.engine` is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.engine.event import Event, Input, InputRank
from daemon.engine.program import Program
from tests.lives import Boundary, note, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Input):
    kind = "said"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed(Input):
    kind = "pressed"
    rank = InputRank.ANSWER
    answers: str = ""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comes:
    """Input from outside. `answers`: part of the key of a waiting question."""

    thread: str
    event: Input
    phase: int = 0
    answers: str = ""


class World:
    """Record of effects, as lines in a file."""

    def __init__(self, home: Path) -> None:
        self._path = home / "world.jsonl"

    async def do(self, name: str, **more: Any) -> str:
        """Write an effect; a kill may follow."""
        note(self._path, {"name": name, **more})
        Boundary.reach()
        await asyncio.sleep(0)
        return f"{name} done"

    def done(self) -> list[dict[str, Any]]:
        return read(self._path)


Build = Callable[[World], Program]
Check = Callable[[World, Sequence[Any]], str | None]
"""Function that returns a fault of the effects or entries, else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Programs by life (the last repeats), inputs, final check."""

    programs: Sequence[Build]
    comes: Sequence[Comes]
    check: Check
    kinds: Sequence[type[Event]] = (Said, Pressed)
    phases: int = 1
    stutters: Sequence[int] = (13, 11, 17, 23)
    pausable: bool = True
    may_wait: bool = False
    by_phase: bool = False
    """True if programs belong to phases, not lives."""
    ahead: Sequence[float] = ()
    """Seconds by which the clock is fast in the first phases."""
