"""One browser for all tests of the page that run in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest_asyncio

from tests.console.browser import Browsing, launched, lent


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browsing]:
    async with launched() as profile:
        yield partial(lent, profile)
