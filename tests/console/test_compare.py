"""Comparison of two calls: additions to the prompt, and cached parts."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.theatre import theatre

pytestmark = IN_A_BROWSER


async def test_what_a_call_saw_more_than_the_one_before(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        model.say("<aside>A greeting.</aside><say>Good morning.</say>")
        model.say("<aside>About plums.</aside><say>Plums are blue.</say>")
        page = await chromium.new_page()
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.locator("#composer textarea").fill("Good morning!")
        await page.keyboard.press("Enter")
        await expect(page.locator(".thread.open .replies .text")).to_have_text("Good morning.")
        await page.locator(".thread.open .reply textarea").fill("What of plums?")
        await page.keyboard.press("Enter")
        thoughts = page.locator("#turns [data-part='thought']")
        await expect(thoughts).to_have_count(2)
        await thoughts.last.hover()
        await thoughts.last.get_by_role("button", name="What the model saw").click()
        await _look_at_what_is_new(page)
        compared = page.locator(".comparison")
        await expect(compared.locator("option")).to_have_count(2)
        await compared.locator("select").select_option(index=1)
        await expect(compared).to_contain_text("What comes before the changing text only grew")
        await expect(compared).to_contain_text("The changing text at the end of the prompt was replaced")
        await expect(compared).to_contain_text("The cache held")
        added = compared.locator("[data-how='added']")
        await expect(added.last).to_contain_text("What of plums?")
        await expect(added).to_contain_text(["Good morning."], use_inner_text=True)
        await expect(compared.locator("[data-how='gone']")).to_have_count(0)
        await expect(compared.locator(".same summary")).to_contain_text("as before")
        await compared.locator("select").select_option(index=0)
        await expect(compared.locator(".difference")).to_be_empty()
        await page.keyboard.press("Escape")
        await thoughts.first.hover()
        await thoughts.first.get_by_role("button", name="What the model saw").click()
        await expect(page.locator("#call .message-seen")).to_contain_text(["Good morning!"])
        await expect(compared).to_have_count(0)


async def _look_at_what_is_new(page: Page) -> None:
    parts = page.locator("#call-body > .part[data-title]")
    await expect(parts.nth(0)).to_contain_text("Plums are blue.")
    await expect(parts.nth(0)).to_be_in_viewport()
    await expect(parts.nth(1).locator("h3")).to_contain_text("New in this call")
    await expect(parts.nth(1)).to_contain_text("What of plums?")
    await expect(parts.nth(1).locator(".message-seen").first).to_be_in_viewport()
    earlier = page.locator("#call-body > details[data-title='Earlier messages']")
    await expect(earlier).to_contain_text("Good morning!")
    await expect(page.locator("#call-body .system")).to_be_hidden()
    jumps = page.get_by_role("navigation", name="Parts of the call")
    await jumps.get_by_role("button", name="Earlier messages").click()
    await expect(earlier.locator(".message-seen").first).to_be_in_viewport()
    await jumps.get_by_role("button", name="System text").press("Enter")
    await expect(page.locator("#call-body .system")).to_be_in_viewport()
