"""Moves of a session from monty to CPython, and notices of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from daemon.sandbox.environment import CellResult, Function, Sandbox, SandboxError, SandboxLimits
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.monty_gaps import needs_cpython
from daemon.sandbox.session import find_definitions, open_session
from tests.sandbox.plain import Plain, open_plain

MOVE = "class Own(ValueError):\n    pass\n"


class Asked:
    """Host function that counts calls."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return prompt.upper()


async def opened(pool: MontyPool, *cells: str, **functions: Function) -> Sandbox:
    """Open a session and run these cells successfully."""
    session = await open_session("auto", functions, monty=pool.open_monty, cpython=open_plain)
    for cell in cells:
        execution = await session.execute_code(cell)
        assert execution.error == ""
    return session


async def well(session: Sandbox, cell: str) -> CellResult:
    execution = await session.execute_code(cell)
    assert (execution.error, execution.stderr) == ("", "")
    return execution


NEEDS = {
    "def f():\n    yield 1": "yield",
    "def f():\n    yield from [1]": "yield from",
    "class A(B): pass": "class inheritance",
    "class E(Exception): pass": "class inheritance",
    "x = 1\ndel x": "del",
    "del d['a']": "del",
    "async with a: pass": "async with",
    "[x async for x in y]": "async for",
    "try:\n    pass\nexcept* ValueError:\n    pass": "except*",
    "import io": "the module io",
    "from concurrent.futures import ThreadPoolExecutor": "the module concurrent.futures",
    "from collections.abc import Iterable": "the module collections.abc",
    "from collections import OrderedDict": "collections.OrderedDict",
    "import re\nre.compile('a', re.X)": "re.X",
    "from math import *": "import *",
    "import string\nstring.Template('')": "string.Template",
    "class A:\n    @property\n    def x(self): return 1": "the decorator property on a method",
    "class A:\n    def __len__(self): return 1": "__len__",
    "class A:\n    for i in range(3): pass": "this kind of statement in a class",
    "sorted(a, key=str.lower)": "str.lower",
    "datetime.fromtimestamp(1)": "datetime.fromtimestamp",
    "(5).bit_length()": "5.bit_length",
    "'a'.translate(t)": "'a'.translate",
    "f.__name__": "f.__name__",
    "globals()": "globals",
    "json.dumps(a, default=str)": "dumps(default=…)",
    "@dataclass(order=True)\nclass A: x: int": "dataclass(order=…)",
    "re.sub('a', lambda m: 'b', 'c')": "re.sub with a function",
    "raise ValueError('a', 1)": "ValueError with several arguments",
    "'a'.encode('latin-1')": "the encoding 'latin-1'",
    "list(map(llm_query, prompts))": "map with a function that calls the host",
    "def ask(p): return llm_query(p)\nmin(x, key=ask)": "min with a function that calls the host",
}


@pytest.mark.parametrize("cell", NEEDS)
def test_what_a_cell_needs_is_seen_before_it_runs(cell: str) -> None:
    assert needs_cpython(cell, ["llm_query"]) == NEEDS[cell]


@pytest.mark.parametrize(
    "cell",
    [
        "x = [i for i in range(3)]",
        "(x for x in y)",
        "class A:\n    '''It.'''\n    n: int = 1\n    def __init__(self): self.x = 1",
        "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass A: x: int",
        "def compile(x): return x\ncompile(1)",
        "type(x).__name__",
        "import os.path, statistics as s\ns.mean([1])",
        "from __future__ import annotations",
        "import datetime\ndatetime.datetime.now(), datetime.date.today()",
        "map(lambda x: x, y)",
        "not python (",
        "await asyncio.gather(*[llm_query(p) for p in ps])",
    ],
)
def test_what_monty_can_do_needs_nothing(cell: str) -> None:
    assert needs_cpython(cell, ["llm_query"]) == ""


def test_names_of_earlier_cells_are_no_builtins() -> None:
    assert needs_cpython("vars(1)") == "vars"
    assert needs_cpython("vars(1)", (), ["vars"]) == ""


