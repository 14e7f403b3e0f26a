"""monty as the default environment: one namespace, calls of the host, bounds, and the traps of its pool."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from daemon.environment import Bounds, CallError, Sandbox, SandboxError
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.subset import BUILTINS, MODULES, SHIMMED
from tests.source import ROOT


@pytest.fixture
async def pool() -> AsyncIterator[MontyPool]:
    async with MontyPool() as pool:
        yield pool


async def echo(value: Any = None, **named: Any) -> Any:
    return named or value


async def run(sandbox: Sandbox, code: str) -> Any:
    """The value of a cell that goes well."""
    execution = await sandbox.execute_code(code)
    assert execution.error == ""
    return execution.value


async def test_cells_share_a_namespace_and_end_with_a_value(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    execution = await sandbox.execute_code("x = [1]\nprint('one')\nx + [2]")
    assert (execution.stdout, execution.value, execution.variables) == ("one\n", [1, 2], {"x": "list"})
    assert await run(sandbox, "x") == [1]
    assert await run(sandbox, "y = 3") is None


async def test_what_a_cell_did_before_it_raised_is_kept(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    execution = await sandbox.execute_code("paid = 'dear'\ndef f():\n    return 1 / 0\nf()\nnever = 1")
    assert execution.error == (
        "Traceback (most recent call last):\n"
        '  File "<cell 1>", line 4, in <module>\n    f()\n    ~~~\n'
        '  File "<cell 1>", line 3, in f\n    return 1 / 0\n           ~~~~~\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert not execution.lost
    assert execution.variables == {"paid": "str", "f": "function"}
    assert await run(sandbox, "paid") == "dear"
    assert "line 2\n" in (await sandbox.execute_code("a = 1\na = = 1")).error


async def test_stderr_is_told_apart(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    execution = await sandbox.execute_code("import sys\nprint('bad', file=sys.stderr)\nprint('good')")
    assert (execution.stdout, execution.stderr) == ("good\n", "bad\n")


PLAIN = [
    None,
    True,
    10**30,
    1.5,
    float("inf"),
    "ünï 😀",
    [1, [2]],
    {"a": 1, 2: (3,), (4, 5): "b"},
    (1, "a"),
    {1, 2},
    b"\xff\0",
    date(2026, 11, 23),
    datetime(2026, 11, 23, 1, 2, 3, 4),  # noqa: DTZ001
    datetime(2026, 11, 23, tzinfo=UTC),
    datetime(2026, 11, 23, tzinfo=timezone(timedelta(hours=2))),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
async def test_plain_values_go_in_and_out_as_they_are(pool: MontyPool, value: object) -> None:
    heard: list[object] = []

    async def hear(value: object) -> object:
        heard.append(value)
        return value

    sandbox = await pool.open_monty({"hear": hear})
    await sandbox.bind(bound=value)
    result = await run(sandbox, "(bound, hear(bound))")
    assert result == (value, value)
    assert heard == [value]
    assert {type(one) for one in (*result, *heard)} == {type(value)}


async def test_what_is_not_plain_is_refused_on_the_way_in_and_a_repr_on_the_way_out(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    with pytest.raises(
        SandboxError, match="thing cannot be brought into the sandbox: a value of type object"
    ):
        await sandbox.bind(thing=object())
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(SandboxError, match="endless cannot be brought"):
        await sandbox.bind(endless=endless)
    await run(sandbox, "class A:\n    def __init__(self): self.x = 1\n    def __repr__(self): return 'an A'")
    assert await run(sandbox, "a = A()\n[a, 1]") == ["an A", 1]
    assert await run(sandbox, "A()") == "A(x=1)"
    assert str(await run(sandbox, "lambda: 1")).startswith("<function")
    assert "echo() takes plain values only" in (await sandbox.execute_code("echo(a)")).error


async def test_half_characters_do_not_break_a_sandbox(pool: MontyPool) -> None:
    async def broken() -> str:
        return "half \ud83d"

    sandbox = await pool.open_monty({"broken": broken})
    await sandbox.bind(text="a\udc80b")
    assert await run(sandbox, "(text, broken())") == ("a\ufffdb", "half \ufffd")


async def test_what_is_bound_is_no_variable_until_a_cell_assigns_it(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    await sandbox.bind(context="long", answer={})
    execution = await sandbox.execute_code("import re\nn = len(context)\necho(1)\nanswer['a'] = n")
    assert execution.variables == {"n": "int"}
    assert (await sandbox.execute_code("context = None")).variables == {"context": "NoneType", "n": "int"}
    assert (await sandbox.execute_code("type = 3")).variables.keys() >= {"context", "n", "type"}


async def test_functions_of_the_host_are_called_as_plain_ones(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    assert await run(sandbox, "echo(a=1, b='x')") == {"a": 1, "b": "x"}
    assert await run(sandbox, "ask = echo\ndef twice(x): return [ask(x), echo(x)]\ntwice(2)") == [2, 2]
    assert await run(sandbox, "[echo(n) for n in range(3)]") == [0, 1, 2]


AWAITING = {
    "await echo(1)": 1,
    "import asyncio\nawait asyncio.gather(*[echo(n) for n in range(3)])": [0, 1, 2],
    "tasks = [echo(n) for n in range(2)]\nimport asyncio\nawait asyncio.gather(*tasks)": [0, 1],
    "import asyncio\nt = []\nfor n in range(2):\n    t.append(echo(n))\nawait asyncio.gather(*t)": [0, 1],
    "async def f(n): return await echo(n)\nimport asyncio\nasyncio.run(f(4))": 4,
    "plain = echo(1)\nawaited = await echo(2)\nplain + awaited": 3,
    "é = 'é'; x = await echo(é)\nx": "é",
}


@pytest.mark.parametrize("code", AWAITING)
async def test_they_can_be_awaited_too(pool: MontyPool, code: str) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    assert await run(sandbox, code) == AWAITING[code]


async def test_gathered_calls_are_on_their_way_together(pool: MontyPool) -> None:
    meeting = asyncio.Barrier(5)

    async def meet(n: int) -> int:
        await meeting.wait()
        return n

    sandbox = await pool.open_monty({"meet": meet})
    code = "import asyncio\nawait asyncio.gather(*(meet(n) for n in range(5)))"
    async with asyncio.timeout(20):
        assert await run(sandbox, code) == [0, 1, 2, 3, 4]


async def refuse() -> None:
    raise CallError("the budget is spent")


async def test_what_came_to_nothing_can_be_caught(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"refuse": refuse})
    assert await run(sandbox, "try:\n    refuse()\nexcept RuntimeError as e:\n    r = str(e)\nr") == (
        "the budget is spent"
    )
    execution = await sandbox.execute_code("kept = 1\nrefuse()")
    assert execution.error.endswith("RuntimeError: the budget is spent\n")
    assert await run(sandbox, "kept") == 1


class Away(BaseException):
    """Control flow of somebody else's."""


