"""A long file read for a newcomer without keys."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.shelf import cell_of, figures, name, state, turn_to
from tests.console.test_drop import drop, held, picture
from tests.console.theatre import premiere

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=1000)
QUESTION = "How many lines mention the ferry?"
WEATHER = (
    "calm, all boats out",
    "rain until noon",
    "fog, nobody sails",
    "wind from the west, two boats stay",
)
LATE = "the ferry to Norrland is late, and the market waits for its fish"


def log() -> str:
    """Return a harbour's log: 1,250 days, every fiftieth with a ferry."""
    return "\n".join(f"Day {day}: {LATE if day % 50 == 0 else WEATHER[day % 4]}." for day in range(1, 1_251))


async def test_a_file_is_dropped_asked_about_and_answered_with_places(
    tmp_path: Path, browser: Browsing
) -> None:
    text = log()
    assert len(text) > 40_000, "too long for one call"
    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        await page.goto(address)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await turn_to(page, "Readings")
        await ask(page, QUESTION, ("harbour.txt", text))
        replies = page.locator(".thread.open .replies")
        await expect(replies).to_contain_text("25 of 1,250 lines in harbour.txt hold “ferry”.")
        await expect(replies).to_contain_text(f"Day 50: {LATE}. harbour.txt:50")
        await expect(replies).to_contain_text("I looked for these words alone")
        root = page.locator("#readings > .root")
        await expect(name(root)).to_have_text(QUESTION)
        await expect(state(root)).to_have_text("answered")
        await expect(figures(root)).to_contain_text("2 rounds · 2 calls")
        await expect(cell_of(root, 0).locator(".code")).to_contain_text("ferry")
        await expect(cell_of(root, 0).locator(".output")).to_contain_text("“ferry”: 25 times in 25 lines")
        await page.locator("#readings").evaluate("(node) => node.scrollTo(0, 0)")
        await picture(page, "read-file")
        await ask(page, "What does it say about fish?", ("note.txt", "No fish today.\nThe ferry is late."))
        await expect(page.locator(".thread.open .replies")).to_contain_text("note.txt:1")
        await expect(name(root.first)).to_have_text("What does it say about fish?")
        await picture(page, "read-short-file")
    assert complaints == []


async def ask(page: Page, question: str, file: tuple[str, str]) -> None:
    await drop(page.locator("#composer"), await held(page, file))
    await page.locator("#composer textarea").fill(question)
    await page.locator("#composer textarea").press("Enter")
