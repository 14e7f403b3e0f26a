"""The owner's views of a soul in Slack."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from rehearsal.people import BOB, SOUL
from tests.console.browser import ALL_DRAWN, IN_A_BROWSER, SLOW, Browsing, Windows, daemon, late
from tests.console.lived_in import GENERAL, OPS, connected, write_a_life
from tests.soak import SOAK, later

pytestmark = IN_A_BROWSER

SIZE = ViewportSize(width=1440, height=900)
NARROW = ViewportSize(width=390, height=844)
THREADS = 66
FIRST = re.compile(r"general ?@Claudius Good morning!")
TO_THE_END = """(count) => {
    const rows = document.querySelectorAll(".threads .row");
    rows[rows.length - 1].scrollIntoView();
    return rows.length === count;
}"""
"""Script that scrolls to the last row until this many exist."""
VIEWS = ("threads", "questions", "people", "costs", "health")


async def test_an_owner_finds_their_way_with_slack_connected(tmp_path: Path, browser: Browsing) -> None:
    await write_a_life(tmp_path / "journal.db", threads=THREADS - 6)
    async with connected(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(address)
        await _look_through_threads(page)
        await _look_at_questions(page)
        await _look_at_people(page)
        await _look_at_costs(page)
        await _look_at_health(page)
        await _walk_by_keys(page)
        await page.goto(f"{address}/#people")
        await page.reload()
        await expect(page.locator("#view-title")).to_have_text("People")
        page = await chromium.new_page(viewport=NARROW)
        await page.goto(f"{address}/#threads")
        await page.locator(".threads .row").first.click()
        await expect(page.locator("#journal")).to_be_in_viewport()
    assert complaints == []


@SOAK
async def test_on_a_narrow_window_nothing_stands_beside_a_view(tmp_path: Path, browser: Browsing) -> None:
    await write_a_life(tmp_path / "journal.db", threads=THREADS - 6)
    async with connected(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=NARROW, color_scheme="dark")
        for view in VIEWS:
            await page.goto(f"{address}/#{view}")
            await page.reload()
            await expect(page.locator("#view-body > * > *").first).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], view


@SOAK
async def test_beside_a_local_workspace_the_views_and_the_chat_take_turns(
    address: str, chromium: Windows
) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await page.locator("#composer textarea").fill("Good morning!")
    await page.keyboard.press("Enter")
    await expect(page.locator(".thread.open .replies .text")).to_be_visible()
    await expect(page.locator("#scope")).to_contain_text("Alice Good morning!")
    await page.get_by_role("button", name="All threads").click()
    await expect(page.locator("#scope .name")).to_have_text("All threads")
    await expect(page.locator("#turns")).to_contain_text("Good morning!")
    await page.get_by_role("link", name="Threads").click()
    await expect(page.locator("#conversation")).to_be_hidden()
    await expect(page.locator(".threads .row .began")).to_have_text(["Good morning!"])
    await page.get_by_role("button", name="general").click()
    await expect(page.locator("#view")).to_be_hidden()
    await expect(page.locator("#place")).to_have_text("# general")
    await _be_told_of_what_is_new(page, address)
    await page.goto(f"{address}/#costs")
    await page.reload()
    await expect(page.locator(".sums")).to_contain_text("$0today, of $5.00")
    await expect(page.locator("#today")).to_contain_text("simulated")
    [worth] = re.findall(r"simulated (\S+)", await page.locator("#today").inner_text())
    await expect(page.locator(".sums")).to_contain_text(f"{worth}simulated cost today")
    await page.get_by_role("link", name="Threads").click()
    await expect(page.locator(".threads .facts")).to_have_text(f"1 turnsimulated {worth}")
    await page.get_by_role("link", name="People").click()
    await expect(page.locator(".person .facts")).to_have_text(f"1 thread · simulated {worth}")


@SOAK
async def test_who_turns_to_another_view_while_the_page_begins_stays_there(
    tmp_path: Path, browser: Browsing
) -> None:
    async with daemon(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        async with late(page, "**/rehearsal/tour"):
            await page.goto(f"{address}/#costs")
            await expect(page.locator("#place")).to_have_text("Claudius", use_inner_text=False)
            await page.get_by_role("link", name="Threads").click()
        await expect(page.locator("#tour-toggle")).to_be_visible()
        await expect(page.locator("#view-title")).to_have_text("Threads")


@SOAK
async def test_health_is_looked_at_again_by_itself(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.route("**/console/journal*", lambda route: route.abort())  # blocks its events
    await page.goto(f"{address}/#health")
    await expect(page.locator(".health")).to_contain_text("It hears.")
    await page.route("**/healthz", lambda route: route.abort())
    await expect(page.locator(".health")).to_contain_text("The daemon does not answer.")


@pytest.mark.parametrize(
    ("view", "control", "text", "says", "told"),
    [
        ("Threads", ".row", FIRST, "And again!", "And again!"),
        later("People", "summary", re.compile(""), "And once more!", "2 threads"),
        later("Costs", "button.link", FIRST, "Good night!", "Good night!"),
    ],
    ids=["threads", "people", "costs"],
)
async def test_what_is_drawn_anew_leaves_whoever_is_there_by_keyboard_where_they_are(
    address: str, chromium: Windows, view: str, control: str, text: re.Pattern[str], says: str, told: str
) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await _bob_says(page, address, f"<@{SOUL.user}> Good morning!")
    body = page.locator("#view-body")
    focused = body.locator(control, has_text=text)
    await page.get_by_role("link", name=view).click()
    await _be_at(focused)
    await _bob_says(page, address, f"<@{SOUL.user}> {says}")
    await expect(body).to_contain_text(told)
    await expect(focused).to_be_focused()


async def _be_at(control: Locator) -> None:
    async with asyncio.timeout(SLOW / 1000):
        while not await control.evaluate("(it) => { it.focus(); return it === document.activeElement; }"):
            await control.page.evaluate(ALL_DRAWN)


async def _bob_says(page: Page, address: str, text: str) -> None:
    said = {"channel": GENERAL, "text": text}
    as_bob = {"Authorization": f"Bearer {BOB.token}"}
    answer = await page.request.post(f"{address}/api/chat.postMessage", data=said, headers=as_bob)
    assert (await answer.json())["ok"]


async def _be_told_of_what_is_new(page: Page, address: str) -> None:
    """Check the notice of Bob's message for a reader further up."""

    for number in range(20):
        await _bob_says(page, address, f"Line {number} :tada:")
    last = page.locator("#messages .thread").last
    await expect(last).to_contain_text("Line 19 🎉")
    await page.locator("#messages").evaluate("(box) => { box.scrollTop = 0; }")
    await _bob_says(page, address, "| a | table |")
    await page.get_by_role("button", name="1 new ↓").click()
    await expect(last).to_be_in_viewport()
    await expect(page.locator("#chat-news")).to_be_hidden()


