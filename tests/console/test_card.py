"""A plan on the page: its card in the workspace, and the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import expect

from daemon.engine.event import Event
from daemon.kinds import (
    CardFailed,
    CardIntended,
    CardShown,
    InternalMessage,
    PlanChanged,
    SelfCall,
    SystemMessage,
)
from daemon.slack.pages import make_plan_card
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.desk import desk
from tests.stories.stage import ALICE

pytestmark = IN_A_BROWSER

CONDITION = "We know which <tree> bears more"
STEPS = ("Count the plums", "Ask the market & its prices", "Tell Alice")


def plan(*states: str) -> PlanChanged:
    return PlanChanged(condition=CONDITION, steps=tuple(zip(STEPS, states, strict=True)))


HALF = plan("done", "cancelled", "open")
ENTRIES: list[tuple[Event, Sequence[str]]] = [
    (HALF, ["plans", f"1/3 {CONDITION}", *STEPS]),
    (CardIntended(condition=CONDITION, steps=HALF.steps), ["wants to show its plan", f"1/3 {CONDITION}"]),
    (CardShown(condition=CONDITION, steps=HALF.steps, ts="1.1"), ["shows its plan", f"1/3 {CONDITION}"]),
    (CardFailed(why="edit_window_closed"), ["could not show its plan", "edit_window_closed"]),
    (SystemMessage(text="<budget left='5%'/>"), ["is told by the core", "<budget left='5%'/>"]),
    (SelfCall(text="The left tree first."), ["says to itself", "The left tree first."]),
    (InternalMessage(sender="sess-1.a", text="12.", status="completed"), ["sess-1.a", "completed", "12."]),
    (InternalMessage(code="huh", text="Not closed."), ["hears from the core", "huh", "Not closed."]),
]
"""Entries about the plan, and their text on the page."""


async def test_a_card_changes_where_it_stands_and_the_journal_tells_of_it_in_words(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path) as here, browser() as chromium:
        alice, soul = here.client("xoxp-alice"), here.client()
        root = str((await alice.chat_postMessage(channel=ALICE, text="Which one?"))["ts"])
        page = await chromium.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(here.url)
        await page.get_by_text("All", exact=True).click()
        await here.remember(ALICE, root, [event for event, _ in ENTRIES])
        first = make_plan_card(plan("open", "open", "open"))
        posted = await soul.chat_postMessage(channel=ALICE, thread_ts=root, **first)
        card = page.locator(".replies .message .card")
        await expect(card.locator("h4")).to_have_text(CONDITION)
        await expect(card.locator(".context")).to_have_text("0/3")
        await expect(card.locator("[data-state='open']")).to_have_text(list(STEPS))
        await soul.chat_update(channel=ALICE, ts=str(posted["ts"]), **make_plan_card(HALF))
        await expect(card.locator(".context")).to_have_text("1/3")
        for state, text in zip(("done", "cancelled", "open"), STEPS, strict=True):
            await expect(card.locator(f"[data-state='{state}']")).to_have_text(text)
        await soul.chat_update(channel=ALICE, ts=str(posted["ts"]), **make_plan_card(plan(*["done"] * 3)))
        await expect(card.locator(".context")).to_have_text("3/3")
        await expect(page.locator(".replies .message")).to_have_count(1)
        for number, (_, words) in enumerate(ENTRIES):
            for word in words:
                await expect(page.locator("#entries > li").nth(number + 1)).to_contain_text(word)
    assert complaints == []
