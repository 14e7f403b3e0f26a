"""Turns of the journal as cards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.engine.event import Event
from daemon.engine.kinds import ThreadEnded, ThreadSpawned
from daemon.kinds import (
    ActionObserved,
    ActionStarted,
    InternalMessage,
    MoodChanged,
    ProcessChanged,
    ReadingEnded,
    RunEnded,
    RunMessage,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
)
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import THREAD, Desk
from tests.console.site import called, message
from tests.console.theatre import theatre
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

NOBODY = {"workspace": False, "model": False}
SIZE = ViewportSize(width=1440, height=900)
CHOICE = '{"why": "It stands in the folder.", "actions": [{"name": "Research", "args": {"query": "red"}}]}'


async def put(world: Desk, thread: str, key: str, event: Event, closes: Sequence[int] = ()) -> int:
    entry, _ = await world.journal.append(thread, event, key=key, closes=closes)
    return entry.seq


UNREAD = "Nobody has shared a file in this conversation yet."


async def turn(world: Desk, text: str, *events: tuple[str, Event], ends: str = "completed") -> int:
    """Append a turn over this message, with entries by step name; return the message's seq."""
    heard = await put(world, THREAD, f"msg:{text}", message(text))
    path = f"{THREAD}@{heard}"
    began = await put(world, THREAD, f"{path}/began", SoulTurnBegan(execution=path, inputs=(heard,)))
    for step, event in events:
        await put(world, THREAD, f"{path}/{step}", event)
    if ends:
        await put(world, THREAD, f"{path}/ended", SoulTurnEnded(outcome=ends), closes=[began, heard])
    return heard


def answer(text: str) -> tuple[str, Event]:
    thought = called(text=f"<aside>Hm: {text}</aside><say>{text}</say>", cost=0.02, seconds=1.5)
    return "pipeline#1", thought


async def shown(page: Page, world: Desk) -> Locator:
    await page.goto(f"{world.url}/#{THREAD}")
    await expect(page.get_by_role("button", name="All threads")).to_be_visible()
    return page.locator("#turns > .turn")


def part(card: Locator, name: str) -> Locator:
    return card.locator(f"> .top-of-branch > .moments > [data-part='{name}']")


@SOAK
async def test_a_turn_is_one_card_in_which_each_sentence_stands_once(world: Desk, chromium: Windows) -> None:
    await world.remember("C1", "1.1", [])
    said = ("say#1!receipt", SpeechFinished(text="Plums are blue.", ts="1.3"))
    moved = ("transition#1", ProcessChanged(to="problem_solving", now=True))
    await turn(
        world,
        "And plums?",
        answer("Plums are blue."),
        said,
        moved,
        ("mood#1", MoodChanged(mood="engaged")),
    )
    page = await chromium.new_page(viewport=SIZE)
    cards = await shown(page, world)
    await expect(cards).to_have_count(1)
    words = await cards.inner_text()
    for once in ("And plums?", "Hm: Plums are blue.", "turns to problem solving", "engaged"):
        assert words.count(once) == 1, once
    assert words.count("\nPlums are blue.") == 1
    for figure in ("problem solving", "1 call", "$0.0200"):
        await expect(cards.locator(".figures")).to_contain_text(figure)
    unfold = cards.get_by_role("button", name="7 entries")
    await unfold.click()
    entries = cards.locator("> [role='group'] > .entry")
    await expect(entries).to_have_count(7)
    call = entries.locator(":scope[data-kind='model-call']")
    await call.locator("> .word > span").first.click()
    await expect(call.locator(".body")).to_have_text("Hm: Plums are blue.0 → 0 tokens · 1.5 s · $0.0200")
    await unfold.click()
    await expect(entries.first).to_be_hidden()


@SOAK
async def test_a_message_waits_until_a_turn_takes_it_up_or_ends(world: Desk, chromium: Windows) -> None:
    await world.remember("C1", "1.1", [])
    page = await chromium.new_page(viewport=SIZE)
    cards = await shown(page, world)
    heard = await turn(world, "One", answer("First."), ends="")
    await expect(cards).to_have_attribute("data-state", "thinking")
    late = await put(world, THREAD, "msg:Two", message("Two"))
    await expect(cards).to_have_count(2)
    await expect(cards.last).to_contain_text("not taken up yet")
    ended = SoulTurnEnded(outcome="suspended")
    await put(world, THREAD, f"{THREAD}@{heard}/ended", ended, closes=[heard + 1, heard, late])
    await expect(cards).to_have_count(1)
    await expect(part(cards, "heard").locator(".heard")).to_have_text(["One", "Two"])
    await expect(cards).to_contain_text("waits for an answer")


