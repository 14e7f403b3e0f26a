"""Crash suspects: only deadly turns are given up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.engine.crash_simulation import SimulatedThread, SimulationResult, draw_short_runs, simulate
from tests.soak import shared

SEEDS = shared(range(3), 3)


def innocents(count: int, steps: int = 3) -> list[SimulatedThread]:
    return [SimulatedThread(name=f"t{n}", steps=steps) for n in range(count)]


def poison(draw: random.Random, name: str = "x", longest: float = 1.4) -> SimulatedThread:
    return SimulatedThread(name=name, deadly=draw.choice([0, 1]), fuse=draw.uniform(0.05, longest))


async def simulate_fairly(
    folder: Path, seed: int, threads: list[SimulatedThread], kills: list[float], stops: bool = False
) -> SimulationResult:
    found = await simulate(folder, threads, kills, seed, stops)
    assert found.wronged == []
    assert found.unsettled == []
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kills", [8, 30, 60])
async def test_whoever_is_killed_from_outside_is_not_given_up(tmp_path: Path, seed: int, kills: int) -> None:
    draw = random.Random(seed)
    await simulate_fairly(tmp_path, seed, innocents(6), draw_short_runs(draw, kills))


@pytest.mark.parametrize("count", [1, 6])
async def test_twenty_deploys_give_up_nobody(tmp_path: Path, count: int) -> None:
    await simulate_fairly(tmp_path, 1, innocents(count), [0.8] * 20)


async def test_a_daemon_that_was_told_to_stop_was_not_killed(tmp_path: Path) -> None:
    found = await simulate_fairly(tmp_path, 1, innocents(6), [0.8] * 20, stops=True)
    assert not found.suspicions


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("steps", [3, 40])
async def test_a_poison_is_given_up_alone(tmp_path: Path, seed: int, steps: int) -> None:
    draw = random.Random(seed)
    found = await simulate_fairly(tmp_path, seed, [*innocents(5, steps), poison(draw)], [])
    assert found.crashes == 7, "two until it is suspected, and the five that are counted"


@pytest.mark.parametrize("seed", SEEDS)
async def test_two_poisons_are_given_up_alone(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    threads = [*innocents(4), poison(draw), poison(draw, "y")]
    found = await simulate_fairly(tmp_path, seed, threads, [])
    assert found.crashes <= 20


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_poison_is_found_among_kills_from_outside(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    threads = [*innocents(5), poison(draw, longest=0.25)]
    found = await simulate_fairly(tmp_path, seed, threads, draw_short_runs(draw, 20))
    assert found.crashes <= 25


async def test_a_poison_is_found_among_many(tmp_path: Path) -> None:
    found = await simulate_fairly(
        tmp_path, 1, [*innocents(12, 2), SimulatedThread(name="x", deadly=0, fuse=0.1)], []
    )
    assert found.crashes == 7


async def test_whoever_comes_further_at_each_start_is_not_given_up(tmp_path: Path) -> None:
    found = await simulate_fairly(tmp_path, 1, [SimulatedThread(name="t", steps=12, frail=True)], [])
    assert found.crashes == 11


async def test_a_death_in_a_control_pardons_whoever_was_suspected(tmp_path: Path) -> None:
    await simulate_fairly(tmp_path, 1, [SimulatedThread(name="t", model=5.0)], [0.8, 0.8, *[0.8, 3.5] * 8])


async def test_a_control_outlasts_runs_that_end_at_uneven_times(tmp_path: Path) -> None:
    await simulate_fairly(tmp_path, 1, [SimulatedThread(name="t", model=5.0)], [*[0.8] * 3, *[1.6] * 8])


async def test_whoever_is_counted_least_is_not_kept_waiting_by_the_poison(tmp_path: Path) -> None:
    found = await simulate_fairly(tmp_path, 1, [SimulatedThread(name="x", deadly=0), *innocents(5, 1)], [])
    assert [thread.run for thread in found.threads] == [8, 4, 4, 4, 4, 4]


async def test_whoever_was_tried_least_is_not_kept_waiting_by_what_takes_long(tmp_path: Path) -> None:
    threads = [
        SimulatedThread(name="slow", model=5.0, steps=1),
        *innocents(1, 1),
        SimulatedThread(name="x", deadly=0),
    ]
    found = await simulate_fairly(tmp_path, 1, threads, [4.0] * 8, stops=True)
    assert [thread.run for thread in found.threads if thread.name == "t0"] == [4]
