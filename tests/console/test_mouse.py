"""Mouse clicks in the browser, also in an unopened thread."""

from __future__ import annotations

from playwright.async_api import Locator, Page, ViewportSize, expect

from rehearsal.people import ALICE
from tests.console.browser import IN_A_BROWSER, Windows
from tests.console.desk import Desk
from tests.console.test_gestures import DM, question, sent
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)


async def begun(here: Desk, text: str) -> str:
    said = await here.client(ALICE.token).chat_postMessage(channel=DM, text=text)
    return str(said["ts"])


async def press(page: Page, target: Locator) -> None:
    """Click slowly: the page may change between down and up."""
    await target.hover()
    await page.mouse.down()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    await page.mouse.up()


@SOAK
async def test_reply_leads_to_where_one_writes(here: Desk, chromium: Windows) -> None:
    first = await begun(here, "The first.")
    await begun(here, "The second.")
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    thread = page.locator(f".thread[data-ts='{first}']")
    await expect(page.locator(".thread.open")).to_contain_text("The second.")
    await thread.hover()
    await press(page, thread.get_by_role("button", name="Reply"))
    await expect(thread.locator(".reply textarea")).to_be_focused()
    await page.keyboard.type("My answer")
    await page.keyboard.press("Enter")
    await expect(thread.locator(".replies .message")).to_contain_text("My answer")


@SOAK
async def test_a_button_beneath_the_open_thread_stays_under_the_mouse(here: Desk, chromium: Windows) -> None:
    first = await begun(here, "The first.")
    await question(here)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    above = page.locator(f".thread[data-ts='{first}']")
    await above.click()
    await expect(above.locator(".reply textarea")).to_be_visible()
    await press(page, page.get_by_role("button", name="Continue"))
    await expect(page.locator(".thread.open")).to_contain_text("Find it.")
    assert [one["actions"][0]["action_id"] for one in sent(here, "block_actions")] == ["continue"]
