"""Visual checks of a page in the browser: overflow, contrast, names of people; and screenshots."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Page

PICTURES = os.environ.get("PICTURES")
LOOK = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


async def faults_of(page: Page) -> list[str]:
    found: list[str] = await page.evaluate(LOOK)
    return found


async def shoot(page: Page, called: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{called}.png")