async def test_it_stays_in_monty_while_it_can(pool: MontyPool) -> None:
    async def never(_: Mapping[str, Function], __: SandboxLimits) -> Sandbox:
        raise AssertionError

    session = await open_session("auto", {}, monty=pool.open_monty, cpython=never)
    assert (await well(session, "x = 1\nx")).value == 1


async def test_values_come_along_with_their_types(pool: MontyPool) -> None:
    cell = """
from collections import Counter, defaultdict, deque
from datetime import date, timedelta
from decimal import Decimal
import re
a, b, c, d, e = (1, "x"), {1, 2}, b"z", date(2026, 11, 23), {"k": [None, True, 1.5]}
f, g, h, i = Counter("aab"), defaultdict(list, {"q": [1]}), deque([1, 2]), frozenset([3])
j, k, l = timedelta(1, 2), Decimal("1.10"), re.compile("x+", re.I)
"""
    session = await opened(pool, cell)
    execution = await well(session, f"{MOVE}g['new'].append(1)\n(a, b, c, d, e, f, dict(g), h, i, j, k, l)")
    assert [repr(one) for one in execution.value] == [
        "(1, 'x')",
        "{1, 2}",
        "b'z'",
        "datetime.date(2026, 11, 23)",
        "{'k': [None, True, 1.5]}",
        "Counter({'a': 2, 'b': 1})",
        "{'q': [1], 'new': [1]}",
        "deque([1, 2])",
        "frozenset({3})",
        "datetime.timedelta(days=1, seconds=2)",
        "Decimal('1.10')",
        "re.compile('x+', re.IGNORECASE)",
    ]
    assert execution.variables["g"] == "defaultdict"
    assert set("abcdefghijkl") | {"Own"} <= execution.variables.keys()


async def test_definitions_and_imports_come_along_and_nothing_is_asked_again(pool: MontyPool) -> None:
    ask = Asked()
    session = await opened(
        pool,
        "import json as j, textwrap\nfrom math import sqrt",
        "paid = ask('once')\nprint('said once')",
        "n = 2\ndef root(x=n): return sqrt(x) * n\nsquare = lambda x: x * x",
        "class Point:\n    def __init__(self, x): self.x = x\ndef paying(x=ask('twice')): return x",
        ask=ask,
    )
    code = "(j.dumps(paid), textwrap.dedent(' a'), root(16), square(3), Point(4).x, ask('new'))"
    execution = await session.execute_code(f"{MOVE}{code}")
    assert execution.value == ('"ONCE"', "a", 8.0, 9, 4, "NEW")
    assert execution.stdout == ""
    assert ask.prompts == ["once", "twice", "new"]
    assert execution.stderr == (
        "The session moved to CPython for class inheritance, and could not carry over: paying (function).\n"
    )
    assert "Error" in (await session.execute_code("paying()")).error


async def test_what_cannot_come_along_is_told_by_name(pool: MontyPool) -> None:
    session = await opened(
        pool,
        "class A:\n    def __init__(self): self.x = 1\na = A()\nmany = [A()]\nfine = 1",
        "def outer():\n    def inner(): return 1\n    return inner\nclosure = outer()\nr = range(3)",
    )
    execution = await session.execute_code(f"{MOVE}fine")
    assert execution.stderr == (
        "The session moved to CPython for class inheritance, and could not carry over: "
        "a (A), many (list), closure (function), r (range).\n"
    )
    assert execution.value == 1
    assert (await well(session, "fine")).value == 1


async def test_a_name_means_what_it_meant_last(pool: MontyPool) -> None:
    session = await opened(
        pool, "def f(): return 1\ndef g(): return 1", "f = 5", "def g(): return 2\nh = 1", "h = g"
    )
    execution = await session.execute_code(f"{MOVE}(f, g())")
    assert execution.value == (5, 2)
    assert execution.stderr.endswith(": h (function).\n")


