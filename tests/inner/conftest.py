"""An inbox for the tests of notes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.inner.noting import Inbox, inbox


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Inbox]:
    async with inbox(tmp_path) as here:
        yield here
