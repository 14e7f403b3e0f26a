"""Forgotten entries on an open page, and its reconnection after a refusal."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Route, expect

from rehearsal.clearing import forget
from rehearsal.people import ALICE
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import THREAD, Desk, desk
from tests.console.shelf import SIZE
from tests.console.site import called, message
from tests.console.test_scrolling import HIDDEN
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"


@SOAK
async def test_a_call_that_is_open_is_closed_when_words_are_forgotten(here: Desk, chromium: Windows) -> None:
    said, _ = await here.journal.append(THREAD, called(text="<say>a secret</say>"), key="call")
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(f"{here.url}/#{said.seq}")
    await page.get_by_role("button", name="What the model saw").click()
    await expect(page.locator("#call")).to_contain_text("a secret")
    await here.journal.forget([said.seq], thread=THREAD, key="forget", why="asked")
    await expect(page.locator("#call")).to_be_hidden()
    assert "a secret" not in await page.locator("body").inner_html()


@SOAK
async def test_what_was_forgotten_while_a_page_was_hidden_for_long_is_found_there_no_more(
    here: Desk, chromium: Windows
) -> None:
    said, _ = await here.journal.append(THREAD, message("a secret"), key="secret")
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    await page.locator("#words").fill("secret")
    await page.keyboard.press("Enter")
    await expect(page.locator("#entries")).to_contain_text("a secret")
    await page.evaluate(HIDDEN.format(hidden="true"))
    await here.journal.forget([said.seq], thread=THREAD, key="forget", why="asked")
    meanwhile = [f"meanwhile no. {n}" for n in range(1_200)]
    await asyncio.gather(*(here.journal.append(THREAD, message(text), key=text) for text in meanwhile))
    await page.evaluate(HIDDEN.format(hidden="false"))
    await expect(page.locator("#entries")).not_to_contain_text("a secret")


@SOAK
async def test_what_the_rehearsed_workspace_forgets_goes_from_the_chat(here: Desk, chromium: Windows) -> None:
    await here.client(ALICE.token).chat_postMessage(channel=DM, text="A secret.")
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    await expect(page.locator("#messages")).to_contain_text("A secret.")
    forget(here.world.workspace, ALICE.id, here.world.workspace.clock.now())
    await expect(page.locator("#messages")).to_contain_text("Say something to Claudius")
    await expect(page.locator("#messages")).not_to_contain_text("A secret.")


@SOAK
async def test_a_page_whose_stream_was_refused_asks_for_it_again(tmp_path: Path, browser: Browsing) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=502, body="A proxy, while the daemon is started again.")

    async with desk(tmp_path) as here, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.route("**/console/journal*", refuse, times=1)
        await page.goto(here.url)
        await expect(page.locator("#connection")).to_contain_text("Trying again")
        await expect(page.locator("#connection")).to_have_text("")
        await here.journal.append(THREAD, message("It is back."), key="back")
        await expect(page.locator("#turns")).to_contain_text("It is back.")
