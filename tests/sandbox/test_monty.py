"""monty as the default environment."""

from __future__ import annotations

import asyncio
import contextvars
import random
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from daemon.sandbox.environment import HostCallError, Sandbox, SandboxError, SandboxLimits
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.monty_gaps import BUILTINS, MODULES
from daemon.sandbox.monty_run import SHIMMED


async def echo(value: Any = None, **named: Any) -> Any:
    return named or value


async def run(sandbox: Sandbox, code: str) -> Any:
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


NODE = contextvars.ContextVar("node", default="nobody")


async def test_calls_that_hold_much_wait_for_each_other(pool: MontyPool) -> None:
    came: list[str] = []
    second, go = asyncio.Event(), asyncio.Event()

    async def ask(text: str) -> int:
        came.append(text)
        if len(came) == 2:
            second.set()
        await go.wait()
        return len(text)

    sandbox = await pool.open_monty({"ask": ask}, SandboxLimits(memory=64 * 2**20))
    asking = "import asyncio\nawait asyncio.gather(*[ask('x' * 5_000_000) for n in range(2)])"
    running = asyncio.create_task(run(sandbox, asking))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(second.wait(), 0.2)
    go.set()
    assert await running == [5_000_000] * 2


async def test_functions_run_in_the_context_of_whoever_runs_the_cell(pool: MontyPool) -> None:
    async def who() -> str:
        return NODE.get()

    sandbox = await pool.open_monty({"who": who})
    NODE.set("the reader")
    assert await run(sandbox, "who()") == "the reader"


async def refuse() -> None:
    raise HostCallError("the budget is spent")


async def test_what_came_to_nothing_can_be_caught(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({"refuse": refuse})
    assert await run(sandbox, "try:\n    refuse()\nexcept RuntimeError as e:\n    r = str(e)\nr") == (
        "the budget is spent"
    )
    execution = await sandbox.execute_code("kept = 1\nrefuse()")
    assert execution.error.endswith("RuntimeError: the budget is spent\n")
    assert await run(sandbox, "kept") == 1


class Away(BaseException): ...


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


async def test_it_is_closed_even_while_its_code_is_busy(pool: MontyPool) -> None:
    async def fail() -> None:
        raise Away

    sandbox = await pool.open_monty({"fail": fail})
    with pytest.raises(Away):
        async with asyncio.timeout(20):
            await sandbox.execute_code(
                "import asyncio\nt = [fail()]\nwhile True: pass\nawait asyncio.gather(*t)"
            )


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
    random.seed(code)  # as in CPython
    assert await run(one, code) == [random.random() for _ in range(2)]


async def test_the_modules_that_monty_lacks_are_brought(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    code = "import statistics as s, json; from textwrap import (\n  dedent,\n  fill)\nimport string"
    execution = await sandbox.execute_code(
        f"{code}\n(s.mean([1, 2]), dedent('  a'), fill('a b', 1), string.digits)"
    )
    assert execution.value == (1.5, "a", "a\nb", "0123456789")
    assert execution.variables == {"dedent": "function", "fill": "function"}
    assert 'File "statistics.py"' in (await sandbox.execute_code("s.mean([])")).error


async def test_more_may_follow_a_long_import_on_its_line_and_lines_keep_their_numbers(
    pool: MontyPool,
) -> None:
    sandbox = await pool.open_monty({})
    code = "from string import (\n  digits,\n); x = 1\nimport json, \\\n  string; y = 2\n1 / 0"
    assert "line 6, in <module>\n    1 / 0" in (await sandbox.execute_code(code)).error
    assert await run(sandbox, "(x, y, string.digits == digits)") == (1, 2, True)


async def test_a_value_that_is_nested_too_deeply_to_leave_takes_no_variable_along(pool: MontyPool) -> None:
    sandbox = await pool.open_monty({})
    nested = await sandbox.execute_code("x = 1\nfor _ in range(3_000):\n    x = [x]\nx")
    assert (nested.lost, nested.error) == (
        False,
        "The cell's value is nested too deeply to leave the sandbox.\n",
    )
    assert await run(sandbox, "len(x)") == 1


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
        sandbox = await pool.open_monty({}, SandboxLimits(seconds=60))
        await run(sandbox, "failed = []" + "".join(map(TRY.format, statements)))
        assert await run(sandbox, "failed") == failed
