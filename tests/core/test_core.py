"""Core under kills and pauses; `make soak` runs all cases and mutants.

Most scenarios run once: killed if that shows a mutant or later runs differ, else replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import ExecutionRestarted
from daemon.kinds import SOUL_KINDS
from tests.core.file_world import PhaseClock
from tests.core.harness import CORE, CoreTrial
from tests.core.scenarios import SCENARIOS
from tests.core.waiting_scenarios import WAITING
from tests.core.worker_run import open_home
from tests.crashes.cases import CrashCase, Injection, replay_of
from tests.mutants.tables import ALL
from tests.soak import SOAK, but, later

FIRST, LAST = 16, 21
"""Kill points of phase one at which work is pending."""
PAUSES = 31
"""Interval of pauses; odd, to alternate before and after commits."""
AT_RANDOM = [name for name in SCENARIOS if name.startswith("at-random")]
SHOWN = ["inner-life", "inner-life-alone", "inner-life-fails"]
"""Scenarios whose replay shows mutants."""
READ_BACK = sorted(SCENARIOS.keys() - {"half-said-and-stopped", *SHOWN})  # its model never replies
LONG = {"burst", "poison", "long-outage", *AT_RANDOM}
INNER_LIFE = [name for name in SCENARIOS if name.startswith("inner-life")]
QUICK = sorted(SCENARIOS.keys() - WAITING.keys() - LONG - {*INNER_LIFE})
SHOWN_BY_KILLS = {one.check.removesuffix("/kills") for one in ALL if one.check.endswith("/kills")}
OTHERWISE = {name for name, scenario in SCENARIOS.items() if scenario.changes or scenario.restarts}
"""Scenarios with edits or other code after a kill."""
KILLED = {"half-said-and-stopped", "killed-half-said", "inner-life-alone", *SHOWN_BY_KILLS, *OTHERWISE} - {
    "inner-life-new-code"
}
ASIDE = {*KILLED, *INNER_LIFE, *AT_RANDOM} - {"dm", "asked-new-code"}
"""Scenarios not replayed here; two show something only when replayed."""


def killed(names: Iterable[str]) -> list[Any]:
    return [(number, name) if name in KILLED else later(number, name) for number, name in enumerate(names)]


@pytest.mark.parametrize(("number", "name"), killed(QUICK))
def test_any_kill_point_may_be_the_last(number: int, name: str) -> None:
    assert_none_goes_wrong([a_kill(number, name)])


@pytest.mark.parametrize(("number", "name"), killed(WAITING))
def test_what_waits_may_be_cut_off_anywhere(number: int, name: str) -> None:
    assert_none_goes_wrong([a_kill(number, name)])


@pytest.mark.parametrize(("number", "name"), killed(INNER_LIFE))
def test_an_inner_life_may_be_cut_off_anywhere(number: int, name: str) -> None:
    assert_none_goes_wrong([a_kill(number, name)])


@pytest.mark.parametrize("at", [later(27), 30, later(34), 43])
def test_a_tick_whose_code_changed_begins_again_with_its_log(at: int) -> None:
    assert_none_goes_wrong([CrashCase(scenario="inner-life-new-code", fault="kill", at=at)])


@SOAK
@pytest.mark.parametrize("name", AT_RANDOM)
def test_whatever_comes_to_its_mind_may_be_cut_off(name: str) -> None:
    cases = CORE.kills(name)
    assert_none_goes_wrong([cases[len(cases) // 2]])


@SOAK
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_to_be_cut_off_comes_right_when_it_is_not(name: str) -> None:
    assert CORE.kill_points(name)


@pytest.mark.parametrize("name", [*SHOWN, *but(READ_BACK, ASIDE)])
def test_each_step_may_be_read_back_at_once(name: str) -> None:
    assert CORE.violation(replay_of(name)) is None


@pytest.mark.parametrize("name", ["dm", "effect", later("fickle")])
def test_a_daemon_that_wakes_from_a_pause_does_no_harm(name: str) -> None:
    assert_none_goes_wrong(CORE.pauses(name)[::PAUSES])


def test_a_split_brain_comes_through_as_one_worker() -> None:
    assert_none_goes_wrong(CORE.split_brains("effect")[::PAUSES])


def test_a_replay_that_would_ask_otherwise_begins_again_openly() -> None:
    scenario = SCENARIOS["new-prompt"]
    begun_again = []
    for at in range(30, 36, 2):
        with open_home("restarted") as home:
            trial = CoreTrial(home, scenario)
            trial.run(0, Injection(at=at))
            assert trial.run(0) == 0
            begun_again.append(asyncio.run(restarted(home)))
    assert any(begun_again)


async def restarted(home: Path) -> bool:
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        return bool(journal.entries_of_kind(ExecutionRestarted))


def a_kill(number: int, name: str) -> CrashCase[int]:
    if number % 2 == 0:
        return CrashCase(scenario=name, fault="kill", at=FIRST + number // 2 % (LAST - FIRST))
    intervals = SCENARIOS[name].kill_intervals
    return CrashCase(scenario=name, fault="repeated-kill", every=intervals[number % len(intervals)])


def assert_none_goes_wrong(cases: Sequence[CrashCase[int]]) -> None:
    assert CORE.violations(cases) == {}
