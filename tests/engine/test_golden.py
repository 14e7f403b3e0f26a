"""Golden journals replayed by today's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import StepEvent
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import AttemptFailed, ExecutionRestarted, TurnEnded
from daemon.engine.worker import TurnRunner
from tests.clock import FakeClock
from tests.crashes.kill_points import KillPoint
from tests.engine.changed_programs import CHANGED_SCENARIOS
from tests.engine.golden import read, restore
from tests.engine.harness import SCENARIOS
from tests.engine.scenario import EffectFile, EngineScenario
from tests.machine import folder

STEADY = [name for name in SCENARIOS if name not in CHANGED_SCENARIOS]


async def replay(home: Path, scenario: EngineScenario, lines: list[dict[str, Any]]) -> list[str]:
    path, clock = home / "journal.db", FakeClock(lines[-1]["at"])
    await restore(path, scenario.kinds, lines[:-1])
    KillPoint.arm(0)
    program = scenario.programs[-1](EffectFile(home))
    async with Journal(path, clock, scenario.kinds) as journal:
        turns = TurnRunner(
            journal,
            clock,
            program,
            life=0,
            succeeded=lambda _: None,
            changed=lambda: None,
            replays_always=False,
        )
        assert await turns.take_turn(lines[-1]["thread"])
        new = journal.entries_since(len(lines) - 1)
        assert not [
            entry for entry in new if isinstance(entry.event, StepEvent | ExecutionRestarted | AttemptFailed)
        ]
        return [entry.event.outcome for entry in new if isinstance(entry.event, TurnEnded)]


@pytest.mark.parametrize("name", STEADY)
async def test_each_turn_is_replayed_to_the_same_end_and_nothing_is_done_again(name: str) -> None:
    lines = read(name)
    ends = [number for number, line in enumerate(lines) if line["kind"] == "turn-ended"]
    assert ends
    for number in ends[:: max(1, len(ends) // 4)]:
        with folder("engine") as home:
            outcomes = await replay(home, SCENARIOS[name], lines[: number + 1])
        assert outcomes == [lines[number]["body"]["outcome"]], f"the turn that ended with {number + 1}"


def test_a_change_of_code_was_recorded_as_a_restart() -> None:
    restarted = {
        name for name in CHANGED_SCENARIOS if any(line["kind"] == "restarted" for line in read(name))
    }
    assert "a step is inserted" in restarted
    assert "after the question" not in restarted
