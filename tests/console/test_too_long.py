"""A text too long for a message, turned into a file."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.test_drop import seat

pytestmark = IN_A_BROWSER

MOST = 40_000


async def test_a_paste_over_40_000_characters_is_told_of_and_kept_whole(
    tmp_path: Path, browser: Browsing
) -> None:
    async with seat(tmp_path, browser) as (_, page):
        field, told = page.locator("#composer textarea"), page.locator("#composer .too-long")
        await field.fill("x" * MOST)
        await expect(told).to_be_hidden()
        await field.fill("y" * 180_000)
        await expect(told.get_by_role("alert")).to_have_text(
            "This is too long for one message: 180,000 characters, and 40,000 are the most. "
            "Shorten it, or share it as a file."
        )
        assert len(await field.input_value()) == 180_000
        await field.press("Enter")
        await expect(page.locator("#messages .message")).to_have_count(0)
        assert len(await field.input_value()) == 180_000, "it is not sent, and waits there"
        await field.fill("<" * 15_000)
        await expect(told).to_contain_text("60,000 characters")  # escaped, as it is sent
        await field.fill("@Alice " * 3_000)
        await expect(told).to_contain_text("44,999 characters")
        await field.fill("🙂" * MOST)
        await expect(told).to_be_hidden()


async def test_a_long_paste_becomes_a_text_file_that_is_sent_whole(tmp_path: Path, browser: Browsing) -> None:
    async with seat(tmp_path, browser, said="Here is the log.") as (_, page):
        await page.locator(".thread").first.click()
        for form in (".thread.open .reply", "#composer"):
            composer = page.locator(form).first
            field = composer.locator("textarea")
            await field.fill("äb " * 20_000)
            await composer.get_by_role("button", name="Make it a text file").click()
            await expect(composer.locator(".too-long")).to_be_hidden()
            await expect(field).to_have_value("")
            await expect(field).to_be_focused()
            await expect(composer.locator(".chips .name")).to_have_text("pasted-text.txt")
            await field.fill("What does it say?")
            await field.press("Enter")
            await expect(composer.locator(".chips .name")).to_have_count(0)
        files = page.locator("#messages .file")
        await expect(files).to_have_count(2)
        await expect(files.first).to_contain_text("80 kB")


async def test_a_draft_that_is_too_long_is_told_of_again_when_one_comes_back(
    tmp_path: Path, browser: Browsing
) -> None:
    async with seat(tmp_path, browser) as (_, page):
        told = page.locator("#composer .too-long")
        await page.locator("#composer textarea").fill("x" * (MOST + 1))
        await expect(told).to_contain_text("40,001 characters")
        await page.locator("#places").get_by_role("button", name="general").click()
        await expect(told).to_be_hidden()
        await page.locator("#places").get_by_role("button", name="Claudius").click()
        await expect(told).to_contain_text("40,001 characters")
