"""Banners of the page: simulated services, and tasks for an owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing, daemon
from tests.console.desk import desk
from tests.soak import SOAK
from tests.stories.process import around, into

pytestmark = IN_A_BROWSER


async def test_the_banner_says_what_stands_in_for_slack_and_for_claude(
    tmp_path: Path, browser: Browsing
) -> None:
    async with around(tmp_path / "world") as world, browser() as chromium:
        page = await chromium.new_page()
        here = world.url.removeprefix("http://")
        banner = page.locator("#rehearsed")
        async with daemon(tmp_path / "model", ANTHROPIC_BASE_URL=world.url) as address:
            await page.goto(address)
            await expect(banner).to_contain_text(f"The workspace is local; the model is at {here}.")
        async with daemon(tmp_path / "both", **into(world.url)) as address:
            await page.goto(address)
            said = f"The workspace is at {here}, not Slack's. The model is at {here}."
            await expect(banner).to_have_text(said)
            await page.set_viewport_size({"width": 390, "height": 700})
        gone = page.locator("#connection")  # shown above all other banners
        await expect(gone).to_have_text("The daemon does not answer. Trying again…")
        await expect(gone).to_be_in_viewport(ratio=1)
        await expect(banner).to_be_hidden()


@SOAK
async def test_what_only_an_owner_can_mend_stands_on_the_page(tmp_path: Path, browser: Browsing) -> None:
    wrong = "The account has no credit left. Add some."
    async with desk(tmp_path, wrong=[wrong]) as table, browser() as chromium:
        page = await chromium.new_page()
        await page.goto(table.url)
        await expect(page.get_by_role("alert")).to_have_text(wrong)
        await expect(page.locator("#composer")).to_be_visible()


@SOAK
@pytest.mark.parametrize("width", [1440, 1280, 700])
async def test_the_banner_is_read_whole_whatever_stands_beside_it(
    tmp_path: Path, width: int, browser: Browsing
) -> None:
    async with desk(tmp_path, spent=4.0312, worth=12.34567) as table, browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=width, height=700))
        await page.goto(table.url)
        banner = page.locator("#rehearsed")
        await expect(banner).to_contain_text("the model is a script.")
        cut = "(node) => [node.scrollWidth - node.clientWidth, node.scrollHeight - node.clientHeight]"
        assert await banner.evaluate(cut) == [0, 0]
        await expect(page.locator("#keys-toggle")).to_be_in_viewport(ratio=1)
        assert await page.locator(".top").evaluate("(top) => top.scrollWidth - top.clientWidth") == 0
