"""Cells of ours, after what models like to write: our sandbox gives what CPython gives, moved or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from daemon.environment import Bounds, Function, Sandbox
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.session import open_session
from tests.sandbox.plain import Plain, open_plain
from tests.source import ROOT

CELLS = "tests/data/own_cells.txt"
MOVES = " MOVES"


def written() -> dict[str, list[str]]:
    """The cells that are run one after the other, by what they are about."""
    _, *parts = (ROOT / CELLS).read_text(encoding="utf-8").split("\n=== ")
    named = [part.split("\n", 1) for part in parts]
    return {name: body.strip().split("\n---\n") for name, body in named}


WRITTEN = written()


async def ask(prompt: str) -> str:
    return f"<{prompt}>"


@pytest.fixture
async def pool() -> AsyncIterator[MontyPool]:
    async with MontyPool() as pool:
        yield pool


@pytest.mark.parametrize("name", WRITTEN)
async def test_it_gives_what_cpython_gives(pool: MontyPool, name: str) -> None:
    moved: list[Sandbox] = []

    async def moving(functions: Mapping[str, Function], bounds: Bounds) -> Sandbox:
        moved.append(await open_plain(functions, bounds))
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


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, WRITTEN.values())) >= 30
