"""Readings stand on the page as trees that grow: cells, sub-calls, readings below, and what ended them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from tests.console.browser import CHROMIUM, ROOT, browser
from tests.console.deliveries import DELIVERIES, QUESTION, ROUNDS, cell, open_sandbox, pieces, reading
from tests.console.theatre import theatre

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="There is no chromium here: apt install chromium.")

PICTURE = ROOT / "docs" / "reading.png"
"""Taken when TAKE_PICTURE is set, for the README."""
PICTURES = os.environ.get("PICTURES")
"""A folder in which to leave screenshots, to be looked at."""
SIZE = ViewportSize(width=1440, height=940)
PHONE = ViewportSize(width=390, height=700)


async def shoot(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def test_a_reading_grows_as_a_tree_from_its_first_cell_to_its_answer(tmp_path: Path) -> None:
    async with theatre(tmp_path, reading(DELIVERIES), open_sandbox, rlm_threshold_tokens=0) as (soul, model), browser() as chromium:
        model.script = pieces
        page = await chromium.new_page(viewport=SIZE, device_scale_factor=2)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.get_by_text("Readings", exact=True).click()
        await expect(page.get_by_role("tree")).to_have_text("Nothing long was read here yet.")
        gates = [asyncio.Event() for _ in ROUNDS]
        for number, (words, code) in enumerate(ROUNDS):
            model.say(cell(code, words), model="*sonnet*", until=gates[number], asks=f"Round {number + 1}/")
        september = asyncio.Event()
        model.say("Norrland", asks="late in September?", until=september)
        await page.locator("#composer textarea").fill(QUESTION)
        await page.keyboard.press("Enter")
        root = page.get_by_role("tree").locator("> .root")
        await expect(state(root)).to_have_text("reading")
        await expect(root.locator("> .top-of-branch b")).to_have_text(QUESTION)
        await shoot(page, "begun")
        gates[0].set()
        first, second = root.locator(".cell").nth(0), root.locator(".cell").nth(1)
        await expect(first.locator(".code")).to_contain_text("list(context.items())[:3]")
        await expect(first.locator(".output")).to_contain_text("11 parts")
        gates[1].set()
        await expect(state(second)).to_have_text("running")
        await expect(second.locator(".asked .head")).to_contain_text("9 sub-calls")
        await expect(second.locator(".asked .head")).to_contain_text("so far")
        await shoot(page, "running")
        september.set()
        await expect(state(second)).to_have_text("failed")
        for gate in gates[2:]:
            gate.set()
        await expect(state(root)).to_have_text("answered")
        await shoot(page, "answered")
        print(await root.inner_text())
    assert complaints == []


def state(item: Locator) -> Locator:
    return item.locator("> .top-of-branch .state")
