"""Counts of the benchmarks of runs, and the seed's own loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.ferry import found
from benchmarks.ism import dollars, ism, uncached
from benchmarks.seed import run_seed
from daemon.ism import Action
from daemon.settings.limits import TokenUsage
from tests.soak import SOAK

COLD = TokenUsage(input=100, cache_write=1_000, output=50)
WARM = TokenUsage(input=100, cache_write=300, cache_read=1_000, output=50)


@SOAK
async def test_the_rounds_of_a_run_take_equally_many_uncached_tokens(tmp_path: Path) -> None:
    first, last, run, *_ = await ism(tmp_path, rounds=5, long=1)
    assert last.floor is not None
    assert 0 <= last.value - last.floor <= 5
    assert last.value < first.value / 3
    assert run.ratio is not None
    assert run.ratio < 0.6


def test_uncached_is_what_was_not_read_from_the_cache() -> None:
    assert [uncached(COLD), uncached(WARM)] == [1_100, 400]


def test_input_is_worth_its_price_and_output_does_not_count() -> None:
    haiku = (200 * 0.10 + 1_300 * 0.125 + 1_000 * 0.01) / 1e6
    assert dollars([COLD, WARM]) == pytest.approx(haiku)
    sonnet = (200 * 2 + 1_300 * 2.50 + 1_000 * 0.10) / 1e6
    assert dollars([COLD, WARM], "claude-sonnet-5-5") == pytest.approx(sonnet)


def test_all_that_is_found_is_of_one_length() -> None:
    assert len({len(found(number)) for number in range(1, 100)}) == 1


async def test_the_seeds_loop_sends_everything_each_time() -> None:
    prompts: list[str] = []

    async def invoke(prompt: str) -> str:
        prompts.append(prompt)
        return json.dumps({"actions": ["Look"] if len(prompts) < 3 else ["DONE"], "reasoning": "so"})

    async def look(_context: str, log: list[str]) -> None:
        log.append("a gull")

    assert await run_seed("It is late.", "Rest.", "Slowly.", [Action("Look", "Look.", look)], invoke, 9) == 3
    assert "## Internal Log\n(first iteration)\n" in prompts[0]
    log = "Loop 0: chose ['Look'] — so\na gull\nLoop 1: chose ['Look'] — so\na gull"
    assert f"## Internal Log\n{log}\n" in prompts[2]
    assert all(prompt.startswith("\nIt is late.\n\n## Goal\nRest.") for prompt in prompts)
