"""The office for the tests of the Slack surface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.slack.office import Office, office


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    """An office that everybody may speak in. What was said before is read, so what is said now comes once."""
    async with office(tmp_path) as here:
        await here.caught_up()
        yield here