@pytest.mark.parametrize("raised", [Away(), ValueError("a bug"), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("code", ["fail()", "import asyncio\nawait asyncio.gather(fail(), fail())"])
async def test_all_else_that_a_function_raises_closes_the_sandbox(
    pool: MontyPool, raised: BaseException, code: str
) -> None:
    async def fail() -> None:
        raise raised

    sandbox = await pool.open_monty({"fail": fail})
    with pytest.raises(type(raised)) as caught:
        await sandbox.execute_code(
            f"try:\n    {code.replace(chr(10), '; ')}\nexcept BaseException:\n    pass"
        )
    assert caught.value is raised or isinstance(raised, asyncio.CancelledError)
    assert (await sandbox.execute_code("1")).lost


async def test_an_answer_that_is_not_plain_is_the_hosts_fault(pool: MontyPool) -> None:
    async def strange() -> object:
        return object()

    sandbox = await pool.open_monty({"strange": strange})
    with pytest.raises(SandboxError, match="The answer of strange cannot be brought"):
        await sandbox.execute_code("strange()")


async def test_calls_that_nobody_waits_for_end_with_the_cell(pool: MontyPool) -> None:
    ended = asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    sandbox = await pool.open_monty({"forever": forever, "echo": echo})
    await run(sandbox, "import asyncio\nt = [forever()]\nawait asyncio.gather(echo(1))\nNone")
    assert ended.is_set()


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
        (
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            "longer than 0.2 seconds",
        ),
        ("import time\nwhile True: time.sleep(9)", "longer than 0.2 seconds"),
        ("x = 'a' * 10**9", "more than 32 MB of memory"),
        ("x = []\nwhile True: x.append('y' * 1000 + str(len(x)))", "more than 32 MB of memory"),
        ("for n in range(99):\n    try: echo(n)\n    except BaseException: pass", "more than 20 calls"),
    ],
)
async def test_over_a_bound_all_is_lost_and_the_next_sandbox_is_well(
    pool: MontyPool, code: str, why: str
) -> None:
    seconds = 0.2 if "seconds" in why else 30
    bounds = Bounds(seconds=seconds, memory=32 * 2**20, calls=20)
    sandbox = await pool.open_monty({"echo": echo}, bounds)
    execution = await sandbox.execute_code(f"print('so far')\n{code}")
    assert execution.lost
    assert why in execution.error
    assert execution.stdout == "so far\n"
    assert "all variables are gone" in (await sandbox.execute_code("1")).error
    assert await run(await pool.open_monty({}, bounds), "1") == 1


