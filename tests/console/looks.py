"""What is to be seen of a page, measured in the browser: does all of it stand in the window, can it be read
against its ground, does it call people by their names? And a picture of it, where somebody asks for one."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Page

PICTURES = os.environ.get("PICTURES")
"""A folder in which to leave screenshots, to be looked at."""
LOOK = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


async def faults_of(page: Page) -> list[str]:
    """What is wrong with the page as it stands there."""
    found: list[str] = await page.evaluate(LOOK)
    return found


async def shoot(page: Page, called: str) -> None:
    """A picture of this name, where pictures are asked for."""
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{called}.png")
