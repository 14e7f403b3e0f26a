"""Readings on the page, and their entries in the journal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.engine.event import Event
from tests.console.browser import Windows
from tests.console.desk import THREAD, Desk
from tests.console.site import called
from tests.stories.stage import ALICE

PICTURES = os.environ.get("PICTURES")
SIZE = ViewportSize(width=1440, height=1000)
EXECUTION = f"{THREAD}@2"
READ = f"{EXECUTION}/read#1"


async def write(world: Desk, key: str, event: Event) -> None:
    await world.journal.append(THREAD, event, key=key)


async def ask(world: Desk, number: int, prompt: str = "", **answered: Any) -> None:
    event = called("llm_query", reading=True, **{"text": f"No. {number}", "cost": 0.0001} | answered)
    asked = replace(event, trailing=prompt or f"What of {number}?")
    await write(world, f"{READ}/cell#1!in/:{number:x}#1/llm_query#1", asked)


async def readings(chromium: Windows, world: Desk, size: ViewportSize = SIZE) -> Page:
    """Open the page at the readings of a conversation."""
    ts = str((await world.client("xoxp-alice").chat_postMessage(channel=ALICE, text="Read!"))["ts"])
    await world.remember(ALICE, ts, [])
    page = await chromium.new_page(viewport=size)
    await page.goto(f"{world.url}/#{THREAD}")
    if size["width"] < SIZE["width"]:
        await page.get_by_role("button", name="Journal").click()
    await turn_to(page, "This thread")
    await expect(page.locator("#entries > [data-seq]")).to_have_count(1)  # the page shows its thread
    await turn_to(page, "Readings")
    return page


async def turn_to(page: Page, view: str) -> None:
    await page.locator("#filter").get_by_text(view, exact=True).click()


async def shoot(page: Page, called: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{called}.png")


def state(item: Locator) -> Locator:
    return item.locator("> .top-of-branch .state")


def name(item: Locator) -> Locator:
    return item.locator("> .top-of-branch > .head b")


def figures(item: Locator) -> Locator:
    return item.locator("> .top-of-branch > .figures span")


def cell_of(item: Locator, number: int) -> Locator:
    return item.locator("> ul > .cell").nth(number)