async def test_calls_are_counted_for_each_cell(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo}, Bounds(calls=20))
    for _ in range(3):
        assert await run(sandbox, "sum([echo(1) for n in range(20)])") == 20


async def test_more_calls_than_monty_counts_by_itself(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"echo": echo})
    assert await run(sandbox, "sum([echo(1) for n in range(1500)])") == 1500


async def test_waiting_for_the_host_costs_the_cell_no_time(pool: MontyPool) -> None:
    async def long() -> str:
        try:
            async with asyncio.timeout(0.5):
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        return "late"

    sandbox = await pool.open_monty({"long": long}, Bounds(seconds=0.25))
    assert await run(sandbox, "import asyncio\n[long(), *(await asyncio.gather(long()))]") == ["late", "late"]


async def test_a_flood_of_output_is_cut_and_counted(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({}, Bounds(output=1000))
    execution = await sandbox.execute_code("for n in range(500): print('x' * 9)")
    assert execution.stdout == ("x" * 9 + "\n") * 100 + "\n[4,000 more characters]\n"
    assert len((await sandbox.execute_code("raise ValueError('y' * 100_000)")).error) < 1100


async def test_a_context_that_is_too_big_is_said(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({}, Bounds(memory=2**20))
    with pytest.raises(SandboxError, match="context cannot be brought"):
        await sandbox.bind(context="x" * 2**22)
    assert (await sandbox.execute_code("1")).lost


async def test_an_empty_cell_does_nothing_and_binding_needs_none(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    await sandbox.bind(context="there")
    assert await run(sandbox, "") is None
    assert await run(sandbox, "context") == "there"


async def test_random_numbers_are_the_same_each_time(pool: MontyPool) -> None:
    code = "import random\n[random.random() for _ in range(2)]"
    one, other = await pool.open_monty({}), await pool.open_monty({})
    assert await run(one, code) == await run(other, code)
    assert await run(one, "random.random()") == await run(other, "random.random()")
    random.seed(code)  # and the same as in CPython
    assert await run(one, code) == [random.random() for _ in range(2)]


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
    for _ in range(4):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "20\n", "")


async def test_the_modules_that_monty_lacks_are_brought(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    code = "import statistics as s, json; from textwrap import (\n  dedent,\n  fill)\nimport string"
    execution = await sandbox.execute_code(
        f"{code}\n(s.mean([1, 2]), dedent('  a'), fill('a b', 1), string.digits)"
    )
    assert execution.value == (1.5, "a", "a\nb", "0123456789")
    assert execution.variables == {"dedent": "function", "fill": "function"}
    assert 'File "statistics.py"' in (await sandbox.execute_code("s.mean([])")).error


TRY = """
try:
    {0}
except Exception:
    failed.append({0!r})
"""


async def test_the_table_of_what_monty_has_is_true(pool: MontyPool) -> None:
    tables = {**MODULES, **SHIMMED}
    there = [f"from {module} import {name}" for module in tables for name in tables[module].split()]
    missing = BUILTINS.split()
    for statements, failed in ((there, []), (missing, missing)):
        sandbox = await pool.open_monty({}, Bounds(seconds=60))
        await run(sandbox, "failed = []" + "".join(map(TRY.format, statements)))
        assert await run(sandbox, "failed") == failed
