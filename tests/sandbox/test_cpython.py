"""Cells in our child: namespace, modules, calls, ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from daemon.sandbox.environment import CellResult, Function, HostCallError, SandboxError, SandboxLimits
from daemon.sandbox.host import LONGEST
from daemon.sandbox.session import ROOT, open_cpython
from tests.attention import PATIENCE
from tests.sandbox.opened import FIND_WIRE, children, opened
from tests.soak import SOAK, later


async def run(*cells: str, functions: Mapping[str, Function] | None = None) -> CellResult:
    async with opened(functions) as sandbox:
        for cell in cells:
            execution = await sandbox.execute_code(cell)
        return execution


async def test_cells_share_one_namespace_also_after_one_that_raised() -> None:
    cells = ("x = 1\ndef f(): return x", "y = 2\nx = 5\nraise ValueError('no')", "print(f(), y)\nx, y")
    done = await run(*cells)
    assert done == CellResult(
        stdout="5 2\n", value=(5, 2), variables={"x": "int", "f": "function", "y": "int"}
    )


async def test_a_traceback_shows_the_lines_of_the_cells_alone() -> None:
    done = await run("def half(n):\n    return 1 / n", "half(2)\nhalf(\n    0)")
    assert done.error.splitlines()[:3] == [
        "Traceback (most recent call last):",
        '  File "<cell 2>", line 2, in <module>',
        "    half(",
    ]
    assert '  File "<cell 1>", line 2, in half\n    return 1 / n' in done.error
    assert done.error.endswith("ZeroDivisionError: division by zero\n")
    assert done.error.count("File") == 2


@pytest.mark.parametrize(
    ("cell", "end"),
    [
        ("x = = 1", "SyntaxError: invalid syntax\n"),
        ("import json\njson.loads('{')", "line 1 column 2 (char 1)\n"),
        later("raise SystemExit(3)", "SystemExit: 3\n"),
        later("raise KeyboardInterrupt", "KeyboardInterrupt\n"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded\n"),
        later("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "E: <exception str() failed>\n"),
        later("input()", "EOFError: EOF when reading a line\n"),
        later("import numpy", "ModuleNotFoundError: No module named 'numpy'\n"),
    ],
)
async def test_whatever_is_raised_is_the_end_of_the_cell_alone(cell: str, end: str) -> None:
    async with opened() as sandbox:
        failed = await sandbox.execute_code(cell)
        assert failed.error.endswith(end)
        assert str(ROOT) not in failed.error
        assert sys.prefix not in failed.error
        assert (await sandbox.execute_code("1 + 1")).value == 2


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("x = 1", None),
        later("", None),
        later("# nothing", None),
        later("print(1)", None),
        ("[1, (2, {3})]", [1, (2, {3})]),
        later("object", "<class 'object'>"),
        ("held = []\nheld.append(held)\nheld", "[[...]]"),
        later("class C:\n    def __repr__(self): 1 / 0\nC()", "<C>"),
        later("await sleep(0)\n7", 7),
        ("async def f(n):\n    await sleep(0)\n    return n\nawait gather(f(1), f(2))", [1, 2]),
        later("import asyncio\nasyncio.run(asyncio.sleep(0.001, 'late'))", "late"),
        later("import asyncio\nawait asyncio.to_thread(len, 'abc')", 3),
        later("def f():\n    yield 1\n    yield 2\nlist(f())", [1, 2]),
        later("import csv, io\nlist(csv.reader(io.StringIO('a,b\\n1,2')))", [["a", "b"], ["1", "2"]]),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\nP(1)", "P(x=1)"),
        later("import statistics as s\ns.median([3, 1, 2])", 2),
        later("from enum import Enum\nclass C(Enum):\n    A = 1\nC.A.name", "A"),
        later("from datetime import *\ndatetime.strptime('2 Jan 2026', '%d %b %Y').date()", date(2026, 1, 2)),
        later(
            "from threading import *\nt = Thread(target=held.append, args=(1,))\nt.start()\nt.join()\nheld",
            [1],
        ),
        ("with ThreadPoolExecutor() as pool: answers = [*pool.map(abs, [-1, -2])]\nanswers", [1, 2]),
        later("import inspect\ndef f(): return 1\ninspect.getsource(f)", "def f(): return 1\n"),
        later("'ß'.encode('cp1252'), 'é'.encode('latin-1')", (b"\xdf", b"\xe9")),
    ],
)
async def test_a_cell_has_the_value_of_its_last_expression(cell: str, value: Any) -> None:
    before = """
