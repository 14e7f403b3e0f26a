"""The daemon's choice of sandboxes, and early moves."""

from __future__ import annotations

import pytest

from daemon.sandbox.session import Kind, SandboxFactory


@pytest.mark.parametrize("kind", ["auto", "monty", "cpython"])
async def test_each_sandbox_has_variables_of_its_own(kind: Kind) -> None:
    async with SandboxFactory(kind) as sandboxes:
        first, second = await sandboxes.open({}), await sandboxes.open({})
        await first.execute_code("x = 1")
        assert (await first.execute_code("x")).value == 1
        assert "NameError" in (await second.execute_code("x")).error
        for sandbox in (first, second):
            await sandbox.close()


async def test_a_cell_moves_to_a_child_where_monty_lacks_something() -> None:
    async with SandboxFactory("auto") as sandboxes:
        for _ in range(2):  # the second time a child is ready
            sandbox = await sandboxes.open({})
            await sandbox.execute_code("n = 3")
            moved = await sandbox.execute_code("def up():\n    yield from range(n)\nlist(up())")
            assert (moved.value, moved.error) == ([0, 1, 2], "")
            await sandbox.close()
