"""Crash suspects of several daemons: only deadly turns are given up, after five deaths."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import TurnBegan, TurnResumed
from daemon.engine.retries import INNOCENT
from daemon.engine.shared_suspects import CrashJudge, shared_crash_record
from tests.clock import FakeClock
from tests.engine.crash_simulation import SimulatedThread
from tests.engine.shared_crash_simulation import SharedResult, simulate_shared
from tests.engine.test_suspects import innocents, poison
from tests.soak import shared

SEEDS = shared(range(3), 2)
MACHINES = [1, 2, 3]

Kills = Sequence[tuple[float, int]]


def draw_kills(draw: random.Random, number: int, least: float, most: float) -> Kills:
    """Draw kills from outside: mostly of one daemon, now and then of several at once."""
    kills, at = list[tuple[float, int]](), 0.0
    for _ in range(number):
        at += draw.uniform(least, most)
        kills.append((at, draw.choice([1, 1, 1, 2, 3])))
    return kills


async def simulate_fairly(
    folder: Path, seed: int, machines: int, threads: list[SimulatedThread], kills: Kills = ()
) -> SharedResult:
    found = await simulate_shared(folder, threads, seed=seed, machines=machines, kills=kills)
    assert found.wronged == []
    assert found.unsettled == []
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("machines", MACHINES)
@pytest.mark.parametrize("steps", [3, 40])
async def test_a_poison_kills_five_daemons_and_no_more(
    tmp_path: Path, seed: int, machines: int, steps: int
) -> None:
    draw = random.Random(seed)
    found = await simulate_fairly(tmp_path, seed, machines, [*innocents(5, steps), poison(draw)])
    assert found.crashes == 5


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("machines", MACHINES)
async def test_two_poisons_are_given_up_alone(tmp_path: Path, seed: int, machines: int) -> None:
    draw = random.Random(seed)
    threads = [*innocents(4), poison(draw), poison(draw, "y")]
    found = await simulate_fairly(tmp_path, seed, machines, threads)
    assert found.crashes <= 20


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("machines", MACHINES)
async def test_kills_from_outside_give_up_nobody(tmp_path: Path, seed: int, machines: int) -> None:
    draw = random.Random(seed)
    await simulate_fairly(tmp_path, seed, machines, innocents(6), draw_kills(draw, 40, 0.3, 8.0))


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_poison_is_found_among_kills_from_outside(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    threads = [*innocents(5), poison(draw, longest=0.25)]
    await simulate_fairly(tmp_path, seed, 3, threads, draw_kills(draw, 20, 1.0, 15.0))


async def test_a_turn_that_comes_further_at_each_death_is_not_given_up(tmp_path: Path) -> None:
    found = await simulate_fairly(tmp_path, 1, 3, [SimulatedThread(name="t", steps=12, frail=True)])
    assert found.crashes == 11


async def test_a_suspect_is_set_aside_after_two_deaths(tmp_path: Path) -> None:
    """While one waits for the end of its control, all others go on."""
    threads = [*innocents(5, 4), SimulatedThread(name="x", deadly=0, fuse=0.1)]
    found = await simulate_fairly(tmp_path, 1, 3, threads)
    assert found.crashes == 5
    assert max(thread.run for thread in found.threads if thread.deadly is None) <= 4


async def test_a_death_in_a_control_pardons_whoever_was_suspected(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), []) as journal:
        judge = CrashJudge(journal, "worker.m")
        began, _ = await journal.append("x", TurnBegan(execution="x@1", inputs=(), life=101), key="x@1/began")
        for number, life in enumerate((102, 103), start=2):
            await judge.judge(life - 1)
            event = TurnResumed(attempt=number, life=life)
            await journal.append("x", event, key=f"x@1!attempt#{number}", cause=began.seq)
        assert shared_crash_record(journal, began).suspect
        await judge.judge(103)
        assert shared_crash_record(journal, began).control
        await judge.judge(104)  # it did not run there
        assert shared_crash_record(journal, began) == INNOCENT
