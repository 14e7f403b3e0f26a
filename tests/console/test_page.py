"""A first visit to a daemon without keys: chat and journal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, ViewportSize, expect

from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import AttemptFailed, ExecutionRestarted, OutageBegan, OutageEnded, StepGivenUp
from daemon.kinds import SOUL_KINDS, ClaimMade, PromptFault, SoulTurnEnded, SpeechDropped
from daemon.settings.home import project_root
from tests.clock import FakeClock
from tests.console.browser import IN_A_BROWSER, Browsing, Windows, daemon
from tests.console.site import called
from tests.console.theatre import premiere
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

PICTURE = project_root() / "docs" / "page.png"
"""README screenshot, written if TAKE_PICTURE is set."""
SIZE = ViewportSize(width=1440, height=900)
FAULT = PromptFault(name="prompts/moods", text="moods.md cannot be used: " + "so many words " * 40)
BROKEN: list[Event] = [
    FAULT,
    called(outcome="failed", failure="unreachable"),
    AttemptFailed(at="sess-1@2/ask#1", error="KeyError"),
    ExecutionRestarted(why="sess-1@2/ask#1 asks for something else than what is recorded"),
    OutageBegan(reason="overloaded", due=1_790_000_000.0),
    OutageEnded(),
    StepGivenUp(reason="overloaded"),
    SpeechDropped(),
    ClaimMade(by="sess-1@2"),
    SoulTurnEnded(outcome="completed"),
    SoulTurnEnded(outcome="suspended"),
    SoulTurnEnded(outcome="stopped"),
    SoulTurnEnded(outcome="failed"),
    SoulTurnEnded(outcome="abandoned"),
]


async def test_a_person_talks_with_the_soul_and_looks_into_its_journal(
    tmp_path: Path, browser: Browsing
) -> None:
    async with premiere(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        await page.goto(address)
        await expect(page.locator("#rehearsed")).to_contain_text("the model is a script")
        await expect(page.locator("#place")).to_have_text("Claudius")
        await _say(page, "Good morning! Who are you?")
        await _look_into_the_call(page)
        await _answer_in_the_thread(page, "And what stands in the journal on the right?")
        if os.environ.get("TAKE_PICTURE"):
            await _be_pictured(page)
        await _say(page, "Help me plan a *calm* release day.")
        await _become_bob(page)
    assert complaints == []


async def test_the_page_is_used_by_keyboard_alone(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await expect(page.locator("#place")).to_have_text("Claudius")
    await _tab_to(page, "#composer textarea")
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await expect(page.locator(".thread.open .message").first.locator(".text")).to_have_text(
        "one\ntwo", use_inner_text=True
    )
    await _tab_to(page, "#composer .send")
    await page.get_by_text("All", exact=True).click()
    await expect(page.locator("#entries [data-kind='turn-ended']")).to_have_count(1)
    for _ in range(30):
        await page.keyboard.press("k")
        if await page.locator("#entries .current[data-kind='model-call']").count():
            break
    await page.keyboard.press("Enter")
    await expect(page.locator("#call")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator("#entries .current[data-kind='model-call']")).to_be_focused()


@SOAK
@pytest.mark.parametrize("width", [900, 700, 390])
async def test_on_a_narrow_window_the_journal_opens_beside(
    tmp_path: Path, width: int, browser: Browsing
) -> None:
    async with daemon(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=width, height=700))
        await page.goto(address)
        await expect(page.locator("#messages .hello")).to_be_visible()
        await expect(page.locator("#journal")).to_be_hidden()
        toggle = page.get_by_role("button", name="Journal")
        await expect(toggle).to_be_in_viewport(ratio=1)
        cut = "(banner) => banner.scrollWidth - banner.clientWidth"
        assert await page.locator("#rehearsed").evaluate(cut) == 0
        await page.get_by_role("button", name="Hide").click()
        await expect(page.get_by_role("button", name="Tour")).to_be_visible()
        assert await page.locator(".top").evaluate("(header) => header.offsetHeight") < 100, "two rows"
        await toggle.click()
        await expect(page.locator("#journal")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await page.locator("#turns [tabindex='0']").focus()
        await page.keyboard.press("Escape")
        await expect(toggle).to_be_focused()


@SOAK
async def test_what_goes_wrong_stands_in_the_journal_in_plain_words(
    tmp_path: Path, browser: Browsing
) -> None:
    async with Journal(tmp_path / "rehearsal-journal.db", FakeClock(), SOUL_KINDS) as journal:
        for number, event in enumerate(BROKEN):
            await journal.append("sess-00000001", event, key=f"greeted:{number}")
    async with daemon(tmp_path) as address, browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(address)
        await page.get_by_text("All", exact=True).click()
        entry = page.locator("#entries > li:not([data-kind='caught-up'], [data-kind='life-began'])")
        await expect(page.locator("[data-kind='caught-up']")).to_contain_text("has read what was said")
        await expect(entry).to_have_count(len(BROKEN))
        assert "{" not in await page.locator("#entries").inner_text()
        fault = entry.locator(".plain").first
        await expect(fault).to_have_text(FAULT.text)
        assert await fault.evaluate("(node) => node.scrollHeight <= node.clientHeight")
        await expect(entry.nth(0)).to_contain_text("The last good version stays in use.")
        await expect(entry.nth(1)).to_contain_text("The model could not be reached.")
        await expect(entry.nth(1)).not_to_contain_text("tokens")
        await expect(entry.nth(1).get_by_role("button")).to_have_count(0)
        await expect(entry.nth(4)).to_contain_text("The model is overloaded and did not answer.")
        ends = ("ends the turn", "waits", "is stopped", "gives the turn up", "abandons")
        for row, words in zip((await entry.all())[-len(ends) :], ends, strict=True):
            await expect(row).to_contain_text(words)


@SOAK
async def test_the_ends_of_the_journal_are_a_key_away(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await _say(page, "Hello")
    await page.get_by_text("All", exact=True).click()
    entry = page.locator("#entries > li")
    await entry.last.click()
    for key, place in (("g", entry.first), ("G", entry.last), ("Home", entry.first), ("End", entry.last)):
        await page.keyboard.press(key)
        await expect(place).to_be_focused()
    await page.keyboard.press("PageUp")
    await expect(entry.last).not_to_be_focused()


async def _say(page: Page, text: str) -> None:
    """Begin a thread; check its answer and its turn in the journal."""
    await page.locator("#composer textarea").fill(text)
    await page.keyboard.press("Enter")
    opened = page.locator(".thread.open")
    await expect(opened.locator(".message").first).to_contain_text(text.split()[0])
    await expect(opened.locator(".replies .text")).to_contain_text("Alice")
    turn = page.locator("#turns > .turn").last
    await expect(turn.locator("[data-part='heard']").first).to_contain_text(text.split()[0])
    await expect(turn.locator("[data-part='said']")).to_contain_text("Alice")
    await expect(turn.locator(".figures")).to_contain_text("1 call")
    await expect(turn).not_to_have_attribute("data-state", "thinking")
    await expect(page.locator(".message.streaming")).to_have_count(0)
    await expect(page.locator(".status:visible")).to_have_count(0)


async def _answer_in_the_thread(page: Page, text: str) -> None:
    turns = page.locator("#turns > .turn:not([data-state='thinking'])")
    before = await turns.count()
    await page.locator(".thread.open .reply textarea").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".thread.open .replies .message")).to_have_count(3)
    await expect(turns).to_have_count(before + 1)
    await expect(page.locator("#messages .thread")).to_have_count(1)


async def _be_pictured(page: Page) -> None:
    """Take two stops of the tour; the second uses the first."""
    for title, answered in (("Tell it something", "I will remember"), ("See it remember", "Not for you")):
        await page.get_by_role("button", name=title).click()
        await expect(page.locator(".thread.open .replies")).to_contain_text(answered)
        await expect(page.locator(".message.streaming, .status:visible")).to_have_count(0)
        await expect(page.locator("#turns > [data-state='thinking']")).to_have_count(0)
    await page.get_by_role("button", name="Hide").click()
    await page.locator("#messages").evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
    await page.mouse.move(0, 0)
    await page.screenshot(path=PICTURE)


async def _look_into_the_call(page: Page) -> None:
    thought = page.locator("#turns [data-part='thought']").last
    await expect(thought.locator(".thought")).to_be_visible()
    await thought.hover()
    await thought.get_by_role("button", name="What the model saw").click()
    call = page.locator("#call")
    await expect(call.locator(".system")).to_contain_text("Claudius")
    await expect(call.locator(".message-seen")).to_contain_text(["Good morning! Who are you?"])
    await expect(call.locator(".trailing")).to_be_visible()
    await expect(call.locator(".tokens")).to_contain_text("cache read")
    await expect(call.locator(".numbers")).to_contain_text("simulated")
    await expect(call.get_by_role("alert")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(call).to_be_hidden()


async def _become_bob(page: Page) -> None:
    await page.get_by_role("radio", name="Alice").press("ArrowRight")
    await expect(page.get_by_role("radio", name="Bob")).to_be_checked()
    await expect(page.locator("#messages .hello")).to_be_visible()
    await expect(page.locator("#messages .thread")).to_have_count(0)


async def _tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        if await page.locator(f"{selector}:focus").count():
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by the Tab key")
