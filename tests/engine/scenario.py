"""What a scenario of the engine alone is made of: programs, what comes to them, and a world of effects.

It imports `daemon.engine` and nothing else of the daemon.
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
    """Somebody said something."""

    kind = "said"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed(Input):
    """Somebody pressed a button."""

    kind = "pressed"
    rank = InputRank.ANSWER
    answers: str = ""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comes:
    """An input that the world brings. `answers` is a part of the key of a question that waits then."""

    thread: str
    event: Input
    phase: int = 0
    answers: str = ""


class World:
    """What lives outside: its effects are lines in a file."""

    def __init__(self, home: Path) -> None:
        self._path = home / "world.jsonl"

    async def do(self, name: str, **more: Any) -> str:
        """An effect, after which one may be killed."""
        note(self._path, {"name": name, **more})
        Boundary.reach()
        await asyncio.sleep(0)
        return f"{name} done"

    def done(self) -> list[dict[str, Any]]:
        """All effects, in order."""
        return read(self._path)


Build = Callable[[World], Program]
Check = Callable[[World, Sequence[Any]], str | None]
"""What is wrong with what was done, or with what is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Programs by life (the last one stays), what comes, and what must be true in the end."""

    programs: Sequence[Build]
    comes: Sequence[Comes]
    check: Check
    kinds: Sequence[type[Event]] = (Said, Pressed)
    phases: int = 1
    stutters: Sequence[int] = (13, 11, 17, 23)
    pausable: bool = True
    """Is its code the same in two lives at once?"""
    may_wait: bool = False
    by_phase: bool = False
    """Are the programs those of the phases, and not of the lives?"""
    ahead: Sequence[float] = ()
    """Seconds that the clock is ahead in the first phases."""
