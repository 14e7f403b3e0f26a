"""Threads and drafts in the browser, with events in any order."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, Route, ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing, Windows, late
from tests.console.theatre import premiere
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)
HOLDING = """
  window.held = null;
  const real = window.fetch;
  window.fetch = async (address, options) => {
    const answer = await real(address, options);
    if (!String(address).startsWith("/rehearsal/events")) return answer;
    const hold = new TransformStream({
      transform(piece, out) {
        window.release = () => window.held.splice(0).forEach((kept) => out.enqueue(kept));
        if (window.held) window.held.push(piece);
        else out.enqueue(piece);
      },
    });
    return new Response(answer.body.pipeThrough(hold), answer);
  };
"""
"""Script that lets a test hold back workspace events."""


@SOAK
async def test_a_thread_opens_whether_its_message_or_its_receipt_comes_first(
    address: str, chromium: Windows
) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.add_init_script(HOLDING)
    await page.goto(address)

    async def receipt_last(route: Route) -> None:
        answer = await route.fetch()
        await expect(page.locator(".thread")).to_have_count(1)
        await route.fulfill(response=answer)

    await page.route("**/api/chat.postMessage", receipt_last, times=1)
    await _begin(page, "the message first")

    await page.evaluate("window.held = []")
    await page.locator("#composer textarea").fill("its receipt first")
    async with page.expect_request("**/console/threads/*"):  # the new thread is selected
        await page.keyboard.press("Enter")
    await expect(page.locator(".thread")).to_have_count(1)
    await page.evaluate("window.release(); window.held = null")
    await expect(page.locator(".thread.open .message").first).to_contain_text("its receipt first")
    await expect(page.locator(".thread.open .reply textarea")).to_be_visible()


async def test_nobody_can_write_before_the_page_knows_where_to(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    field = page.locator("#composer textarea")
    async with late(page, "**/api/conversations.list"):
        await page.goto(address)
        await expect(field).to_be_disabled()
    await expect(field).to_be_focused()
    await _begin(page, "Good morning!")


@SOAK
async def test_a_thread_is_open_for_replies_after_another_person_and_after_an_interruption(
    address: str, chromium: Windows
) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await page.get_by_role("button", name="general").click()
    await _begin(page, "Good morning, all of you.")
    await page.locator(".thread.open .reply-button").click()
    await page.get_by_role("radio", name="Alice").press("ArrowRight")
    await expect(page.get_by_role("radio", name="Bob")).to_be_checked()
    await _reply(page, "Good morning, Alice.", by="Bob")
    await page.locator("#panel-composer textarea").fill("A draft")
    await _put_away_and_back(page)
    await expect(page.locator("#panel-composer textarea")).to_have_value("A draft")
    await _reply(page, "Still here.", by="Bob")


@SOAK
async def test_whoever_one_has_turned_to_says_it_though_the_page_still_reads_what_they_see(
    address: str, chromium: Windows
) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await page.get_by_role("button", name="general").click()
    await _begin(page, "Good morning, all of you.")
    await page.locator(".thread.open .reply-button").click()
    async with late(page, "**/api/conversations.list"):
        await page.get_by_role("radio", name="Alice").press("ArrowRight")
        await page.locator("#panel-composer textarea").fill("Good morning, Alice.")
        async with page.expect_response("**/api/chat.postMessage"):
            await page.keyboard.press("Enter")
    await expect(page.locator("#panel .replies .by b")).to_have_text("Bob")


async def test_what_cannot_be_sent_stays_a_draft_of_its_place(tmp_path: Path, browser: Browsing) -> None:
    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        crashes: list[str] = []
        page.on("pageerror", lambda error: crashes.append(str(error)))
        await page.goto(address)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.get_by_role("button", name="general").click()
        await expect(page.locator("#place")).to_have_text("# general")
        field = page.locator("#composer textarea")
        await page.context.set_offline(True)
        await field.fill("Is anybody there?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_have_text(
            "The daemon cannot be reached; your text is kept. Try again in a moment."
        )
        await page.get_by_role("button", name="random").click()
        await expect(field).to_have_value("")
        await page.get_by_role("button", name="general").click()
        await expect(field).to_have_value("Is anybody there?")
        await page.context.set_offline(False)
        await _put_away_and_back(page)
        await expect(page.get_by_role("alert")).to_have_count(0)
        await field.press("Enter")
        await expect(page.locator(".thread.open")).to_contain_text("Is anybody there?")
        await page.reload()
        await expect(page.locator("#place")).to_have_text("# general")
    assert crashes == []


async def _begin(page: Page, text: str) -> None:
    await page.locator("#composer textarea").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".thread.open .message").first).to_contain_text(text)


async def _reply(page: Page, text: str, by: str) -> None:
    await page.locator("#panel-composer textarea").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator("#panel .replies .message").last).to_contain_text(text)
    await expect(page.locator("#panel .replies .by b").last).to_have_text(by)


async def _put_away_and_back(page: Page) -> None:
    """Hide the window for a while, so that the page reloads all data."""
    await page.evaluate("""() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
      delete document.hidden;
    }""")
    async with page.expect_response("**/api/conversations.history"):
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
