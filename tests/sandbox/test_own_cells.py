"""Cells in models' style, with the results of CPython, moved or not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from daemon.sandbox.environment import Function, Sandbox, SandboxError, SandboxLimits
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.session import Opener, describe_confinement, open_cpython, open_session
from tests.sandbox.plain import Plain, open_plain
from tests.soak import shared
from tests.source import ROOT

CELLS = "tests/data/own_cells.txt"
MOVES = " MOVES"


def written() -> dict[str, list[str]]:
    _, *parts = (ROOT / CELLS).read_text(encoding="utf-8").split("\n=== ")
    named = [part.split("\n", 1) for part in parts]
    return {name: body.strip().split("\n---\n") for name, body in named}


WRITTEN = written()


async def ask(prompt: str) -> str:
    return f"<{prompt}>"


async def gives_what_cpython_gives(pool: MontyPool, name: str, cpython: Opener) -> None:
    moved: list[Sandbox] = []

    async def moving(functions: Mapping[str, Function], bounds: SandboxLimits) -> Sandbox:
        moved.append(await cpython(functions, bounds))
        return moved[-1]

    session = await open_session("auto", {"ask": ask}, monty=pool.open_monty, cpython=moving)
    reference = Plain({"ask": ask})
    for cell in WRITTEN[name]:
        execution, expected = await session.execute_code(cell), await reference.execute_code(cell)
        assert (execution.error, execution.stderr) == ("", "")
        assert execution.stdout == expected.stdout
        assert execution.value == expected.value
        assert execution.stdout or execution.variables
    assert bool(moved) is name.endswith(MOVES)
    await session.close()


@pytest.mark.parametrize("name", WRITTEN)
async def test_it_gives_what_cpython_gives(pool: MontyPool, name: str) -> None:
    await gives_what_cpython_gives(pool, name, open_plain)


@pytest.mark.parametrize("name", shared((name for name in WRITTEN if name.endswith(MOVES)), 8))
async def test_so_does_a_confined_child(pool: MontyPool, name: str) -> None:
    try:
        await describe_confinement()
    except SandboxError as error:
        pytest.skip(str(error))
    await gives_what_cpython_gives(pool, name, open_cpython)


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, WRITTEN.values())) >= 30
