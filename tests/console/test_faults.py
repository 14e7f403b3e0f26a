"""Faults switched on and off in their drawer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from playwright.async_api import Page, ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing, Windows, daemon
from tests.console.theatre import premiere
from tests.soak import SOAK, later

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)


async def shown(address: str, name: str) -> dict[str, Any]:
    async with ClientSession() as http, http.get(f"{address}/rehearsal/faults") as response:
        faults = (await response.json())["faults"]
    return {**next(fault for fault in faults if fault["name"] == name)}


async def opened(page: Page, address: str) -> None:
    await page.goto(address)
    toggle = page.locator("#faults-toggle")
    await expect(toggle).to_have_text("Simulate problems")
    await expect(page.locator("#faults")).to_be_hidden()
    await toggle.click()
    await expect(page.locator("#faults")).to_be_visible()


async def test_faults_are_switched_on_and_all_off_again(tmp_path: Path, browser: Browsing) -> None:
    async with daemon(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await opened(page, address)
        await expect(page.locator("#faults").get_by_role("switch", checked=True)).to_have_count(0)
        await page.get_by_role("switch", name="Delay").check()
        row = page.locator("[data-fault=rate-limit]")
        await row.get_by_text("Rate limit").click()
        await expect(page.locator("#faults-toggle")).to_have_text("Simulating 2 problems")
        await row.get_by_label("seconds").fill("9")
        await row.get_by_label("method").fill("chat.update")
        await row.get_by_label("method").press("Enter")
        await row.get_by_label("times").fill("-1")
        await row.get_by_label("times").press("Enter")
        await expect(row.get_by_role("alert")).to_have_text("times is a number from 0 to 1e+06, not -1.")
        told = {one["name"]: one["value"] for one in (await shown(address, "rate-limit"))["params"]}
        assert (told["seconds"], told["method"]) == (9, "chat.update")
        await page.get_by_role("button", name="Turn all off").click()
        await expect(page.locator("#faults-toggle")).to_have_text("Simulate problems")
        await expect(page.get_by_role("switch", name="Delay")).not_to_be_checked()
        assert not (await shown(address, "delay"))["on"]
        assert complaints == []


@SOAK
async def test_what_happens_once_happens_and_the_soul_comes_back(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await opened(page, address)
    await page.get_by_role("button", name="Drop, now").click()
    await expect(page.locator("#announcer")).to_have_text("Drop: done")
    await page.locator("#composer textarea").fill("Still there?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".thread.open .replies .text")).to_contain_text("script")


@SOAK
async def test_a_fault_that_is_on_is_seen_by_who_comes_later_with_what_it_did(
    tmp_path: Path, browser: Browsing
) -> None:
    async with premiere(tmp_path) as address, browser() as chromium, ClientSession() as http:
        await http.post(f"{address}/rehearsal/faults", json={"name": "duplicate"})
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(address)
        await expect(page.locator("#faults-toggle")).to_have_text("Simulating 1 problem")
        await page.locator("#composer textarea").fill("Once or twice?")
        await page.keyboard.press("Enter")
        await expect(page.locator(".thread.open .replies .text")).to_contain_text("script")
        await page.locator("#faults-toggle").click()
        await expect(page.locator("[data-fault=duplicate] .struck")).not_to_be_empty()


@SOAK
@pytest.mark.parametrize("scheme", [later("light"), "dark"])
async def test_the_drawer_fits_on_a_phone_and_closes_by_key(
    tmp_path: Path, scheme: Any, browser: Browsing
) -> None:
    async with daemon(tmp_path) as address, browser() as chromium:
        size = ViewportSize(width=390, height=780)
        page = await chromium.new_page(viewport=size, color_scheme=scheme)
        await opened(page, address)
        for name in ("Delay", "Rate limit", "Refusal"):
            await page.get_by_role("switch", name=name).check()
        await expect(page.locator("#faults-toggle")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("button", name="Journal")).to_be_in_viewport(ratio=1)
        wide = await page.locator("#faults-list").evaluate("(node) => node.scrollWidth - node.clientWidth")
        assert (wide, await page.evaluate("document.documentElement.scrollWidth")) == (0, 390)
        await page.keyboard.press("Escape")
        await expect(page.locator("#faults")).to_be_hidden()
        await expect(page.locator("#faults-toggle")).to_be_focused()
