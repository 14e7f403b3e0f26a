"""A person comes to a console with a token: it asks for it, by a form, and lets them in. Run in a browser."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing, daemon
from tests.console.test_scrolling import HIDDEN
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

TOKEN = "open sesame, and be quick"
PICTURES = os.environ.get("PICTURES")
"""A folder in which to leave screenshots, to be looked at."""


async def test_a_person_writes_the_token_into_a_form(tmp_path: Path, browser: Browsing) -> None:
    async with daemon(tmp_path, CONSOLE_TOKEN=TOKEN) as address, browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=900, height=640))
        await page.goto(address)
        field = page.get_by_label("The console's token")
        await expect(field).to_be_focused()
        assert await field.get_attribute("type") == "password"
        if PICTURES:
            await page.screenshot(path=Path(PICTURES) / "token.png")
        await page.keyboard.type("a wrong one")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This is not the token.")
        if PICTURES:
            await page.emulate_media(color_scheme="dark")
            await page.screenshot(path=Path(PICTURES) / "token-wrong.png")
        await expect(field).to_be_focused()
        await page.keyboard.type(TOKEN)
        await page.keyboard.press("Enter")
        await expect(page.locator("#place")).to_have_text("Claudius")
        assert TOKEN.split()[0] not in page.url
        await page.reload()
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.goto(f'data:text/html,<a href="{address}/%23people">from elsewhere</a>')
        await page.get_by_text("from elsewhere").click()
        await expect(page.locator("#view-title")).to_have_text("People")


@SOAK
async def test_the_token_in_the_address_lets_in_too(tmp_path: Path, browser: Browsing) -> None:
    async with daemon(tmp_path, CONSOLE_TOKEN=TOKEN) as address, browser() as chromium:
        page = await chromium.new_page()
        await page.goto(f"{address}/?token={TOKEN}")
        await expect(page.locator("#place")).to_have_text("Claudius")
        assert "token" not in page.url
        await page.context.clear_cookies()  # as if there were another token by now
        await page.evaluate(HIDDEN.format(hidden="true") + HIDDEN.format(hidden="false"))
        await expect(page.get_by_label("The console's token")).to_be_visible()