async def _look_through_threads(page: Page) -> None:
    """Check paging, search, filter, and the link to a journal."""
    rows = page.locator(".threads .row")
    await expect(rows.first).to_contain_text("Write the menu")
    await expect(page.locator("#scope")).to_have_text("All threads", use_inner_text=True)
    await page.wait_for_function(TO_THE_END, arg=THREADS, timeout=SLOW)
    await page.get_by_label("Search threads").fill("log files")
    await expect(rows).to_have_count(0)
    await page.get_by_label("Search threads").fill("clean up")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("waits for you")
    await rows.click()
    await expect(page.locator("#journal")).to_contain_text("Please clean up the old logs.")
    await expect(page.locator("#journal")).not_to_contain_text("menu")
    await expect(page.locator("#scope")).to_contain_text("Bob in #ops Please clean up the old logs.")
    await _go_back_and_forth(page)
    await page.get_by_role("button", name="All threads").click()
    await expect(page.locator("#scope .name")).to_have_text("All threads")
    await expect(page.locator("#journal")).to_contain_text("menu")
    of_before = page.locator("#turns .turn", has_text="Why did the build break?")
    await expect(of_before.locator("time").first).to_have_text(re.compile(r"^\w.* \d\d:\d\d:\d\d$"))
    await page.get_by_label("Search threads").fill("")
    await page.get_by_text("Failed", exact=True).click()
    await expect(rows.locator(".began")).to_have_text(["Read the log of last night."])
    await page.get_by_text("Unread", exact=True).click()
    await expect(page.locator("#view-body")).to_contain_text("You have seen everything.")
    await page.get_by_text("Any", exact=True).click()
    await page.get_by_label("Channel", exact=True).select_option(label="#general")
    await expect(rows.locator(".where")).to_have_text(["#general"])


async def _go_back_and_forth(page: Page) -> None:
    """Check that the address keeps the thread: back leaves it, a reload keeps it."""
    journal, clicked = page.locator("#journal"), page.url
    assert "#threads/sess-" in clicked
    await page.go_back()
    await expect(page.locator(".threads .row[aria-current]")).to_have_count(0)
    await expect(journal).to_contain_text("menu")
    await page.go_forward()
    await expect(journal).not_to_contain_text("menu")
    assert page.url == clicked
    await page.reload()
    await expect(page.locator("#view-title")).to_have_text("Threads")
    await expect(page.locator(".threads .row[aria-current] .began")).to_contain_text("clean up the old logs")
    await expect(journal).to_contain_text("Please clean up the old logs.")
    await expect(journal).not_to_contain_text("menu")


