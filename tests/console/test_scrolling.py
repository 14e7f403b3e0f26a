"""A long journal in the browser, paged and searched."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.kinds import CellBegan, ReadingBegan, ReadingEnded, SelfCall, SpeechFinished
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import THREAD, Desk, desk
from tests.console.shelf import READ, SIZE, name, shoot, turn_to, write
from tests.console.site import message
from tests.soak import SOAK, later
from tests.stories.stage import ALICE

pytestmark = IN_A_BROWSER

PHONE = ViewportSize(width=390, height=700)
NOBODY = {"workspace": False, "model": False}
LONG = 1_200
SCROLLED = "(node) => (node.scrollIntoView({ block: 'start' }), node.getBoundingClientRect().top)"
"""Scroll to the top edge, and return the position at once."""

HIDDEN = """
  Object.defineProperty(document, "hidden", {{ value: {hidden}, configurable: true }});
  document.dispatchEvent(new Event("visibilitychange"));
"""


async def lived(world: Desk, count: int = LONG) -> None:
    await world.remember(ALICE, "1.1", [])
    places = {"inside": THREAD, "outside": "sess-0000beef"}
    said = [(thread, f"{where} no. {n}") for n in range(count) for where, thread in places.items()]
    await asyncio.gather(*(world.journal.append(thread, message(text), key=text) for thread, text in said))


async def opened(chromium: Windows, world: Desk, at: str = f"#{THREAD}", size: ViewportSize = SIZE) -> Page:
    page = await chromium.new_page(viewport=size)
    await page.goto(f"{world.url}/{at}")
    await turn_to(page, "This thread" if at == f"#{THREAD}" else "All")
    return page


def row(page: Page, text: str) -> Locator:
    return page.locator("#entries > [data-seq]").filter(has_text=re.compile(f"{re.escape(text)}(?!\\d)"))


def card(page: Page, text: str) -> Locator:
    return page.locator("#turns > .turn").filter(has_text=re.compile(f"{re.escape(text)}(?!\\d)"))


async def top(place: Locator) -> float:
    found: float = await place.evaluate("(node) => node.getBoundingClientRect().top")
    return found


async def scroll(page: Page, to: str) -> None:
    await page.locator("#entries").evaluate(f"(list) => (list.scrollTop = {to})")


async def test_who_scrolls_up_reads_on_and_what_is_in_sight_stays_there(
    world: Desk, chromium: Windows
) -> None:
    await lived(world)
    page = await opened(chromium, world)
    await expect(row(page, f"inside no. {LONG - 1}")).to_be_in_viewport()
    await shoot(page, "newest")
    rows = page.locator("#entries > [data-seq]")
    assert await rows.count() <= 300, "a page, not all of it"
    await expect(page.locator("#entries > .more")).to_have_text("Older entries")
    first = row(page, f"inside no. {LONG - 200}")
    before = await first.evaluate(SCROLLED)
    await expect(row(page, f"inside no. {LONG - 201}")).to_have_count(1)
    assert abs(await top(first) - before) < 2
    await page.locator("#entries").focus()
    for oldest in range(LONG - 400, -1, -200):
        await scroll(page, "0")
        await expect(row(page, f"inside no. {oldest}")).to_have_count(1)
        assert await rows.count() <= 1_000, "those far away are let go"
    await scroll(page, "0")
    began = page.locator("#entries > [data-kind='thread']")
    await expect(began).to_have_count(1)
    await scroll(page, "0")
    await expect(began).to_be_in_viewport()
    await expect(page.locator("#entries > .more")).to_have_text("Newer entries")
    await world.journal.append(THREAD, message("meanwhile"), key="meanwhile")
    await scroll(page, "list.scrollHeight")
    await expect(row(page, f"inside no. {1_099}")).to_have_count(1)
    await page.keyboard.press("G")
    await expect(row(page, "meanwhile")).to_be_focused()
    await expect(rows).to_have_count(200)
    await world.journal.append(THREAD, message("and now"), key="now")
    await expect(row(page, "and now")).to_be_in_viewport()


@SOAK
async def test_a_link_to_an_entry_opens_the_page_around_it(world: Desk, chromium: Windows) -> None:
    await lived(world, 700)
    found = world.journal.get("inside no. 300")
    alone, _ = await world.journal.append("other", message("in no conversation"), key="alone")
    assert found
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(f"{world.url}/#{found.seq}")
    await expect(card(page, "inside no. 300")).to_be_focused()
    await expect(card(page, "inside no. 300")).to_be_in_viewport()
    await expect(page.get_by_role("radio", name="Turns")).to_be_checked()
    await expect(page.locator("#turns > [data-thread='sess-0000beef']")).to_have_count(0)
    await expect(page.locator("#turns > .more")).to_have_text(["Older turns", "Newer turns"])
    await turn_to(page, "All")
    await expect(row(page, "in no conversation")).to_be_in_viewport()
    await row(page, "outside no. 699").locator(".seq").click()
    await expect(card(page, "outside no. 699")).to_be_focused()
    await page.evaluate(f"location.hash = '#{alone.seq}'")
    await expect(row(page, "in no conversation")).to_be_focused()
    await expect(page.locator("#filter").get_by_role("radio", name="All")).to_be_checked()


@SOAK
async def test_words_are_found_however_long_ago_they_were_said(world: Desk, chromium: Windows) -> None:
    await world.journal.append(THREAD, message("A Kingfisher over the weir!"), key="kingfisher")
    await lived(world, 400)
    await world.journal.append(
        "sess-0000beef", SelfCall(text="The kingfisher was <b>blue</b>."), key="thought"
    )
    page = await opened(chromium, world, "")
    await expect(row(page, "The kingfisher was <b>blue</b>.")).to_be_in_viewport()
    await page.keyboard.press("/")
    await page.keyboard.type("KINGFISHER")
    await page.keyboard.press("Enter")
    rows = page.locator("#entries > [data-seq]")
    await expect(rows).to_have_count(2)
    await expect(page.locator("#found")).to_have_text("2 entries")
    await shoot(page, "found")
    await world.journal.append(THREAD, SpeechFinished(text="Not about birds.", ts="9"), key="spoken")
    await page.locator("#words").fill("no. 12")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(28)
    await page.locator("#words").fill("heron")
    await page.keyboard.press("Enter")
    await expect(page.locator("#entries")).to_have_text("Nothing was found in any thread.")
    await page.keyboard.press("Escape")
    await expect(row(page, "Not about birds.")).to_be_in_viewport()
    await page.locator("#words").fill("weir")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await rows.locator(".seq").click()
    await expect(card(page, "over the weir")).to_be_focused()
    await expect(page.locator("#words")).to_have_value("")
    await expect(card(page, "inside no. 5")).to_have_count(1)
    await page.get_by_label("Search all threads").fill("outside")
    await page.keyboard.press("Enter")
    await expect(row(page, "outside no. 399")).to_be_in_viewport()
    await turn_to(page, "This thread")
    await expect(page.get_by_label("Search this thread")).to_have_value("outside")
    await expect(page.locator("#entries")).to_have_text("Nothing was found in this thread.")
    await page.get_by_role("button", name="In all threads").click()
    await expect(row(page, "outside no. 399")).to_be_in_viewport()
    await turn_to(page, "Thoughts")
    await expect(page.locator("#words")).to_have_value("")
    await expect(page.get_by_role("tree")).to_be_visible()


async def test_words_that_are_forgotten_vanish_from_a_page_that_is_open(
    world: Desk, chromium: Windows
) -> None:
    await lived(world, 5)
    secret, _ = await world.journal.append(THREAD, message("a secret"), key="secret")
    page = await opened(chromium, world)
    await expect(row(page, "a secret")).to_be_visible()
    await page.locator("#words").fill("secret")
    await page.keyboard.press("Enter")
    await expect(page.locator("#found")).to_have_text("1 entry")
    await world.journal.forget([secret.seq], thread=THREAD, key="forget", why="asked")
    await expect(page.locator("#entries")).to_have_text("Nothing was found in this thread.")
    await page.locator("#words").fill("")
    for view in ("This thread", "All", "Turns", "Thoughts"):
        await turn_to(page, view)
        await expect(page.locator("#journal")).to_contain_text("inside no. 4")
        await expect(page.locator("#journal")).not_to_contain_text("a secret")


@SOAK
async def test_trees_go_back_as_well_and_stay_as_they_were_unfolded(world: Desk, chromium: Windows) -> None:
    await world.remember(ALICE, "1.1", [])
    await write(world, f"{READ}/reading#1", ReadingBegan(question="Long ago?", shape="a str"))
    await write(world, f"{READ}/cell#1", CellBegan(name="cell", code="pass"))
    await lived(world, 250)
    ended = ReadingEnded(answer="Yes.", reason="answered", partial=False, iterations=1, calls=1)
    await write(world, f"{READ}/reading-ended#1", ended)
    page = await opened(chromium, world)
    await expect(row(page, "inside no. 249")).to_be_visible()
    await turn_to(page, "Thoughts")
    tree = page.locator("#tree")
    said = tree.locator(".talk[data-kind='message']").filter(has_text=re.compile(r"inside no. 249\b"))
    await expect(said).to_be_visible()
    await expect(tree.get_by_text("inside no. 20", exact=True)).to_have_count(0)
    await tree.get_by_role("button", name="Older thoughts").click()
    await expect(tree.get_by_text("inside no. 20", exact=True)).to_have_count(1)
    await expect(tree.get_by_role("button", name="Older thoughts")).to_have_count(0)
    await page.reload()
    await expect(page.locator("#turns > .more")).to_have_text("Older turns")
    await expect(card(page, "inside no. 249")).to_be_visible()
    await turn_to(page, "Readings")
    tree = page.locator("#readings")
    root = tree.locator("> .root")
    await expect(name(root)).to_have_text("Its beginning is not in sight.")
    await root.locator("> .top-of-branch > .head").click()
    await expect(name(root)).to_have_text("Long ago?")
    await expect(root.locator(".cell .code")).to_contain_text("pass")
    await tree.get_by_role("button", name="Older readings").click()
    await expect(tree.get_by_role("button", name="Older readings")).to_have_count(0)
    await expect(root).to_have_attribute("aria-expanded", "true")


@SOAK
@pytest.mark.parametrize("dark", [later(False), True])
async def test_it_is_searched_on_a_phone(tmp_path: Path, dark: bool, browser: Browsing) -> None:
    async with desk(tmp_path) as world, browser() as chromium:
        await lived(world, 60)
        page = await chromium.new_page(viewport=PHONE, color_scheme="dark" if dark else "light")
        await page.goto(world.url)
        await page.get_by_role("button", name="Journal").click()
        await turn_to(page, "All")
        await expect(row(page, "inside no. 59")).to_be_visible()
        await shoot(page, f"phone-{dark}")
        await page.locator("#words").fill("no. 4")
        await page.keyboard.press("Enter")
        await expect(page.locator("#found")).to_have_text("30 entries")
        await shoot(page, f"phone-found-{dark}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert await page.locator("#journal").evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0


@SOAK
async def test_a_page_that_was_hidden_for_long_goes_on_with_the_newest(
    world: Desk, chromium: Windows
) -> None:
    await lived(world, 5)
    page = await opened(chromium, world)
    await expect(row(page, "inside no. 4")).to_be_visible()
    await page.evaluate(HIDDEN.format(hidden="true"))
    meanwhile = [f"meanwhile no. {n}" for n in range(1_200)]
    await asyncio.gather(*(world.journal.append(THREAD, message(text), key=text) for text in meanwhile))
    await page.evaluate(HIDDEN.format(hidden="false"))
    await expect(row(page, "meanwhile no. 1199")).to_be_in_viewport()
    await expect(page.locator("#entries > [data-seq]")).to_have_count(200)
    await scroll(page, "0")
    await expect(row(page, "meanwhile no. 800")).to_have_count(1)
    await turn_to(page, "All")
    await expect(row(page, "meanwhile no. 1199")).to_be_in_viewport()
    await world.journal.append(THREAD, message("and now"), key="now")
    await expect(row(page, "and now")).to_be_in_viewport()
