"""Each view of the page, in Slack and rehearsed, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, ViewportSize, expect

from tests.console.browser import IN_A_BROWSER, Browsing, daemon
from tests.console.lived_in import connected, write_a_life
from tests.console.looks import faults_of, shoot
from tests.soak import later

pytestmark = IN_A_BROWSER

SIZES = {1440: ViewportSize(width=1440, height=900), 390: ViewportSize(width=390, height=844)}


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    name: str
    url: str


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    home: Path = tmp_path_factory.mktemp("house")
    rehearsed = request.param == "rehearsed"
    await write_a_life(home / ("rehearsal-journal.db" if rehearsed else "journal.db"), rehearsed=rehearsed)
    async with daemon(home) if rehearsed else connected(home) as url:
        yield House(name=request.param, url=url)


@pytest.mark.parametrize(
    ("house", "width", "theme"),
    [
        later("rehearsed", 1440, "light"),
        later("rehearsed", 1440, "dark"),
        later("rehearsed", 390, "light"),
        later("rehearsed", 390, "dark"),
        later("connected", 1440, "light"),
        later("connected", 1440, "dark"),
        later("connected", 390, "light"),
        ("connected", 390, "dark"),
    ],
    indirect=["house"],
)
async def test_each_view_is_whole_readable_and_calls_people_by_their_names(
    house: House, width: int, theme: str, browser: Browsing
) -> None:
    faults: dict[str, list[str]] = {}
    async with browser() as chromium:
        page = await chromium.new_page(
            viewport=SIZES[width],
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",  # animations would be measured midway
        )
        page.on("pageerror", lambda error: faults.setdefault("script", []).append(str(error)))
        await page.goto(house.url)
        await expect(page.locator("#today")).to_contain_text("Today")
        for view, turn_to in VIEWS.items():
            await turn_to(page)
            await expect(page.locator(".mention", has_text="…")).to_have_count(0)
            faults[view] = await faults_of(page)
            await shoot(page, f"{house.name}-{width}-{theme}-{view}")
    assert {view: found for view, found in faults.items() if found} == {}


async def _to_view(page: Page, name: str, shown: str) -> None:
    await _close_journal(page)
    await page.locator("#views").get_by_role("link", name=name).click()
    await expect(page.locator("#view-body")).to_contain_text(shown)


async def _to_threads(page: Page) -> None:
    await _to_view(page, "Threads", "Write the menu")


async def _to_questions(page: Page) -> None:
    await _to_view(page, "Questions", "may I delete")


async def _to_people(page: Page) -> None:
    await _to_view(page, "People", "Alice")
    await page.locator(".person", has_text="Alice").locator("summary").click()
    await expect(page.locator("#view-body")).to_contain_text("frozen on Fridays")


async def _to_costs(page: Page) -> None:
    await _to_view(page, "Costs", "model calls")


async def _to_health(page: Page) -> None:
    await _to_view(page, "Health", "The journal is whole")


async def _to_turns(page: Page) -> None:
    await _to_view(page, "Threads", "Write the menu")
    asked = page.locator(".began", has_text="clean up the old logs")  # answers elsewhere may quote it
    await page.locator(".threads .row", has=asked).click()
    await expect(page.locator("#turns")).to_contain_text("I would delete 214 files")


async def _to_all(page: Page) -> None:
    await _open_journal(page)
    await page.locator("#filter").get_by_text("All", exact=True).click()
    await expect(page.locator("#entries")).to_contain_text("which dishes", ignore_case=True)


async def _to_comparison(page: Page) -> None:
    await _to_view(page, "Threads", "Write the menu")
    await page.locator(".threads .row", has_text="Day 1").click()
    thoughts = page.locator("#turns .turn .figures .unfold").last
    await thoughts.click()
    await page.locator("#turns .entry[data-kind='model-call'] .open").last.click()
    await page.locator(".comparison select").select_option(index=1)
    await expect(page.locator(".difference .told").first).to_be_visible()


async def _to_keys(page: Page) -> None:
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()


async def _open_journal(page: Page) -> None:
    if not await page.locator("#journal").is_visible():
        await page.locator("#journal-toggle").click()
    upper = "(node) => node.getBoundingClientRect().top"
    assert await page.locator("#journal").evaluate(upper) == await page.locator("main").evaluate(upper)


async def _close_journal(page: Page) -> None:
    toggle = page.locator("#journal-toggle")
    if await toggle.get_attribute("aria-expanded") == "true":
        await toggle.click()


VIEWS: dict[str, Callable[[Page], Awaitable[None]]] = {
    "threads": _to_threads,
    "questions": _to_questions,
    "people": _to_people,
    "costs": _to_costs,
    "health": _to_health,
    "turns": _to_turns,
    "all": _to_all,
    "compare": _to_comparison,
    "keys": _to_keys,
}
"""Steps to each view, in order."""
