"""Visits by link, with the token, or without either."""

from __future__ import annotations

import os
from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import Page, ViewportSize, expect

from daemon.settings.token_file import read_token
from tests.console.browser import IN_A_BROWSER, Browsing, daemon
from tests.console.test_scrolling import HIDDEN
from tests.console.theatre import theatre
from tests.signed_in import SHOWN
from tests.soak import SOAK
from tests.stories.process import ended, ready, start

pytestmark = IN_A_BROWSER

TOKEN = "open sesame, and be quick"
PICTURES = os.environ.get("PICTURES")
SIZE = ViewportSize(width=900, height=640)


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def test_the_link_of_the_ready_line_opens_the_page_once_and_a_restart_shuts_nobody_out(
    tmp_path: Path, browser: Browsing
) -> None:
    async with browser() as chromium:
        page = await chromium.new_page(signed_in=False)
        process = await start(tmp_path)
        try:
            link = (await ready(process))[-1].split()[-1]
            sent: list[str] = []
            page.on("request", lambda request: sent.append(request.headers.get("referer", "")))
            await page.goto("about:blank")
            await page.goto(f"{link}#people")
            await expect(page.locator("#view-title")).to_have_text("People")
            assert page.url == f"{link.partition('?')[0]}#people", "the token is gone from the address"
            assert not any("token" in referer for referer in sent)
            assert await page.evaluate("document.cookie") == ""
            await page.go_back()
            assert page.url == "about:blank", "and from the history"
            await page.go_forward()
            secret = str(await page.evaluate("localStorage.getItem('session')"))
            assert secret not in link
            other = await chromium.new_page(signed_in=False)
            await other.goto(link)
            await expect(other.locator("#place")).to_have_text("Claudius")  # its browser has a session
            process.terminate()
            assert await ended(process) == (0, "")
            port = link.partition("/?")[0].rpartition(":")[2]
            process = await start(tmp_path, PORT=port)
            await ready(process)
            await other.reload()
            await expect(other.locator("#place")).to_have_text("Claudius")
        finally:
            process.kill()
            await process.wait()


async def test_who_has_no_session_is_told_how_to_come_in_and_may_show_the_token(
    tmp_path: Path, browser: Browsing
) -> None:
    async with daemon(tmp_path, CONSOLE_TOKEN=TOKEN) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE, signed_in=False)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(f"{address}/?token=used-up#people")
        door = page.locator("#door")
        await expect(door).to_contain_text("python -m daemon link")
        await expect(page.get_by_role("alert")).to_contain_text("The link does not open the page.")
        assert page.url == f"{address}/#people"
        await page.goto(address)
        await page.reload()
        await expect(door).to_be_visible()
        await expect(page.get_by_role("alert")).to_be_hidden()
        await expect(page.locator("header.top")).to_be_hidden()
        field = page.get_by_label("Or enter the page's token")
        await expect(field).to_be_focused()
        assert await field.get_attribute("type") == "password"
        await picture(page, "door")
        await page.keyboard.type("a wrong one")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This is not the token")
        await page.emulate_media(color_scheme="dark")
        await picture(page, "door-wrong")
        await expect(field).to_be_focused()
        await page.keyboard.type(TOKEN)
        await page.keyboard.press("Enter")
        await expect(page.locator("#place")).to_have_text("Claudius")
        await expect(door).to_be_hidden()
        await page.reload()
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.goto(f'data:text/html,<a href="{address}/%23people">from elsewhere</a>')
        await page.get_by_text("from elsewhere").click()
        await expect(page.locator("#view-title")).to_have_text("People")
        assert complaints == []


async def test_who_signs_out_is_out_in_every_window(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, _), browser() as chromium:
        page = await chromium.new_page(signed_in=False)
        await page.goto(f"{soul.url}/?token={await soul.credentials.make_link()}")
        await expect(page.locator("#place")).to_have_text("Claudius")
        secret = str(await page.evaluate("localStorage.getItem('session')"))
        other = await chromium.new_page(signed_in=False)
        await other.goto(soul.url)
        await expect(other.locator("#place")).to_have_text("Claudius")
        await picture(page, "signed-in")
        await page.get_by_role("button", name="Sign out").click()
        for each in (page, other):
            await expect(each.locator("#door")).to_be_visible()
        shown = {"X-Console-Token": secret}
        async with (
            ClientSession() as session,
            session.get(f"{soul.url}/console/state", headers=shown) as gone,
        ):
            assert gone.status == 401


@SOAK
async def test_a_session_that_ends_meanwhile_leads_to_the_door_and_not_round_and_round(
    tmp_path: Path, browser: Browsing
) -> None:
    async with theatre(tmp_path) as (soul, _), browser() as chromium:
        page = await chromium.new_page(signed_in=False)
        await page.goto(f"{soul.url}/?token={await soul.credentials.make_link()}")
        await expect(page.locator("#place")).to_have_text("Claudius")
        for kept in (tmp_path / "console-sessions").iterdir():
            kept.unlink()
        await page.evaluate(HIDDEN.format(hidden="true") + HIDDEN.format(hidden="false"))
        await expect(page.locator("#door")).to_be_visible()
        await page.goto(f"{soul.url}/?token={await soul.credentials.make_link()}")
        await expect(page.locator("#place")).to_have_text("Claudius")
        assert read_token(tmp_path) == SHOWN["X-Console-Token"]
