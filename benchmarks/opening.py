"""Time to open a sandbox: a warm monty worker or spare CPython."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median

from pydantic_monty import Monty

from benchmarks.figure import Figure
from daemon.sandbox.environment import Sandbox, SandboxError
from daemon.sandbox.session import SandboxFactory, SpareChildren, open_cpython

WARM = 0.5
"""Maximum milliseconds if warm."""
Open = Callable[[], Awaitable[Sandbox]]


async def opening(rounds: int) -> Sequence[Figure]:
    """Open each in sequence. Floors: monty's own checkout, and a new CPython."""
    found = []
    with Monty(max_processes=2) as pool:
        checkout = median([_checked_out(pool) for _ in range(rounds)])
    async with SandboxFactory("monty") as sandboxes:
        cold = await _opened(lambda: sandboxes.open({}))
        warm = median([await _opened(lambda: sandboxes.open({})) for _ in range(rounds)])
    found.append(Figure(name="sandbox, the first (monty)", value=cold, unit="ms"))
    found.append(_warm("sandbox, warm (monty)", warm, checkout))
    try:
        async with SpareChildren() as spares:
            new = median([await _opened(lambda: open_cpython({})) for _ in range(rounds // 10 + 1)])
            ready = []
            for _ in range(rounds // 10 + 1):
                await spares.wait_until_ready()
                ready.append(await _opened(lambda: spares.open({})))
    except SandboxError:  # no confinement here
        return found
    return [*found, _warm("sandbox, a spare (cpython)", median(ready), new)]


def _warm(name: str, value: float, floor: float) -> Figure:
    return Figure(name=name, value=value, unit="ms", floor=floor, aim=f"below {WARM:g} ms", met=value < WARM)


async def _opened(open: Open) -> float:
    """Return milliseconds to open."""
    began = time.perf_counter()
    sandbox = await open()
    took = time.perf_counter() - began
    await sandbox.close()
    return took * 1e3


def _checked_out(pool: Monty) -> float:
    began = time.perf_counter()
    with pool.checkout():
        return (time.perf_counter() - began) * 1e3
