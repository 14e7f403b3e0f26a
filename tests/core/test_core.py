"""The core under kills and pauses: each rule is shown by the scenario that fails without it.

`make soak` runs every boundary of every scenario in every way, and every mutant; here is a share of them, of
which each rule has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.engine.journal import Journal
from daemon.engine.kinds import Restarted
from daemon.kinds import SOUL_KINDS
from tests.cases import Case, problems
from tests.core.harness import SOUL
from tests.core.lives import home_for
from tests.core.outside import PhaseClock
from tests.core.scenarios import SCENARIOS
from tests.core.waiting import WAITING
from tests.soak import shared

SHARE, EACH, PAUSES, TICKS = 151, 151, 19, 401
"""Of the cases each so-manieth one: odd, so that kills before a commit and after one take turns."""
AT_RANDOM = [name for name in SCENARIOS if name.startswith("at-random")]
SHOWN = ["inner-life", "inner-life-alone", "inner-life-fails"]
"""What shows mutants when it is read back."""
READ_BACK = sorted(SCENARIOS.keys() - {"half-said-and-stopped", *SHOWN})  # its model is never there
LONG = {"burst", "poison", "long-outage", *AT_RANDOM}
LIVING = [name for name in SCENARIOS if name.startswith("inner-life")]
QUICK = sorted(SCENARIOS.keys() - WAITING.keys() - LONG - {*LIVING})


@pytest.mark.parametrize(("number", "name"), list(enumerate(QUICK)))
def test_any_boundary_may_be_the_last(number: int, name: str) -> None:
    """SIGKILL before and after commits: nothing lost, doubled or paid twice."""
    assert_none_goes_wrong(some(SOUL.kills(name), number, SHARE))


@pytest.mark.parametrize(("number", "name"), list(enumerate(WAITING)))
def test_what_waits_may_be_cut_off_anywhere(number: int, name: str) -> None:
    """The same of executions that wait for somebody."""
    assert_none_goes_wrong(some(SOUL.kills(name), number, EACH))


@pytest.mark.parametrize(("number", "name"), list(enumerate(LIVING)))
def test_an_inner_life_may_be_cut_off_anywhere(number: int, name: str) -> None:
    """The same of ticks, their commands, and what wakes them."""
    assert_none_goes_wrong(some(SOUL.kills(name), 7 * number, TICKS))


def test_a_tick_whose_code_changed_begins_again_with_its_log() -> None:
    """The second life explains its commands otherwise: what was carried out is not done again."""
    name = "inner-life-new-code"
    assert_none_goes_wrong([Case(scenario=name, way="kill", at=at) for at in (27, 30, 34, 43)])


@pytest.mark.parametrize("name", shared(AT_RANDOM, len(AT_RANDOM)))
def test_whatever_comes_to_its_mind_may_be_cut_off(name: str) -> None:
    """A kill in the middle of open thought that has no plan at all."""
    cases = SOUL.kills(name)
    assert_none_goes_wrong([cases[len(cases) // 2]])


@pytest.mark.parametrize("name", [*SHOWN, *shared(READ_BACK, 2)])
def test_each_step_may_be_read_back_at_once(name: str) -> None:
    """Each execution runs again from the top after each of its steps: replay hangs on no accident."""
    assert SOUL.outcome(Case(scenario=name, way="replay")) is None


@pytest.mark.parametrize("name", ["dm", "effect", "fickle"])
def test_a_daemon_that_wakes_from_a_pause_does_no_harm(name: str) -> None:
    """SIGSTOP at a boundary, while a second daemon takes over and finishes."""
    assert_none_goes_wrong(SOUL.pauses(name)[::PAUSES])


def test_two_daemons_that_meet_come_through_as_one() -> None:
    assert_none_goes_wrong(SOUL.meetings("effect")[::PAUSES])


def test_a_replay_that_would_ask_otherwise_begins_again_openly() -> None:
    """The prompt is another one since the second life."""
    scenario = SCENARIOS["new-prompt"]
    begun_again = []
    for at in range(16, 34, 2):
        with home_for("restarted") as home:
            SOUL.life(home, scenario, 0, at)
            assert SOUL.life(home, scenario, 0) == 0
            begun_again.append(asyncio.run(restarted(home)))
    assert any(begun_again)


async def restarted(home: Path) -> bool:
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        return bool(journal.kind(Restarted))


def some(cases: list[Case], number: int, each: int) -> list[Case]:
    """Each so-manieth case, another share for each scenario, and at least one."""
    first = number % min(each, len(cases))
    return cases[first::each]


def assert_none_goes_wrong(cases: Sequence[Case]) -> None:
    assert cases
    assert problems(cases, SOUL.outcome) == {}
