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
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint
from tests.crashes.scenario import Scenario, ScenarioInput


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
class EngineInput(ScenarioInput):
    """Input for a thread. `answers`: part of the key of a waiting question."""

    thread: str
    event: Input
    answers: str = ""


class EffectFile:
    """World of a scenario: effects as lines in a file."""

    def __init__(self, home: Path) -> None:
        self._path = home / "effects.jsonl"

    async def do(self, name: str, **more: Any) -> str:
        """Write an effect; a kill may follow."""
        append_line(self._path, {"name": name, **more})
        KillPoint.reach()
        await asyncio.sleep(0)
        return f"{name} done"

    def done(self) -> list[dict[str, Any]]:
        return read_lines(self._path)


MakeProgram = Callable[[EffectFile], Program]
Check = Callable[[EffectFile, Sequence[Any]], None]
"""Function that asserts the effects and the entries."""


@dataclass(frozen=True, kw_only=True)
class EngineScenario(Scenario):
    """Programs by worker run (the last repeats), inputs, check."""

    programs: Sequence[MakeProgram]
    inputs: Sequence[EngineInput]
    check: Check
    kinds: Sequence[type[Event]] = (Said, Pressed)
    kill_intervals: Sequence[int] = (13, 11, 17, 23)
    may_wait: bool = False
    by_phase: bool = False
    """True if programs belong to phases, not runs."""
    ahead: Sequence[float] = ()
    """Seconds by which the clock is fast in the first phases."""
