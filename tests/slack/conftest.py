"""The office for the tests of the Slack surface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.slack.office import Office, office


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    """An office that everybody may speak in."""
    async with office(tmp_path) as here:
        yield here
