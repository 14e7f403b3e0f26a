"""A workshop with an empty journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.inner.workshop import Workshop, opened


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    async with opened(tmp_path) as workshop:
        yield workshop