async def test_what_was_bound_comes_as_the_cells_have_left_it(pool: MontyPool) -> None:
    session = await opened(pool)
    await session.bind(context="long " * 100_000, answer={"ready": False}, documents=[{"a": 1}])
    await well(session, "answer['ready'] = True\nn = len(context)\ndocuments = 3")
    execution = await well(session, f"{MOVE}(len(context), n, answer, documents)")
    assert execution.value == (500_000, 500_000, {"ready": True}, 3)
    assert execution.variables == {"n": "int", "documents": "int", "Own": "type"}
    await session.bind(late=1)
    assert (await well(session, "late")).value == 1


async def test_it_stays_there(pool: MontyPool) -> None:
    session = await opened(pool, "x = 1", f"{MOVE}y = Own")
    assert (await well(session, "y.__name__")).value == "Own"
    assert (await well(session, "x")).value == 1


async def test_functions_of_earlier_cells_reach_the_host_too(pool: MontyPool) -> None:
    ask = Asked()
    session = await opened(
        pool, "def shout(p): return ask(p)", "def louder(p): return shout(p) + '!'", ask=ask
    )
    assert (await well(session, "list(map(louder, ['a', 'b']))")).value == ["A!", "B!"]


@pytest.mark.parametrize("kind", ["monty", "auto"])
async def test_without_cpython_the_cell_is_told_what_is_missing(pool: MontyPool, kind: Any) -> None:
    ask = Asked()
    session = await open_session(kind, {"ask": ask}, monty=pool.open_monty, cpython=None)
    await well(session, "x = 1")
    execution = await session.execute_code(f"ask('never')\n{MOVE}")
    assert execution.error.startswith(
        "This cell needs class inheritance, which this sandbox cannot do: nothing of it was run. "
        "It is Python without yield, class inheritance"
    )
    assert not execution.lost
    assert execution.variables == {"x": "int"}
    assert ask.prompts == []
    assert (await well(session, "x")).value == 1


async def test_a_cpython_that_cannot_be_opened_leaves_the_session_in_monty(pool: MontyPool) -> None:
    async def refuse(_: Mapping[str, Function], __: SandboxLimits) -> Sandbox:
        raise SandboxError("The kernel has no seccomp.")

    session = await open_session("auto", {}, monty=pool.open_monty, cpython=refuse)
    await well(session, "x = 1")
    assert (await session.execute_code(MOVE)).error.endswith("The kernel has no seccomp.\n")
    assert (await well(session, "x")).value == 1


async def test_a_cancelled_move_closes_both(pool: MontyPool) -> None:
    targets: list[Plain] = []
    moving, never = asyncio.Event(), asyncio.Event()

    class Stuck(Plain):
        async def bind(self, **names: Any) -> None:
            moving.set()
            await never.wait()

    async def stuck(functions: Mapping[str, Function], _: SandboxLimits) -> Sandbox:
        targets.append(Stuck(functions))
        return targets[0]

    session = await open_session("auto", {}, monty=pool.open_monty, cpython=stuck)
    await well(session, "x = 1")
    running = asyncio.create_task(session.execute_code(MOVE))
    await moving.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert targets[0].is_closed
    assert (await session.execute_code("1")).lost


async def test_by_setting_it_begins_in_cpython(pool: MontyPool) -> None:
    session = await open_session("cpython", {}, monty=pool.open_monty, cpython=open_plain)
    assert isinstance(session, Plain)
    with pytest.raises(SandboxError, match="no cpython sandbox"):
        await open_session("cpython", {}, monty=pool.open_monty, cpython=None)


@pytest.mark.parametrize("deep", ["x" + ".a" * 900, "def f():\n    return " + " + ".join("x" * 900)])
async def test_what_is_nested_without_end_is_refused_and_the_session_goes_on(
    pool: MontyPool, deep: str
) -> None:
    session = await open_session("auto", {}, monty=pool.open_monty, cpython=open_plain)
    assert "too deeply nested" in (await session.execute_code(f"kept = 1\n{deep}")).error
    await well(session, "kept = 2")
    assert (await well(session, f"{MOVE}\nkept")).value == 2


def test_only_definitions_are_run_again() -> None:
    cells = [
        "import a\nx = f()\ndef g():\n    import b\n    y = 1",
        "not python (",
        "if x:\n    def h(): pass",
    ]
    assert [*find_definitions(cells)] == ["a", "g"]