held = []
from asyncio import gather, sleep
from concurrent.futures import ThreadPoolExecutor"""
    done = await run(before, cell)
    assert (done.error, done.value) == ("", value)


async def test_what_is_printed_is_bounded_and_the_rest_counted() -> None:
    async with opened(bounds=SandboxLimits(output=10)) as sandbox:
        done = await sandbox.execute_code("import sys\nprint('x' * 30)\nprint('y', file=sys.stderr)")
        assert done.stdout == "xxxxxxxxxx\n[21 more characters]\n"
        assert done.stderr == "y\n"
        done = await sandbox.execute_code("class V:\n    def __repr__(self): return 'v' * 12\nV()")
        assert done.value == "vvvvvvvvvv\n[2 more characters]\n"


@SOAK
async def test_what_is_too_large_to_leave_is_said_and_the_variables_stay() -> None:
    done = await run("x = 5\n[1] * 2_000_000", "x")
    assert (done.value, done.error) == (5, "")
    done = await run("['x' * 30_000_000]")
    assert "cannot be sent" in done.error
    assert not done.lost


async def test_a_cell_that_runs_again_does_the_same() -> None:
    cell = "import random\nrandom.random(), random.sample(range(99), 3), str({'a', 'b', 'c', 'd'}), hash('a')"
    first, second = await run(cell), await run("import random\nrandom.random()", cell)
    assert first.value == second.value
    assert first.error == ""


async def test_variables_are_what_cells_assigned_and_not_what_was_given() -> None:
    async with opened({"ask": echo}) as sandbox:
        await sandbox.bind(context="text", answer={"ready": False})
        done = await sandbox.execute_code("import re\nx = re.findall('t', context)\nanswer['ready'] = True")
        assert done.variables == {"x": "list"}
        done = await sandbox.execute_code("context = 5\ndel x\nclass K: pass\nanswer")
        assert done.variables == {"context": "int", "K": "type"}
        assert done.value == {"ready": True}


async def test_what_is_no_plain_value_cannot_be_brought_in() -> None:
    async with opened() as sandbox:
        with pytest.raises(
            SandboxError, match=r"^context cannot be brought into the sandbox: a value of type object"
        ):
            await sandbox.bind(context=[object()])
        assert (await sandbox.execute_code("1")).value == 1


async def echo(value: Any, again: int = 1) -> Any:
    if value == "fail":
        raise HostCallError("there is no such thing")
    return [value] * again


async def test_a_function_gets_and_gives_plain_values_and_its_error_can_be_caught() -> None:
    async with opened({"echo": echo}) as sandbox:
        done = await sandbox.execute_code("echo({1: (2, {3})}, again=2)")
        assert done.value == [{1: (2, {3})}] * 2
        done = await sandbox.execute_code("x = 1\ntry: echo('fail')\nexcept RuntimeError as e: print(e)\nx")
        assert (done.stdout, done.value) == ("there is no such thing\n", 1)
        done = await sandbox.execute_code("echo()")
        assert done.error.endswith("TypeError: missing a required argument: 'value'\n")
        assert (await sandbox.execute_code("echo(object)")).value == ["<class 'object'>"]
        done = await sandbox.execute_code("echo('x' * 20_000_000)")
        assert "ValueError: echo: 20,000," in done.error


async def test_threads_of_a_cell_ask_at_once_and_each_gets_its_own_answer() -> None:
    waiting = asyncio.Event()
    asked: set[int] = set()

    async def meet(number: int) -> int:
        asked.add(number)
        if len(asked) == 8:
            waiting.set()
        await asyncio.wait_for(waiting.wait(), PATIENCE)
        return -number

    cell = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: answers = list(pool.map(meet, range(8)))
answers"""
    assert (await run(cell, functions={"meet": meet})).value == [-number for number in range(8)]


async def test_calls_that_hold_much_wait_for_each_other() -> None:
    came: list[str] = []
    second, go = asyncio.Event(), asyncio.Event()

    async def ask(text: str) -> int:
        came.append(text)
        if len(came) == 2:
            second.set()
        await go.wait()
        return len(text)

    asking = """
from concurrent.futures import ThreadPoolExecutor
[*ThreadPoolExecutor(2).map(ask, ['x' * 5_000_000] * 2)]"""
    async with opened({"ask": ask}, SandboxLimits(memory=64 * 2**20)) as sandbox:
        running = asyncio.create_task(sandbox.execute_code(asking))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(second.wait(), 0.2)
        go.set()
        assert (await running).value == [5_000_000] * 2


async def test_a_thread_that_is_left_behind_asks_nothing_and_works_no_more() -> None:
    asked = []

    async def ask(number: int) -> None:
        asked.append(number)

    cell = """
import threading, time
count, refused, gate = 0, '', threading.Event()
def spin():
    global count, refused
    gate.wait()
    try: ask(2)
    except RuntimeError as error: refused = str(error)
    while True: count += 1
ask(1)
threading.Thread(target=spin, daemon=True).start()
threading.Timer(0, gate.set).start()"""
    async with opened({"ask": ask}) as sandbox:
        await sandbox.execute_code(cell)
        [pid] = children()
        stopped = await asyncio.to_thread(os.waitid, os.P_PID, int(pid), os.WSTOPPED | os.WNOWAIT)
        assert stopped is not None
        assert stopped.si_status == signal.SIGSTOP
        assert not (await sandbox.execute_code("1")).lost
    assert asked in ([1], [1, 2])


