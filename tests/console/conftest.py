"""The console, and the browser of the page's tests, if the library that drives it is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.console.site import Site, console

if find_spec("playwright"):  # without it, the modules that need the browser are skipped, and the others run
    from tests.console.one_browser import address, browsed_site, browser, chromium, here, world

    __all__ = ["address", "browsed_site", "browser", "chromium", "here", "world"]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with console(tmp_path) as site:
        yield site
