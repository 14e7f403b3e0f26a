"""A pool of monty per test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from daemon.sandbox.monty import MontyPool


@pytest.fixture
async def pool() -> AsyncIterator[MontyPool]:
    async with MontyPool() as pool:
        yield pool
