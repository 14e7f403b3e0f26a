"""The tour for a person without a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.async_api import ViewportSize, expect

from rehearsal.people import ALICE
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.desk import desk
from tests.console.theatre import premiere

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)
SDK_IMPORT = 30_000
"""Milliseconds within which the first call of a tool loads the SDK of the protocol."""
STOP: dict[str, Any] = {"words": "Say it.", "watch": "Watch it.", "place": "", "file": "", "inner": False}


async def test_its_chips_are_clicked_ticked_and_put_away(tmp_path: Path, browser: Browsing) -> None:
    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(address)
        tour, count = page.locator("#tour"), page.locator("#tour .count")
        await expect(tour.locator(".chips button")).to_have_count(10)
        await expect(count).to_have_text("Press one, and watch")

        await tour.get_by_role("button", name="Tell it something").click()
        await expect(page.locator("#tour-watch")).to_contain_text("it thinks again in silence")
        said = page.locator("#messages .text")
        await expect(said.last).to_contain_text("you are allergic to walnuts, and you like your tea strong.")
        await expect(count).to_have_text("1 of 10 tried")

        await page.get_by_role("radio", name="Bob").check(force=True)
        await tour.get_by_role("button", name="Let it find its way").click()
        await expect(page.locator("#place")).to_have_text("# general")
        await expect(said.first).to_contain_text("the espresso machine is dripping again")
        await expect(page.locator("#messages b").first).to_have_text("Alice")
        await expect(said.last).to_contain_text("cafe/espresso-machine.md:5")

        await tour.get_by_role("button", name="Approve an order").click()
        await expect(said.last).to_contain_text("may I do this?")
        assert not (tmp_path / "orders.md").exists()
        await page.locator("#messages").get_by_role("button", name="Approve").click()
        await expect(said.last).to_contain_text("two plum cakes for Friday (orders.md:1).")
        assert (tmp_path / "orders.md").read_text() == "- two plum cakes for Friday\n"

        await tour.get_by_role("button", name="Let it use a tool").click()
        await expect(said.last).to_contain_text("may I call the tool cafe.buy")
        await page.locator("#messages").get_by_role("button", name="Approve").last.click()
        await expect(said.last).to_contain_text("there are 17 kg in store now", timeout=SDK_IMPORT)

        await page.locator("#composer textarea").fill("Reserve a table at the café for Friday, please.")
        await page.keyboard.press("Enter")
        await page.locator("#messages").get_by_role("button", name="Approve").last.click()
        await page.locator("#messages").get_by_role("button", name="Fill in").last.click()
        await page.get_by_role("dialog").get_by_label("Guests").fill("4")
        await page.get_by_role("dialog").get_by_role("button", name="Send").click()
        await expect(said.last).to_contain_text("A table for 4 inside is reserved on Friday")

        await tour.get_by_role("button", name="Hide").click()
        await page.reload()
        await expect(page.locator("#tour-toggle")).to_be_visible()
        await expect(tour).to_be_hidden()
        await page.locator("#tour-toggle").click()
        await expect(count).to_have_text("4 of 10 tried")
        await expect(tour.locator(".done")).to_have_count(4)
    assert complaints == []


async def test_a_finished_tour_closes_itself_with_a_line_and_opens_again(
    tmp_path: Path, browser: Browsing
) -> None:
    stops = [{**STOP, "id": f"{number}", "title": f"Stop no. {number}"} for number in range(9)]
    told = {"person": ALICE.id, "stops": stops}
    async with desk(tmp_path) as here, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.route("**/rehearsal/tour", lambda route: route.fulfill(body=json.dumps(told)))
        await page.goto(here.url)
        tour, over, toggle = (page.locator(f"#tour{part}") for part in ("", "-over", "-toggle"))
        chips = tour.locator(".chips button")
        await expect(chips).to_have_count(9)
        await expect(tour).to_be_visible()
        before = await tour.evaluate("(node) => node.getBoundingClientRect().height")
        for number in range(9):
            await expect(tour).to_be_visible()
            await expect(over).to_be_hidden()
            await chips.nth(number).click()
            if not number:
                await expect(tour.locator(".count")).to_have_text("1 of 9 tried")
                assert await tour.evaluate("(node) => node.getBoundingClientRect().height") < before < 190
        await expect(tour).to_be_hidden()
        await expect(over).to_contain_text("Watch it. That was the whole tour.")
        await expect(toggle).to_have_attribute("aria-expanded", "false")
        await toggle.click()
        await expect(tour.locator(".count")).to_have_text("9 of 9 tried")
        await expect(over).to_be_hidden()
        await chips.first.click()
        await expect(tour).to_be_visible()  # it was opened by hand
        for stop in stops:
            stop["done"] = True
        await page.reload()
        await expect(toggle).to_be_visible()
        await expect(tour).to_be_hidden()
        await expect(over).to_be_hidden()
