"""Kills of the engine: nothing lost, done or paid twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.context import Context
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import StepResult
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.crashes.cases import CrashCase, Fault, replay_of
from tests.crashes.harness import NOT_REACHED
from tests.engine.function_programs import FunctionProgram, say
from tests.engine.harness import ENGINE, SCENARIOS
from tests.engine.scenario import Said
from tests.soak import but, later

INTERVAL = 13
"""Kill points between repeated kills."""
FIRST, LAST = 4, 12
"""Range of kills in the first phase: work has begun and not ended."""
KILLED = [name for number, name in enumerate(SCENARIOS) if number % 4 < 2 and name != "pieces"]
"""Scenarios killed by `make test`; others are replayed."""
SHOWN = {
    *("early return", "a step is inserted", "what was done is read", "another order, and one more"),
    *("branches", "received late", "two alike questions", "at each press", "yes to X is not yes to Y"),
}
"""Scenarios whose replay shows mutants."""


@pytest.mark.parametrize("name", but(SCENARIOS, {*KILLED} - SHOWN))
def test_an_execution_that_runs_again_after_each_step_comes_to_the_same(name: str) -> None:
    assert ENGINE.violation(replay_of(name)) is None


@pytest.mark.parametrize(
    ("number", "name"),
    [(number, name) if name in KILLED else later(number, name) for number, name in enumerate(SCENARIOS)],
)
def test_any_kill_point_may_be_the_last(number: int, name: str) -> None:
    at = FIRST + number // 2 % (LAST - FIRST)
    kill = CrashCase(scenario=name, fault="kill", at=at)
    repeated: CrashCase[int] = CrashCase(scenario=name, fault="repeated-kill", every=INTERVAL)
    assert ENGINE.violation(kill if number % 2 else repeated) is None


@pytest.mark.parametrize("at", [later(5), 7, 8, later(9)])
@pytest.mark.parametrize("name", ["order", "outage"])
def test_a_worker_that_wakes_from_a_pause_does_no_harm(name: str, at: int) -> None:
    assert ENGINE.violation(CrashCase(scenario=name, fault="pause", at=at)) is None


@pytest.mark.parametrize("at", [later(3), 5, later(8)])
def test_a_split_brain_comes_through_as_one_worker(at: int) -> None:
    assert ENGINE.violation(CrashCase(scenario="order", fault="split-brain", at=at, other=at)) is None


@pytest.mark.parametrize("fault", ["kill", "repeated-kill", later("pause")])
def test_a_case_that_reaches_no_kill_point_shows_nothing(fault: Fault) -> None:
    every = 999 if fault == "repeated-kill" else 0
    case = CrashCase(scenario="order", fault=fault, at=None if every else 999, every=every)
    assert ENGINE.violation(case) == NOT_REACHED


async def test_where_all_is_read_back_a_program_runs_once_more_after_each_step(tmp_path: Path) -> None:
    runs = list[str]()

    async def body(ctx: Context) -> None:
        runs.append(ctx.path)
        await ctx.record(StepResult(value=1))
        await ctx.record(StepResult(value=2))

    async with Journal(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        await say(journal, "go")
        async with Worker(journal, FakeClock(), FunctionProgram(body), replays_always=True) as worker:
            await worker.wait_until_idle()
    assert len(runs) == 3
