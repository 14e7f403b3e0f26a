"""The office for tests of the Slack surface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.slack.office import Office, office


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    """Office open to everybody, with earlier messages read."""
    async with office(tmp_path) as here:
        await here.caught_up()
        yield here
