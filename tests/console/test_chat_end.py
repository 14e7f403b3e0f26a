"""Scrolling of the chat: its end stays visible unless the reader scrolled up."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.async_api import Page, ViewportSize, expect

from rehearsal.people import ALICE, SOUL
from tests.console.browser import ALL_DRAWN, IN_A_BROWSER, Browsing
from tests.console.desk import desk

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
STOP = {"words": "Say it.", "watch": "It does.", "place": "", "file": "", "inner": False}
SCROLLED_UP = """() => {
    const box = document.querySelector("#messages");
    return box.scrollHeight - box.scrollTop - box.clientHeight > 300;
}"""
BELOW = "(box) => box.scrollHeight - box.scrollTop - box.clientHeight"


async def _below(page: Page, box: str = "#messages") -> float:
    """Return the pixels below the visible chat."""
    await page.evaluate(ALL_DRAWN)
    found: float = await page.locator(box).evaluate(BELOW)
    return found


async def test_a_loaded_chat_stands_at_its_end_though_the_tour_comes_late(
    tmp_path: Path, browser: Browsing
) -> None:
    stops = [{**STOP, "id": f"{number}", "title": f"Stop no. {number}"} for number in range(9)]
    tour = json.dumps({"person": ALICE.id, "stops": stops})
    async with desk(tmp_path) as here, browser() as chromium:
        alice, soul = here.client(ALICE.token), here.client()
        for number in range(30):
            await alice.chat_postMessage(channel=DM, text=f"message no. {number}\nand more")
        page = await chromium.new_page(viewport=ViewportSize(width=1440, height=700))
        await page.route("**/rehearsal/tour", lambda route: route.fulfill(body=tour))
        for width in (1440, 390):
            await page.set_viewport_size({"width": width, "height": 700})
            await page.goto(f"{here.url}/#{DM}")
            await expect(page.locator("#tour")).to_be_visible()
            await expect(page.locator("#messages .thread")).to_have_count(30)
            assert await _below(page) < 1
            await page.reload()
            await expect(page.locator("#tour")).to_be_visible()
            await expect(page.locator("#messages .thread")).to_have_count(30)
            assert await _below(page) < 1
        await page.set_viewport_size({"width": 900, "height": 500})
        assert await _below(page) < 1, "the window became smaller"
        grown = "(last) => { last.style.paddingBottom = '300px'; }"
        await page.locator("#messages .thread").last.evaluate(grown)
        assert await _below(page) < 1, "an image was loaded"
        await page.locator("#messages").hover()
        await page.mouse.wheel(0, -400)
        await page.wait_for_function(SCROLLED_UP)
        above = await _below(page)
        await page.locator("#messages .thread").last.evaluate(grown.replace("300", "500"))
        assert await _below(page) > above, "who scrolled up reads on there"
        await soul.chat_postMessage(channel=DM, text="news")
        await expect(page.locator("#chat-news")).to_be_visible()
        await page.locator("#chat-news").click()
        assert await _below(page) < 1


async def test_a_thread_beside_the_chat_stands_at_its_end_when_it_becomes_smaller(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path, rehearsed={"workspace": True, "model": False}) as here, browser() as chromium:
        root = str((await here.client(ALICE.token).chat_postMessage(channel=DM, text="Count!"))["ts"])
        for number in range(40):
            await here.client(SOUL.bot_token).chat_postMessage(channel=DM, thread_ts=root, text=f"{number}")
        page = await chromium.new_page(viewport=ViewportSize(width=1440, height=900))
        await page.goto(f"{here.url}/#{DM}/{root}")
        await expect(page.locator("#panel-messages .message")).to_have_count(41)
        await page.set_viewport_size({"width": 1440, "height": 600})
        assert await _below(page, "#panel-messages") < 1
        await page.locator("#panel-composer textarea").fill("one\n" * 12)
        assert await _below(page, "#panel-messages") < 1


async def test_a_message_of_many_lines_is_folded_until_all_of_it_is_asked_for(
    tmp_path: Path, browser: Browsing
) -> None:
    lines = "\n".join(f"line no. {number}." for number in range(500))
    async with desk(tmp_path, rehearsed={"workspace": True, "model": False}) as here, browser() as chromium:
        alice = here.client(ALICE.token)
        await alice.chat_postMessage(channel=DM, text="word " * 2_000)
        await alice.chat_postMessage(channel=DM, text="\n".join(["short"] * 40))
        await alice.chat_postMessage(channel=DM, text=lines)
        page = await chromium.new_page(viewport=ViewportSize(width=1440, height=900))
        await page.goto(f"{here.url}/#{DM}")
        buttons = page.locator("#messages .show-all")
        await expect(buttons).to_have_text(["Show all 10,000 characters", "Show all 500 lines"])
        text = page.locator("#messages .text").last
        height = "(node) => node.getBoundingClientRect().height"
        assert await text.evaluate(height) < 350
        assert await _below(page) < 1
        await buttons.last.press("Enter")
        await expect(buttons.last).to_have_text("Show less")
        assert await text.evaluate(height) > 5_000
        await expect(page.locator("#messages .thread").last.locator("b").first).to_be_in_viewport()
        await buttons.last.click()
        await expect(buttons.last).to_have_text("Show all 500 lines")