@SOAK
async def test_branches_and_runs_stand_in_their_turn_with_how_long_they_took(
    world: Desk, chromium: Windows
) -> None:
    await world.remember("C1", "1.1", [])
    branch = f"{THREAD}.lisbon"
    goal = RunMessage(text="## Goal\nFind what is red.\n\n## Playbook\nLook.")
    heard = await turn(
        world,
        "What is red?",
        ("ism#1", goal),
        ("choose#1", called("choose", text=CHOICE, seconds=2.5)),
        ("Research#1", ActionStarted(name="Research", args={"query": "red"})),
        ("Research#1!done", ActionObserved(name="Research", text="fruit.md:12 The cherry is red.")),
        ("ism-ended#1", RunEnded(reason="done", loops=2, calls=1)),
        ("read#1/reading-ended#1", ReadingEnded(answer=UNREAD, reason="unreadable", partial=True)),
        ("read#2/reading-ended#1", ReadingEnded(answer="?", reason="calls", partial=True, calls=1)),
        ("spawn#1", ThreadSpawned(thread=branch)),
    )
    asks = InternalMessage(sender=THREAD, text="What of Lisbon?")
    asked = await put(world, branch, f"{THREAD}@{heard}/spawn#1!input", asks)
    path = f"{branch}@{asked}"
    await put(world, branch, f"{path}/began", SoulTurnBegan(execution=path, inputs=(asked,)))
    page = await chromium.new_page(viewport=SIZE)
    cards = await shown(page, world)
    await expect(cards).to_have_count(1)
    run = cards.locator(".run")
    await expect(run).to_contain_text("sets out: Find what is red.")
    await expect(run.locator("[data-part='chose']")).to_contain_text("It stands in the folder.")
    await expect(run.locator("[data-part='chose'] .part-name")).to_contain_text("2.5 s")
    await expect(run.locator("[data-part='did']")).to_contain_text("Research query: red")
    await expect(run.locator("[data-part='did']")).to_contain_text("The cherry is red.")
    await expect(run).to_contain_text("its goal reached, after 1 choice")
    await cards.get_by_role("button", name="11 entries").click()
    await expect(cards).to_contain_text(re.compile(rf"could read nothing\s*{re.escape(UNREAD)}"))
    in_part = r"has read\s*answered in part, at its bound of calls: 1 call(?!s)"
    await expect(cards).to_contain_text(re.compile(in_part))
    lisbon = cards.locator(".branch")
    await expect(lisbon.locator("> .top-of-branch .state")).to_have_text("thinking")
    await put(world, branch, f"{path}/end#1", ThreadEnded(status="completed", result="22 °C and dry."))
    await put(world, branch, f"{path}/ended", SoulTurnEnded(outcome="completed"))
    await expect(lisbon.locator("> .top-of-branch .state")).to_have_text("completed")
    await expect(lisbon.locator(".figure")).to_contain_text("s")
    await expect(lisbon.locator("[data-part='said']")).to_contain_text("22 °C and dry.")
    await expect(lisbon.locator("[data-part='heard']")).to_contain_text("What of Lisbon?")


async def test_a_message_leads_to_its_card_and_back(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        for text in ("One", "Two"):
            model.say(f"<aside>Hm.</aside><say>To {text}.</say>")
            await page.locator("#composer textarea").fill(text)
            await page.keyboard.press("Enter")
            await expect(page.locator(".thread.open .replies .text")).to_have_text(f"To {text}.")
        reply = page.locator(".message").filter(has_text="To One.")
        await reply.locator(".text").click()
        card = page.locator("#turns > .turn.current")
        await expect(part(card, "said").locator(".speech")).to_have_text("To One.")
        await page.locator(".message").filter(has_text="To Two.").locator(".text").click()
        await expect(part(card, "said").locator(".speech")).to_have_text("To Two.")
        said = part(card, "heard")
        await said.hover()
        await said.get_by_role("button", name="In the chat").click()
        await expect(page.locator(".message.flash .text")).to_have_text("Two")


@SOAK
async def test_cards_are_walked_by_keyboard_and_what_is_new_is_told(world: Desk, chromium: Windows) -> None:
    await world.remember("C1", "1.1", [])
    for n in range(30):
        await turn(world, f"No. {n}", answer(f"{n}."))
    page = await chromium.new_page(viewport=SIZE)
    cards = await shown(page, world)
    await expect(cards).to_have_count(30)
    await expect(cards.last).to_be_in_viewport()
    await cards.last.click()
    await page.keyboard.press("g")
    await expect(cards.first).to_be_focused()
    await page.keyboard.press("Enter")
    entries = cards.first.locator("> [role='group'] > .entry")
    await expect(entries).to_have_count(4)
    await page.keyboard.press("j")
    await expect(entries.first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(entries.first.locator(".body")).to_have_text("No. 0")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(cards.first).to_have_attribute("aria-expanded", "false")
    news = page.locator("#news")
    await expect(news).to_be_hidden()
    await turn(world, "And now", answer("now."))
    await expect(news).to_have_text("1 new ↓")
    await news.click()
    await expect(cards.last).to_be_focused()
    await expect(cards.last).to_contain_text("And now")
    await expect(news).to_be_hidden()