async def _look_at_questions(page: Page) -> None:
    await expect(page.locator("#asked")).to_have_text("2")
    await expect(page).to_have_title("(2) Claudius: the soul's console")
    await page.get_by_role("link", name="Questions").click()
    asked = page.locator(".question.open")
    await expect(asked).to_have_count(2)
    await expect(asked.first).to_contain_text("You are asked")
    await expect(asked.first).to_contain_text("You press as Alice.")
    await expect(asked.first.locator(".actions").get_by_role("button")).to_have_text(["Yes", "No"])
    await expect(asked.last).to_contain_text("It waits for a message in that thread.")
    await expect(asked.first).to_contain_text("@Alice, may I delete")
    beneath = asked.first.get_by_role("link", name="in Slack")
    await expect(beneath).to_have_attribute(
        "href", re.compile(rf"/archives/{OPS}/p\d+\?thread_ts=[\d.]+&cid=")
    )
    await expect(page.locator(".question:not(.open)")).to_contain_text("@Bob, shall I rotate them first?")
    await expect(page.locator(".question:not(.open)")).to_contain_text("Bob pressed Yes.")
    await expect(page.locator("#view")).not_to_contain_text("U0")
    await asked.first.get_by_role("button", name="Show it in the journal").click()
    await expect(page.locator("#journal .current")).to_contain_text("@Alice, may I delete 214 old log files")
    await expect(page.locator("#journal")).to_contain_text("I would delete 214 files, @Bob.")
    await expect(page.locator("#journal")).not_to_contain_text("U0")


async def _look_at_people(page: Page) -> None:
    await page.get_by_role("link", name="People").click()
    alice = page.locator(".person", has_text="Alice")
    await alice.locator("summary").click()
    await expect(alice.locator(".notes")).to_contain_text(
        ["prefers short answers", "The release is frozen on Fridays."]
    )
    await alice.get_by_role("button", name="where it was learned").first.click()
    await expect(page.locator("#journal .current")).to_contain_text("knows someone better")
    for handle in ("U0ALICE0001", "sess-"):
        await expect(page.locator("#view")).not_to_contain_text(handle)


async def _look_at_costs(page: Page) -> None:
    await page.get_by_role("link", name="Costs").click()
    await expect(page.locator(".sums")).to_contain_text("today, of $5.00")
    await expect(page.locator("#view")).not_to_contain_text("simulated")
    await expect(page.locator(".bars li")).to_have_count(30)
    await expect(page.locator(".bars .limit")).to_have_text("budget $5.00")
    dearest, budget = (
        await page.locator(".bars .peak").bounding_box(),
        await page.locator(".bars .limit").bounding_box(),
    )
    assert dearest is not None
    assert budget is not None
    assert dearest["y"] > budget["y"], "the dearest day does not stand below the budget"
    await expect(page.get_by_role("table", name="People").locator("th")).to_have_text(
        ["Alice", "Bob", "Carol"]
    )
    await expect(page.get_by_role("table", name="Models").locator("th")).to_have_count(2)
    await page.get_by_text("7 days").click()
    await expect(page.locator(".bars li")).to_have_count(7)


async def _look_at_health(page: Page) -> None:
    await page.get_by_role("link", name="Health").click()
    await expect(page.locator(".health")).to_contain_text("It hears.")
    await expect(page.locator(".health")).to_contain_text("The journal is whole, and can be written.")
    await page.route("**/healthz", lambda route: route.abort())
    await page.get_by_role("link", name="Costs").click()
    await page.get_by_role("link", name="Health").click()  # else it refreshes only in some seconds
    await expect(page.locator(".health")).to_contain_text("The daemon does not answer.")
    await page.unroute("**/healthz")


async def _walk_by_keys(page: Page) -> None:
    await page.locator("#view-body").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_contain_text("search what happened")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.keyboard.press("1")
    rows = page.locator(".threads .row")
    await rows.first.focus()
    await page.keyboard.press("ArrowUp")
    await expect(rows.first).to_be_focused()
    await page.get_by_label("Channel", exact=True).select_option(label="Everywhere")
    await expect(rows.nth(1)).to_be_visible()
    await rows.first.focus()
    await page.keyboard.press("ArrowDown")
    await expect(rows.nth(1)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#journal")).to_contain_text("Please clean up the old logs.")
