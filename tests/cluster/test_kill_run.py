"""Three whole daemons under hits: nothing is lost, doubled, out of order, or paid again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.kill_run import KillReport, kill_run, report
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.soak import later

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

PATIENT = 90.0
"""Seconds for which a status may stand here: other tests share the machine."""


def evidence(done: KillReport) -> str:
    lines = [*done.violations, str(dict(done.figures))]
    for name, said in done.said.items():
        lines += [name, *said[-15:]]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("mode", "seconds", "hits"),
    [
        ("all", 20, ["kill", "pause", "cut"]),
        later("one", 20, ["kill", "pause", "cut"]),
        later("all", 90, ["kill", "pause", "cut", "slow", "two"]),
        later("one", 90, ["kill", "pause", "cut", "slow", "two"]),
    ],
)
async def test_daemons_that_are_hit_lose_and_double_nothing(
    log_url: str, tmp_path: Path, mode: str, seconds: float, hits: list[str]
) -> None:
    async with kill_run(tmp_path, log_url, 1, None, (), AT_WORK=mode) as run:
        await run.course(seconds, hits)
        done = await report(run, PATIENT)
    assert not done.violations, evidence(done)
    assert sum(done.figures["hits"].values()) > 0
