"""Every view at three widths, light and dark: nothing cut, overlapping or distorted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import Page, ViewportSize, expect
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, BOB, CAROL, SOUL
from tests.console.browser import ALL_DRAWN, IN_A_BROWSER, Browsing
from tests.console.lived_in import write_a_life
from tests.console.looks import faults_of, shoot
from tests.console.test_each_view import VIEWS as BESIDE_THE_CHAT
from tests.console.theatre import premiere
from tests.signed_in import SHOWN
from tests.soak import later

pytestmark = IN_A_BROWSER

SIZES = {
    1440: ViewportSize(width=1440, height=900),
    1024: ViewportSize(width=1024, height=768),
    390: ViewportSize(width=390, height=844),
}
CITING = (
    'Two rows, says [shop.csv:1 "name,amount"; paper.pdf p.3 "a line of the paper, quoted whole"]. Here:\n'
    '- [shop.csv:2 "plums,12"]\n- Soup of the day (cafe/cakes.md:3)'
)
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitän" * 3
GENERAL, BACKROOM = "C0GENERAL01", "C0BACKROOM4"


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    url: str
    dm: str
    group: str


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    home = tmp_path_factory.mktemp("layout")
    await write_a_life(home / "rehearsal-journal.db", rehearsed=True)
    async with premiere(home) as url, ClientSession(headers=SHOWN) as session:
        alice, soul = (
            AsyncWebClient(token=token, base_url=f"{url}/api/", session=session)
            for token in (ALICE.token, SOUL.bot_token)
        )
        group = (await alice.conversations_open(users=[BOB.id, CAROL.id, SOUL.user]))["channel"]["id"]
        dm = (await alice.conversations_open(users=[SOUL.user]))["channel"]["id"]
        for channel in (GENERAL, BACKROOM, group):
            await alice.chat_postMessage(channel=channel, text=f"Lunch? {LONG_WORD}")
        root = await alice.chat_postMessage(channel=dm, text="!help")
        lines = "\n".join(f"line {number} of a long message" for number in range(1, 501))
        await alice.chat_postMessage(channel=dm, text=lines, thread_ts=root["ts"])
        for _ in range(5):
            await soul.chat_postMessage(channel=dm, text=CITING, thread_ts=root["ts"])
        yield House(url=url, dm=dm, group=group)


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (1440, "light"),
        later(1440, "dark"),
        later(1024, "light"),
        later(1024, "dark"),
        (390, "light"),
        later(390, "dark"),
    ],
)
async def test_no_text_is_cut_or_lies_upon_another_in_any_view(
    house: House, width: int, theme: str, browser: Browsing
) -> None:
    faults: dict[str, list[str]] = {}
    async with browser() as chromium:
        page = await chromium.new_page(
            viewport=SIZES[width],
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
        )
        page.on("pageerror", lambda error: faults.setdefault("script", []).append(str(error)))
        await page.goto(f"{house.url}/#{house.dm}")
        await expect(page.locator("#tour")).to_be_visible()
        for view, turn_to in {**CHAT, **JOURNAL}.items():
            await turn_to(page, house)
            await page.evaluate(ALL_DRAWN)
            faults[view] = await faults_of(page)
            await shoot(page, f"layout-{view}-{width}-{theme}")
    assert {view: found for view, found in faults.items() if found} == {}


async def _to_dm(page: Page, house: House) -> None:
    await page.evaluate(f"location.hash = '#{house.dm}'")
    await expect(page.locator("#messages .show-all")).to_have_text("Show all 500 lines")


async def _to_quotation(page: Page, house: House) -> None:
    await page.locator("#messages .citation").last.click()
    await expect(page.locator("#quotation")).to_be_visible()


async def _to_panel(page: Page, house: House) -> None:
    await page.keyboard.press("Escape")
    await expect(page.locator("#quotation")).to_be_hidden()
    await page.locator(".all-replies:visible").first.click()
    await expect(page.locator("#panel-messages .message").nth(6)).to_be_attached()


async def _to_too_long(page: Page, house: House) -> None:
    await page.locator("#panel-close").click()
    await page.locator("#composer textarea").fill("much " * 9_000)
    await expect(page.locator("#composer .too-long")).to_be_visible()


async def _to_group(page: Page, house: House) -> None:
    await page.locator("#composer textarea").fill("")
    await page.evaluate(f"location.hash = '#{house.group}'")
    await expect(page.locator("#place")).to_have_text("Bob, Carol, Claudius")
    await expect(page.locator("#messages .message")).to_have_count(1)


async def _to_private(page: Page, house: House) -> None:
    await page.evaluate(f"location.hash = '#{BACKROOM}'")
    await expect(page.locator("#place").get_by_role("img", name="Private channel")).to_be_visible()


async def _to_general(page: Page, house: House) -> None:
    await page.evaluate(f"location.hash = '#{GENERAL}'")
    await expect(page.locator("#place")).to_have_text("# general")


async def _to_faults(page: Page, house: House) -> None:
    await page.locator("#faults-toggle").click()
    await expect(page.locator("#faults-list li").first).to_be_visible()


def _beside_the_chat(name: str) -> Callable[[Page, House], Awaitable[None]]:
    async def turn_to(page: Page, _house: House) -> None:
        if await page.locator("#faults").is_visible():
            await page.locator("#faults-close").click()
        await BESIDE_THE_CHAT[name](page)

    return turn_to


def _tab(name: str) -> Callable[[Page, House], Awaitable[None]]:
    async def turn_to(page: Page, _house: House) -> None:
        await page.keyboard.press("Escape")
        if not await page.locator("#journal").is_visible():
            await page.locator("#journal-toggle").click()
        await page.locator("#filter").get_by_text(name, exact=True).click()

    return turn_to


async def _to_search(page: Page, house: House) -> None:
    await page.locator("#words").fill("disk")
    await expect(page.locator("#found")).to_contain_text("entr")


async def _to_call(page: Page, house: House) -> None:
    await page.keyboard.press("Escape")
    await page.locator("#filter").get_by_text("All", exact=True).click()
    await page.locator("#entries .open").last.click()
    await expect(page.locator("#call .jumps button").first).to_be_visible()


CHAT: dict[str, Callable[[Page, House], Awaitable[None]]] = {
    "dm": _to_dm,
    "quotation": _to_quotation,
    "panel": _to_panel,
    "too-long": _to_too_long,
    "group": _to_group,
    "private": _to_private,
    "general": _to_general,
    "faults": _to_faults,
}
JOURNAL: dict[str, Callable[[Page, House], Awaitable[None]]] = {
    **{name: _beside_the_chat(name) for name in BESIDE_THE_CHAT},
    **{f"tab-{name}": _tab(name) for name in ("Turns", "Thoughts", "Readings", "This thread", "All")},
    "search": _to_search,
    "call": _to_call,
}
"""Steps to each view, in order."""
