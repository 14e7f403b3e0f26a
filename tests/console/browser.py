"""A daemon and a browser for tests of the page."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import BrowserContext, Page, Route, ViewportSize, async_playwright, expect

from tests.signed_in import SIGNED_IN, known_in
from tests.stories.process import running

CHROMIUM = shutil.which("chromium")
SLOW = 30_000
"""Milliseconds, for a browser on busy cores."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

ALL_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Script that resolves after the page has drawn."""

SHARPNESS = 2 if "TAKE_PICTURE" in os.environ else 1
"""Device pixels per CSS pixel of a screenshot."""
SIZE = ViewportSize(width=1280, height=720)


class Windows:
    """Pages of a shared browser profile, cleared for each test: a new profile takes too long."""

    def __init__(self, profile: BrowserContext) -> None:
        self._profile = profile
        self._opened: list[Page] = []

    async def new_page(
        self,
        *,
        viewport: ViewportSize = SIZE,
        color_scheme: Literal["light", "dark"] = "light",
        reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
        signed_in: bool = True,
    ) -> Page:
        page = await self._profile.new_page()
        if signed_in:
            await page.add_init_script(SIGNED_IN)
        self._opened.append(page)
        await page.set_viewport_size(viewport)
        await page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return page

    async def close(self) -> None:
        for page in self._opened:
            await page.close()
        [kept] = self._profile.pages
        session = await self._profile.new_cdp_session(kept)
        await session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        await session.detach()


Browsing = Callable[[], AbstractAsyncContextManager[Windows]]
WITH_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="There is no chromium here: apt install chromium."
)
IN_ITS_LOOP = pytest.mark.asyncio(loop_scope="session")
IN_A_BROWSER = [WITH_CHROMIUM, IN_ITS_LOOP]


@asynccontextmanager
async def daemon(home: Path, *command: str, **given: str) -> AsyncIterator[str]:
    """Run a daemon with only these settings; yield its page's URL."""
    known_in(home)
    async with running(home, *command, **given) as (_, address):
        yield address


@asynccontextmanager
async def launched() -> AsyncIterator[BrowserContext]:
    """Launch headless Chromium; its blank page keeps its processes alive."""
    expect.set_options(timeout=SLOW)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            profile = await chromium.new_context(device_scale_factor=SHARPNESS)
            await profile.new_page()
            yield profile
        finally:
            await chromium.close()


@asynccontextmanager
async def lent(profile: BrowserContext) -> AsyncIterator[Windows]:
    """Lend the browser; afterwards close and clear all."""
    windows = Windows(profile)
    try:
        yield windows
    finally:
        await windows.close()


@asynccontextmanager
async def late(page: Page, address: str) -> AsyncIterator[None]:
    """Hold back the response at this URL until the block ends, then let the page read it."""
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
