"""The console, and the browser if Playwright is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.console.site import Site, console

if find_spec("playwright"):  # without it, modules that need the browser are skipped
    from tests.console.one_browser import address, browsed_site, browser, chromium, here, world

    __all__ = ["address", "browsed_site", "browser", "chromium", "here", "world"]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with console(tmp_path) as site:
        yield site
