"""Costs of the idle daemon with its rehearsal. `python -m benchmarks.idle 3600` takes an hour.

Floor: a loop that wakes every second, with the libraries loaded. Reads /proc, so Linux only.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import Figure, table
from benchmarks.resident import Child, child
from benchmarks.start import GIVEN

LOOP = """
async def wake():
    while True:
        await asyncio.sleep(1)
asyncio.run(wake())
"""
BARE = f"import asyncio; {GIVEN}; print('ready', flush=True){LOOP}"
SETTLES = 10.0
"""Seconds from ready to the measurement."""
COUNTED = sys.platform == "linux"
CORE = 0.3
"""Maximum percent of a core."""
MORE = 1.01
"""Maximum ratio to the memory at the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Percent of a core, wake-ups per second, megabytes before and after."""

    core: float
    wakes: float
    before: float
    after: float


async def idle(
    folder: Path, *, seconds: float = 60.0, settles: float = SETTLES, inner: bool = True
) -> Sequence[Figure]:
    """Measure the daemon and the floor at the same time."""
    if not COUNTED:
        return []
    env = {"PORT": "0", "SOUL_HOME": str(folder / "home"), "INNER_LIFE_ENABLED": str(inner).lower()}
    async with child(["-c", BARE]) as bare, child(["-m", "daemon"], **env) as daemon:
        await asyncio.sleep(settles)
        floor, ours = await asyncio.gather(_taken(bare, seconds), _taken(daemon, seconds))
    return [
        Figure(
            name=f"idle for {seconds:,.0f} s, of a core",
            value=ours.core,
            unit="%",
            floor=floor.core,
            aim=f"at most {CORE:g} %",
            met=ours.core <= CORE,
        ),
        Figure(name="… wake-ups", value=ours.wakes, unit="/s", floor=floor.wakes),
        Figure(
            name="… resident memory at the end; floor: at its begin",
            value=ours.after,
            unit="MB",
            floor=ours.before,
            aim=f"at most {MORE:g} times the floor",
            met=ours.after <= MORE * ours.before,
        ),
    ]


async def _taken(process: Child, seconds: float) -> Taken:
    (ran, woke), before = _counted(process), process.memory
    await asyncio.sleep(seconds)
    ran_by_then, woke_by_then = _counted(process)
    return Taken(
        core=(ran_by_then - ran) / seconds * 100,
        wakes=(woke_by_then - woke) / seconds,
        before=before,
        after=process.memory,
    )


def _counted(process: Child) -> tuple[float, int]:
    """Return its threads' CPU seconds and wake-ups."""
    ran, woke = 0, 0
    for thread in Path(f"/proc/{process.process.pid}/task").iterdir():
        ran += int((thread / "schedstat").read_text().split()[0])
        status = (thread / "status").read_text().splitlines()
        woke += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt"))
    return ran / 1e9, woke


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="benchmark-") as place:
        print(table(asyncio.run(idle(Path(place), seconds=float((sys.argv[1:] or ["60"])[0])))))
