"""Late answers after the reader has moved on or begun to write."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Page, Route, ViewportSize, expect

from rehearsal.people import ALICE
from tests.console.browser import ALL_DRAWN, IN_A_BROWSER, Browsing, Windows, late
from tests.console.lived_in import GENERAL
from tests.console.theatre import premiere
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)


@SOAK
async def test_a_call_that_one_no_longer_waits_for_does_not_open(address: str, chromium: Windows) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "Good morning!")
    async with late(page, "**/console/calls/*"):
        await _ask_for_a_call(page)
        await page.keyboard.press("Escape")
    await expect(page.locator("#call")).to_be_hidden()


@SOAK
async def test_a_call_that_opens_late_leaves_the_field_to_whoever_writes(
    address: str, chromium: Windows
) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "Good morning!")
    field = page.locator("#composer textarea")
    async with late(page, "**/console/calls/*"):
        await _ask_for_a_call(page)
        await field.click()
        await page.keyboard.type("I was 1")
    await expect(page.locator("#call")).to_be_visible()
    await page.keyboard.type("2 once")
    await expect(field).to_have_value("I was 12 once")


async def test_what_the_tour_says_is_said_nowhere_else(address: str, chromium: Windows) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    said: list[str] = []
    page.on("request", lambda sent: said.append(sent.url) if "chat.postMessage" in sent.url else None)
    await page.get_by_role("button", name="random").click()
    await expect(page.locator("#place")).to_have_text("# random")
    async with late(page, "**/api/conversations.history"):
        await page.locator("#tour .chips button").first.click()
        await page.get_by_role("button", name="general").click()
    await expect(page.locator("#tour-watch")).to_have_text(
        "This was not said: you turned elsewhere meanwhile."
    )
    assert said == []


@SOAK
async def test_earlier_messages_stand_only_where_they_were_said(address: str, chromium: Windows) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    for number in range(33):
        await _post(page, address, f"Line {number}.")
    await page.get_by_role("button", name="general").click()
    await expect(page.locator("#messages")).to_contain_text("Line 32.")
    async with late(page, "**/api/conversations.history"):
        await page.get_by_role("button", name="Earlier messages").click()
        await page.get_by_role("button", name="random").click()
        await expect(page.locator("#messages")).to_contain_text("There are no messages here yet.")
    await expect(page.locator("#messages .thread")).to_have_count(0)


@SOAK
async def test_what_is_read_anew_stays_where_one_reads_it(address: str, chromium: Windows) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    for number in range(33):
        await _post(page, address, f"Line {number}.")
    await page.get_by_role("button", name="general").click()
    await page.get_by_role("button", name="Earlier messages").click()
    first = page.locator("#messages .thread", has_text="Line 0.")
    await first.scroll_into_view_if_needed()
    async with page.expect_response("**/api/conversations.history"):
        await _put_away_and_back(page)
    await page.evaluate(ALL_DRAWN)
    await expect(first).to_be_in_viewport()
    await page.get_by_role("button", name="random").click()
    await _post(page, address, "What is new.")
    await expect(page.get_by_role("button", name="general")).to_have_class("unread")
    async with page.expect_response("**/api/conversations.history"):
        await _put_away_and_back(page)
    await page.evaluate(ALL_DRAWN)
    await expect(page.get_by_role("button", name="general")).to_have_class("unread")


async def test_nobody_writes_in_the_dm_of_another_person(address: str, chromium: Windows) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "Good morning!")
    field = page.locator("#composer textarea")
    async with late(page, "**/api/conversations.list"):
        await page.get_by_role("radio", name="Alice").press("ArrowRight")
        await expect(field).to_be_disabled()
        await expect(page.locator("#messages .thread")).to_have_count(0)
        await expect(page.locator("#places").get_by_role("button", name="Claudius")).to_have_count(0)
    await expect(field).to_be_enabled()
    await _say(page, "It is Bob.")
    await expect(page.locator("#messages .by b").first).to_have_text("Bob")


@SOAK
async def test_a_dm_that_is_read_for_one_person_is_not_read_on_for_the_next_one(
    tmp_path: Path, browser: Browsing
) -> None:
    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        crashes: list[str] = []
        page.on("pageerror", lambda error: crashes.append(str(error)))
        await _opened(page, address)
        await _say(page, "Good morning!")
        await page.get_by_role("button", name="random").click()
        await expect(page.locator("#place")).to_have_text("# random")
        async with late(page, "**/api/conversations.history"):
            await page.locator("#places").get_by_role("button", name="Claudius").click()
            await page.get_by_role("radio", name="Alice").press("ArrowRight")
            await expect(page.locator("#messages")).to_contain_text("Say something to Claudius")
        await page.evaluate(ALL_DRAWN)
        await expect(page.locator("#messages .thread")).to_have_count(0)
    assert crashes == []


async def test_what_was_not_sent_comes_back_before_what_was_written_since(
    address: str, chromium: Windows
) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    field = page.locator("#composer textarea")
    lost = asyncio.Event()

    async def never(route: Route) -> None:
        await lost.wait()
        await route.abort()

    await page.route("**/api/chat.postMessage", never, times=1)
    await field.fill("The first thing.")
    await field.press("Enter")
    await field.press_sequentially("The second")
    lost.set()
    await expect(field).to_have_value("The first thing.\nThe second")
    await expect(page.get_by_role("alert")).to_contain_text("your text is kept")


@SOAK
async def test_a_link_that_is_late_does_not_take_one_from_where_one_turned(
    address: str, chromium: Windows
) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "Good morning!")
    thread = await page.locator("#turns .turn").first.evaluate(
        "async () => (await (await fetch('/console/threads?limit=1')).json()).threads[0].thread"
    )
    async with late(page, "**/console/threads/sess-*?limit=1"):
        await page.evaluate("(thread) => { location.hash = thread; }", thread)
        await page.get_by_role("link", name="People").click()
        await expect(page.locator("#view-title")).to_have_text("People")
    await expect(page.locator("#view")).to_be_visible()
    await expect(page.locator("#view-title")).to_have_text("People")


@SOAK
async def test_the_chat_that_is_late_leaves_the_journal_to_the_thread_of_a_view(
    address: str, chromium: Windows
) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "The first thread.")
    await _say(page, "The second thread.")
    await page.get_by_role("link", name="Threads").click()
    await page.locator(".threads .row", has_text="The first thread.").click()
    await expect(page.locator("#scope")).to_contain_text("The first thread.")
    async with late(page, "**/api/conversations.history"):
        await page.reload()
        await expect(page.locator("#scope")).to_contain_text("The first thread.")
    await expect(page.locator("#messages .thread")).to_have_count(2)
    await page.evaluate(ALL_DRAWN)
    await expect(page.locator("#scope")).to_contain_text("The first thread.")


@SOAK
async def test_who_turned_to_another_thread_stays_there_when_their_message_is_taken(
    address: str, chromium: Windows
) -> None:
    page = await _opened(await chromium.new_page(viewport=SIZE), address)
    await _say(page, "The first thread.")
    taken = asyncio.Event()

    async def receipt_last(route: Route) -> None:
        answer = await route.fetch()
        await taken.wait()
        await route.fulfill(response=answer)

    await page.route("**/api/chat.postMessage", receipt_last, times=1)
    await page.locator("#composer textarea").fill("The second thread.")
    await page.keyboard.press("Enter")
    threads = page.locator("#messages .thread")
    await expect(threads).to_have_count(2)
    await threads.first.locator(".text").first.click()
    async with page.expect_response("**/api/chat.postMessage"):
        taken.set()
    await page.evaluate(ALL_DRAWN)
    await expect(page.locator("#messages .thread.open .message").first).to_contain_text("The first thread.")


async def _opened(page: Page, address: str) -> Page:
    await page.goto(address)
    await expect(page.locator("#place")).to_have_text("Claudius")
    await expect(page.locator("#tour-toggle")).to_be_visible()
    return page


async def _say(page: Page, text: str) -> None:
    await page.locator("#composer textarea").fill(text)
    await page.keyboard.press("Enter")
    thread = page.locator(".thread.open")
    await expect(thread.locator(".message").first).to_contain_text(text)
    await expect(thread.locator(".replies .text").first).to_be_visible()


async def _ask_for_a_call(page: Page) -> None:
    await page.locator("#filter").get_by_text("All", exact=True).click()
    await page.locator("#entries .open").last.click()


async def _post(page: Page, address: str, text: str) -> None:
    said = {"channel": GENERAL, "text": text}
    as_alice = {"Authorization": f"Bearer {ALICE.token}"}
    answer = await page.request.post(f"{address}/api/chat.postMessage", data=said, headers=as_alice)
    assert (await answer.json())["ok"]


async def _put_away_and_back(page: Page) -> None:
    """Hide the window for a while, so that the page reloads all data."""
    await page.evaluate("""() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
      delete document.hidden;
      document.dispatchEvent(new Event("visibilitychange"));
    }""")
