"""Citations on the page."""

from __future__ import annotations

from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import expect
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, SOUL
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import Desk, desk
from tests.console.site import Site
from tests.console.theatre import premiere
from tests.signed_in import SHOWN

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
LINK = "https://rehearsal.slack.com/archives/C0GENERAL01/p{ts}?thread_ts={root}&cid=C0GENERAL01"
RENDER = """async (text) => {
  const { markup } = await import("/static/base/markup.js");
  const box = document.createElement("div");
  box.append(...markup(text));
  const cites = [...box.querySelectorAll(".citation")];
  return [box.textContent, cites.map(({ dataset }) => [dataset.head, dataset.quote])];
}"""
CITED = {
    'So [s.csv:1 "name,amount"].': ("So s.csv:1.", [("s.csv:1", "name,amount")]),
    'So [a.txt:1 "one"; p.pdf p.3 “two ] ”].': (
        "So a.txt:1 p.pdf p. 3.",
        [("a.txt:1", "one"), ("p.pdf p.3", "two ] ")],
    ),
    'So [my log.txt:3-9 "it said "yes" there"].': (
        "So my log.txt:3-9.",
        [("my log.txt:3-9", 'it said "yes" there')],
    ),
    'So [a.txt:1 "one\ntwo"].': ("So a.txt:1.", [("a.txt:1", "one two")]),
    'So [a.txt:1 "1 &lt; 2 &amp; 3"].': ("So a.txt:1.", [("a.txt:1", "1 < 2 & 3")]),
    '- [a.txt:1 "alone"]': ("alone a.txt:1", [("a.txt:1", "alone")]),
    "Soup (cafe/cakes.md:3; b.md:4-6).": (
        "Soup (cafe/cakes.md:3 b.md:4-6).",
        [("cafe/cakes.md:3", ""), ("b.md:4-6", "")],
    ),
    'He [said "hi"] (example.com:80).': ('He [said "hi"] (example.com:80).', []),
    'As `[a.txt:1 "code"]` says': ('As [a.txt:1 "code"] says', []),
    '[a.txt:1 "never ends': ('[a.txt:1 "never ends', []),
    'Page [https://example.org/x "words"].': ("Page example.org.", [("https://example.org/x", "words")]),
}


async def test_a_bracket_that_cites_becomes_short_places_and_others_stay(
    browsed_site: Site, chromium: Windows
) -> None:
    page = await chromium.new_page()
    await page.goto(f"{browsed_site.url}/healthz")
    for text, expected in CITED.items():
        words, found = await page.evaluate(RENDER, text)
        assert (words, [tuple(one) for one in found]) == expected


async def test_a_citation_shows_its_words_by_mouse_and_keyboard_and_leads_to_the_message(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path, rehearsed={"workspace": True, "model": False}) as here, browser() as chromium:
        root = await _message(here)
        href = LINK.format(ts=root.replace(".", ""), root=root)
        said = f'Twelve, says [shop.csv:2 "plums, <12>"], and [{href} "Lunch at noon"].'
        await here.client(SOUL.bot_token).chat_postMessage(channel=DM, text=said)
        page = await chromium.new_page()
        await page.goto(f"{here.url}/#{DM}")
        cites, card = page.locator("#messages .citation"), page.locator("#quotation")
        await expect(cites).to_have_text(["shop.csv:2", "a message"])
        await expect(cites.first).to_have_attribute("title", "shop.csv:2: “plums, <12>”")
        await cites.first.click()
        await expect(card.locator("blockquote")).to_have_text("plums, <12>")
        await page.keyboard.press("Escape")
        await expect(card).to_be_hidden()
        await expect(cites.first).to_be_focused()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(card.locator("blockquote")).to_have_text("Lunch at noon")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("#place")).to_have_text("# general")
        await expect(page.locator("#panel-messages")).to_contain_text("Lunch at noon")


async def _message(here: Desk) -> str:
    said = await here.client(ALICE.token).chat_postMessage(channel="C0GENERAL01", text="Lunch at noon")
    return str(said["ts"])


async def test_what_was_found_in_a_file_is_quoted_and_leads_to_the_entry_that_found_it(
    tmp_path: Path, browser: Browsing
) -> None:
    async with (
        premiere(tmp_path) as address,
        browser() as chromium,
        ClientSession(headers=SHOWN) as session,
    ):
        alice = AsyncWebClient(token=ALICE.token, base_url=f"{address}/api/", session=session)
        asked = f"<@{SOUL.user}> the espresso machine is dripping again. What can we do?"
        await alice.chat_postMessage(channel="C0GENERAL01", text=asked)
        page = await chromium.new_page()
        await page.goto(f"{address}/#C0GENERAL01")
        cite = page.locator("#messages .citation", has_text="cafe/espresso-machine.md:5")
        await cite.click()
        card = page.locator("#quotation")
        await expect(card.locator("blockquote")).to_contain_text("If the espresso machine is dripping")
        await card.get_by_role("link", name="Where it was found").click()
        await expect(page.locator("#turns .current")).to_contain_text("Research gives")
        await expect(card).to_be_hidden()
