"""A daemon of its own and a browser that looks at it, for the tests of the page."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, async_playwright, expect

from tests.stories.process import running

CHROMIUM = shutil.which("chromium")
SLOW = 30_000
"""Milliseconds: a browser on busy cores is slow, and that is no failure."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

ALL_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Resolves when the page has had the time to show what it has just read."""

Browsing = Callable[[], AbstractAsyncContextManager[Browser]]
WITH_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="There is no chromium here: apt install chromium."
)
IN_ITS_LOOP = pytest.mark.asyncio(loop_scope="session")
IN_A_BROWSER = [WITH_CHROMIUM, IN_ITS_LOOP]
"""Tests that look at the page share one browser, and so the loop that it lives in."""


@asynccontextmanager
async def daemon(home: Path, *command: str, **given: str) -> AsyncIterator[str]:
    """A daemon with these settings and no other; gives the address of its page."""
    async with running(home, *command, **given) as (_, address):
        yield address


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """Debian's Chromium, headless, with a profile of its own."""
    expect.set_options(timeout=SLOW)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield chromium
        finally:
            await chromium.close()


@asynccontextmanager
async def lent(chromium: Browser) -> AsyncIterator[Browser]:
    """A browser for a while: what was opened in it is closed, and forgotten."""
    try:
        yield chromium
    finally:
        for context in [*chromium.contexts]:
            await context.close()


@asynccontextmanager
async def late(page: Page, address: str) -> AsyncIterator[None]:
    """What the page asks there first is answered only afterwards; then the page has had time to read it."""
    free = asyncio.Event()

    async def hold(route: Route) -> None:
        await free.wait()
        await route.continue_()

    await page.route(address, hold, times=1)
    async with page.expect_request(address) as asked:
        yield
    free.set()
    answer = await (await asked.value).response()
    assert answer is not None
    await answer.finished()
    await page.evaluate(ALL_DRAWN)
