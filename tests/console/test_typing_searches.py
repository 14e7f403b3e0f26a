"""Both searches while typing: after a pause or Enter; the latest query wins."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Request, Route, expect

from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.site import Site, console

pytestmark = IN_A_BROWSER


async def _lived(site: Site) -> None:
    for text in ("a heron", "a hero", "two herons", "plums"):
        await site.remember(text)


async def test_the_journal_is_searched_while_one_types_and_the_last_words_win(
    tmp_path: Path, browser: Browsing
) -> None:
    asked: list[str] = []
    free = asyncio.Event()

    async def hold(route: Route) -> None:
        await free.wait()
        await route.continue_()

    def note(request: Request) -> None:
        if "/console/search" in request.url:
            asked.append(request.url)

    async with console(tmp_path) as site, browser() as chromium:
        await _lived(site)
        page = await chromium.new_page()
        page.on("request", note)
        await page.goto(site.url)
        await page.locator("#filter").get_by_text("All", exact=True).click()
        rows, words, found = (
            page.locator("#entries > [data-seq]"),
            page.locator("#words"),
            page.locator("#found"),
        )
        await expect(rows).to_have_count(4)
        await words.press_sequentially("hero")
        await expect(found).to_have_text("3 entries")
        assert len(asked) == 1, "one question for four letters"
        await page.route("**/console/search**", hold)
        await words.press_sequentially("n")
        await expect(found).to_have_text("…")
        await words.press_sequentially("s")
        await words.press("Enter")
        assert len(asked) == 2, "one runs at a time"
        free.set()
        await expect(found).to_have_text("1 entry")
        await expect(rows).to_have_count(1)
        assert [one.partition("words=")[2].partition("&")[0] for one in asked] == ["hero", "heron", "herons"]
        await words.fill("plums")
        await words.press("Enter")
        await expect(rows).to_contain_text(["plums"])
        await words.fill("")
        await expect(rows).to_have_count(4)
        await expect(found).to_be_hidden()


async def test_words_that_are_too_long_to_search_for_are_told_of_and_not_cut(
    browsed_site: Site, chromium: Windows
) -> None:
    await _lived(browsed_site)
    page = await chromium.new_page()
    await page.goto(browsed_site.url)
    field = page.locator("#words")
    wrong = "(field) => field.validationMessage"
    await field.fill("heron " * 50)
    await field.press("Enter")
    assert await field.evaluate(wrong) == "At most 200 characters are searched for."
    await field.fill("heron")
    await field.press("Enter")
    assert await field.evaluate(wrong) == ""
    await expect(page.locator("#found")).to_have_text("2 entries")
