"""One browser for all page tests of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest_asyncio

from tests.console.browser import Browsing, Windows, launched, lent
from tests.console.desk import Desk, desk
from tests.console.site import Site, console
from tests.console.theatre import premiere


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browsing]:
    async with launched() as profile:
        yield partial(lent, profile)


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(browser: Browsing) -> AsyncIterator[Windows]:
    async with browser() as windows:
        yield windows


@pytest_asyncio.fixture(loop_scope="session")
async def browsed_site(tmp_path: Path) -> AsyncIterator[Site]:
    """The console, in the browser's event loop."""
    async with console(tmp_path) as site:
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def here(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk(tmp_path) as here:
        yield here


@pytest_asyncio.fixture(loop_scope="session")
async def world(tmp_path: Path) -> AsyncIterator[Desk]:
    """Desk without rehearsal of Slack or the model."""
    async with desk(tmp_path, rehearsed={"workspace": False, "model": False}) as here:
        yield here


@pytest_asyncio.fixture(loop_scope="session")
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with premiere(tmp_path) as address:
        yield address
