"""The core under kills and pauses: each rule is shown by the scenario that fails without it.

`make soak` runs every boundary of every scenario in every way, and every mutant; here is each fifth kill, and
of bodies that wait each seventh.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.journal.journal import Journal
from tests.core.harness import Job, kills, meetings, pauses, problem_of
from tests.core.lives import home_for, life
from tests.core.outside import StoryClock
from tests.core.scenarios import SCENARIOS
from tests.core.waiting import WAITING

SHARE, EACH = 5, 7
QUICK = sorted(SCENARIOS.keys() - WAITING.keys() - {"burst", "poison", "long-outage"})


@pytest.mark.parametrize(("number", "name"), list(enumerate(QUICK)))
def test_any_boundary_may_be_the_last(number: int, name: str) -> None:
    """SIGKILL at each fifth boundary, before and after commits: nothing lost, doubled or paid twice."""
    assert_none_goes_wrong(kills(name)[number % SHARE :: SHARE])


@pytest.mark.parametrize(("number", "name"), list(enumerate(WAITING)))
def test_a_body_that_waits_may_be_cut_off_anywhere(number: int, name: str) -> None:
    """Each seventh boundary, a kill before a commit as often as one after it."""
    assert_none_goes_wrong(kills(name)[number % EACH :: EACH])


@pytest.mark.parametrize("name", ["dm", "effect", "fickle"])
def test_a_daemon_that_wakes_from_a_pause_does_no_harm(name: str) -> None:
    """SIGSTOP at each boundary, while a second daemon takes over and finishes."""
    assert_none_goes_wrong(pauses(name))


def test_two_daemons_that_meet_come_through_as_one() -> None:
    assert_none_goes_wrong(meetings("effect"))


def test_a_replay_that_would_ask_otherwise_says_so() -> None:
    """The code asks otherwise since the second life, and nobody said that it had changed."""
    story = replace(SCENARIOS["new-code"], code=("1",))
    drifts = []
    for at in range(16, 34, 2):
        with home_for("drift") as home:
            life(home, story, 0, at)
            assert life(home, story, 0) == 0
            drifts.append(asyncio.run(drifted(home)))
    assert any(drifts)


async def drifted(home: Path) -> bool:
    async with Journal(home / "journal.db", StoryClock(0)) as journal:
        return bool(journal.kind("drift"))


def assert_none_goes_wrong(cases: list[Job]) -> None:
    assert cases
    assert {case: problem for case in cases if (problem := problem_of(case))} == {}
