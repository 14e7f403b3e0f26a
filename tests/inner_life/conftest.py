"""A workshop with an empty journal, and an inbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.inner_life.noting import Inbox, inbox
from tests.inner_life.programs.workshop import Workshop, opened


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    async with opened(tmp_path) as workshop:
        yield workshop


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Inbox]:
    async with inbox(tmp_path) as here:
        yield here
