"""An owner's press of a button under Questions."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, Route, expect

from rehearsal.people import ALICE, BOB
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.shelf import SIZE
from tests.console.theatre import premiere
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

CAKES = "Please order two plum cakes for Friday."


async def says(page: Page, address: str, token: str, channel: str, text: str) -> None:
    said = {"channel": channel, "text": text}
    headers = {"Authorization": f"Bearer {token}"}
    answer = await page.request.post(f"{address}/api/chat.postMessage", data=said, headers=headers)
    assert (await answer.json())["ok"]


async def test_a_press_under_questions_is_a_press_in_the_chat(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(f"{address}/#questions")
    await says(page, address, ALICE.token, "D0ALICE0001", CAKES)
    card = page.locator(".question.open")
    await expect(card).to_contain_text("You are asked")
    await expect(card).to_contain_text("You press as Alice.")
    await card.get_by_role("button", name="Approve").click()
    answered = page.locator(".question:not(.open)")
    await expect(answered).to_contain_text("Alice pressed Approve. The buttons are gone.")
    await expect(card).to_have_count(0)
    await expect(page.locator("#asked")).to_be_hidden()
    await page.get_by_role("button", name="Claudius").click()
    chat = page.locator("#messages")
    await expect(chat).to_contain_text("[Alice chose “Approve”]")
    await expect(chat.locator(".press")).to_have_count(0)


async def test_a_press_that_did_not_arrive_says_so_and_may_be_made_again(
    tmp_path: Path, browser: Browsing
) -> None:
    async def lost(route: Route) -> None:
        await route.abort()

    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await says(page, address, ALICE.token, "D0ALICE0001", CAKES)
        await page.goto(f"{address}/#questions")
        card = page.locator(".question.open")
        decline = card.get_by_role("button", name="Decline")
        await page.route("**/console/questions/*", lost, times=1)
        await decline.click()
        await expect(card.get_by_role("alert")).to_contain_text("The daemon did not answer")
        await decline.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".question:not(.open)")).to_contain_text("Alice pressed Decline.")


@SOAK
async def test_what_only_somebody_else_may_answer_says_whose_it_is(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await says(page, address, BOB.token, "D0BOB000001", "My hobby is sailing.")
    await says(page, address, BOB.token, "D0BOB000001", "!forget me")
    await page.goto(f"{address}/#questions")
    card = page.locator(".question.open")
    await expect(card).to_contain_text("Bob is asked")
    await expect(card).to_contain_text("Only Bob may answer this.")
    await expect(card.get_by_role("link", name="in the chat")).to_be_visible()
    await expect(card.locator(".press")).to_have_count(0)
