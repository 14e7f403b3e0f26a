"""The world of most tests here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientWebSocketResponse

from tests.clock import FakeClock
from tests.rehearsal.place import Place, served


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with served(tmp_path / "rehearsal.db", FakeClock()) as place:
        yield place


@pytest.fixture
async def ws(place: Place) -> AsyncIterator[ClientWebSocketResponse]:
    async with place.wire() as ws:
        yield ws
