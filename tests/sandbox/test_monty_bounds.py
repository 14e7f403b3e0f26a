"""Limits of a monty sandbox, and its pool."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from daemon.sandbox.environment import SandboxError, SandboxLimits
from daemon.sandbox.monty import MontyPool
from tests.sandbox.test_monty import echo, run
from tests.soak import SOAK, later
from tests.source import ROOT


@pytest.mark.parametrize(
    "code", ["while True: pass", "wait()", "while True:\n    try: wait()\n    except: pass"]
)
async def test_a_cancelled_cell_is_gone_at_once_however_busy(pool: MontyPool, code: str) -> None:
    begun = asyncio.Event()

    async def begin() -> None:
        begun.set()

    async def wait() -> None:
        await asyncio.Event().wait()

    sandbox = await pool.open_monty({"begin": begin, "wait": wait})
    running = asyncio.create_task(sandbox.execute_code(f"begin()\n{code}"))
    await begun.wait()
    running.cancel()
    before = asyncio.get_running_loop().time()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.get_running_loop().time() - before < 0.3
    assert (await sandbox.execute_code("1")).lost
    assert await run(await pool.open_monty({}), "1") == 1


async def test_it_can_be_closed_in_the_midst_of_a_cell(pool: MontyPool) -> None:
    begun = asyncio.Event()

    async def begin() -> None:
        begun.set()

    sandbox = await pool.open_monty({"begin": begin})
    running = asyncio.create_task(sandbox.execute_code("begin()\nwhile True: pass"))
    await begun.wait()
    await sandbox.close()
    execution = await running
    assert execution.lost
    await sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        await sandbox.bind(x=1)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("while True: pass", "longer than 0.2 seconds"),
        later(
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            "longer than 0.2 seconds",
        ),
        later("import time\nwhile True: time.sleep(9)", "longer than 0.2 seconds"),
        ("x = 'a' * 10**9", "more than 32 MB of memory"),
        ("x = []\nwhile True: x.append('y' * 1000 + str(len(x)))", "more than 32 MB of memory"),
        ("for n in range(99):\n    try: echo(n)\n    except BaseException: pass", "more than 20 calls"),
    ],
)
async def test_over_a_bound_all_is_lost_and_the_next_sandbox_is_well(
    pool: MontyPool, code: str, why: str
) -> None:
    seconds = 0.2 if "seconds" in why else 30
    bounds = SandboxLimits(seconds=seconds, memory=32 * 2**20, calls=20)
    sandbox = await pool.open_monty({"echo": echo}, bounds)
    execution = await sandbox.execute_code(f"print('so far')\n{code}")
    assert execution.lost
    assert why in execution.error
    assert execution.stdout == "so far\n"
    assert "all variables are gone" in (await sandbox.execute_code("1")).error
    assert await run(await pool.open_monty({}, bounds), "1") == 1


async def test_calls_are_counted_for_each_cell(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo}, SandboxLimits(calls=20))
    for _ in range(3):
        assert await run(sandbox, "sum([echo(1) for n in range(20)])") == 20


async def test_more_calls_than_monty_counts_by_itself(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    assert await run(sandbox, "sum([echo(1) for n in range(1500)])") == 1500


@SOAK
async def test_waiting_for_the_host_costs_the_cell_no_time(pool: MontyPool) -> None:
    async def long() -> str:
        try:
            async with asyncio.timeout(0.5):
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        return "late"

    sandbox = await pool.open_monty({"long": long}, SandboxLimits(seconds=0.25))
    assert await run(sandbox, "import asyncio\n[long(), *(await asyncio.gather(long()))]") == ["late", "late"]


async def test_a_flood_of_output_is_cut_and_counted(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({}, SandboxLimits(output=1000))
    execution = await sandbox.execute_code("for n in range(500): print('x' * 9)")
    assert execution.stdout == ("x" * 9 + "\n") * 100 + "\n[4,000 more characters]\n"
    assert len((await sandbox.execute_code("raise ValueError('y' * 100_000)")).error) < 1100


async def test_a_context_that_is_too_big_is_said(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({}, SandboxLimits(memory=2**20))
    with pytest.raises(SandboxError, match="context cannot be brought"):
        await sandbox.bind(context="x" * 2**22)
    assert (await sandbox.execute_code("1")).lost


async def test_nested_sandboxes_do_not_starve(pool: MontyPool) -> None:
    async def deeper(depth: int) -> int:
        if depth == 0:
            return 1
        sandbox = await pool.open_monty({"deeper": deeper})
        try:
            return int(await run(sandbox, f"1 + deeper({depth - 1})"))
        finally:
            await sandbox.close()

    async with asyncio.timeout(60):
        assert await asyncio.gather(*[deeper(4) for _ in range(50)]) == [5] * 50


async def test_too_many_at_once_wait_and_then_are_told() -> None:
    async with MontyPool(most=2, patience=0.1) as pool:
        first, _ = await pool.open_monty({}), await pool.open_monty({})
        with pytest.raises(SandboxError, match="2 sandboxes are open"):
            await pool.open_monty({})
        await first.close()
        assert await run(await pool.open_monty({}), "1") == 1
    with pytest.raises(SandboxError, match="closed"):
        await pool.open_monty({})


async def test_one_that_waits_is_served_when_another_closes() -> None:
    async with MontyPool(most=1) as pool:
        first = await pool.open_monty({})
        waiting = asyncio.create_task(pool.open_monty({}))
        await first.close()
        assert await run(await waiting, "2") == 2


async def test_the_pool_takes_open_sandboxes_with_it() -> None:
    async with MontyPool() as pool:
        sandbox = await pool.open_monty({})
    assert (await sandbox.execute_code("1")).lost


PROGRAM = """
import asyncio
from daemon.sandbox.monty import MontyPool
async def echo(x): return x
async def main():
    async with MontyPool() as pool:
        sandbox = await pool.open_monty({"echo": echo})
        await sandbox.execute_code("import asyncio\\nawait asyncio.gather(*[echo(n) for n in range(20)])")
        print((await sandbox.execute_code("len([echo(n) for n in range(20)])")).value)
asyncio.run(main())
"""


def test_the_interpreter_ends_as_it_should() -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "20\n", "")