async def test_what_a_function_raises_that_is_not_for_the_code_ends_the_cell() -> None:
    class Interrupted(Exception):
        pass

    async def ask() -> None:
        raise Interrupted("stop")

    async with opened({"ask": ask}) as sandbox:
        with pytest.raises(Interrupted, match="stop"):
            await sandbox.execute_code("try: ask()\nexcept BaseException: pass\nwhile True: pass")
        assert children() == []
        assert (await sandbox.execute_code("1")).lost


async def test_time_that_the_host_takes_is_not_the_cells() -> None:
    seconds = 0.5

    async def slow() -> str:
        await asyncio.sleep(seconds * 2)
        return "done"

    async with opened({"slow": slow}, SandboxLimits(seconds=seconds)) as sandbox:
        assert (await sandbox.execute_code("slow()")).value == "done"


async def test_a_cell_that_is_over_a_bound_is_lost_and_says_why() -> None:
    async with opened(bounds=SandboxLimits(seconds=0.2)) as sandbox:
        done = await sandbox.execute_code("while True: pass")
        assert done.lost
        assert done.error.startswith("The cell worked longer than 0.2 seconds")
        assert children() == []
        again = await sandbox.execute_code("1")
        assert (again.lost, again.error) == (True, done.error)
        with pytest.raises(SandboxError, match="worked longer"):
            await sandbox.bind(x=1)


async def test_memory_is_bounded_also_over_several_cells() -> None:
    async with opened(bounds=SandboxLimits(seconds=60, memory=64 * 2**20)) as sandbox:
        await sandbox.execute_code("held = []")
        done = await sandbox.execute_code("for _ in range(100): held.append(bytes(2**20))")
        assert "MemoryError" in done.error
        done = await sandbox.execute_code("count = len(held)\ndel held\ncount")
        assert done.value in range(20, 65)


async def test_threads_leave_the_memory_to_the_code() -> None:
    cell = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: parts = [*pool.map(bytes, [100_000] * 100)]
len(bytearray(150 * 2**20))"""
    async with opened(bounds=SandboxLimits(seconds=60, memory=256 * 2**20)) as sandbox:
        assert (await sandbox.execute_code(cell)).value == 150 * 2**20


async def test_a_cancelled_cell_takes_its_child_and_its_calls_along() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def ask() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with opened({"ask": ask}) as sandbox:
        running = asyncio.create_task(sandbox.execute_code("ask()"))
        await asyncio.wait_for(asked.wait(), PATIENCE)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended.is_set()
        assert children() == []


async def test_close_ends_a_cell_in_its_midst() -> None:
    asked = asyncio.Event()

    async def ask() -> None:
        asked.set()

    async with opened({"ask": ask}) as sandbox:
        running = asyncio.create_task(sandbox.execute_code("ask()\nwhile True: pass"))
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await sandbox.close()
        done = await running
        assert (done.lost, done.error) == (True, "The sandbox is closed.")


async def test_sandboxes_run_beside_each_other_and_share_nothing() -> None:
    async with opened() as one:
        other = await open_cpython({})
        await asyncio.gather(one.execute_code("x = 1"), other.execute_code("x = 2"))
        assert (await one.execute_code("x")).value == 1
        assert (await other.execute_code("x")).value == 2
        await other.close()


async def test_a_forged_result_is_a_lie_of_the_cell_about_itself_and_no_more() -> None:
    lie = "wire.send({'done': 1, 'stdout': 'lie', 'stderr': '', 'error': '', 'variables': {}})"
    async with opened() as sandbox:
        assert (await sandbox.execute_code(FIND_WIRE + lie)).stdout == "lie"
        assert (await sandbox.execute_code("1")).lost


async def test_a_forged_result_tells_of_as_many_variables_as_a_cell_may_at_the_most() -> None:
    lie = """
names = {MANY}
wire.send({'done': 1, 'stdout': '', 'stderr': '', 'error': '', 'variables': names})"""
    forged = FIND_WIRE + lie
    async with opened() as sandbox:
        many = await sandbox.execute_code(forged.replace("MANY", "f'v{n}': 'int' for n in range(2_000)"))
    assert (many.lost, many.variables) == (True, {})
    async with opened() as sandbox:
        long = await sandbox.execute_code(forged.replace("MANY", "'v' * 10_000: 'i' * 10_000"))
    assert long.variables == {"v" * LONGEST: "i" * LONGEST}
