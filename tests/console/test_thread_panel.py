"""The thread panel: complete, live, with its own composer and address."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.engine.event import Event
from daemon.kinds import SoulTurnBegan, SoulTurnEnded, SpeechFinished
from rehearsal.people import ALICE, BOB
from tests.console.browser import IN_A_BROWSER, Windows
from tests.console.desk import THREAD, Desk
from tests.console.site import message
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
GENERAL = "C0GENERAL01"
RANDOM = "C0RANDOM002"
WIDE = ViewportSize(width=1440, height=900)
NARROW = ViewportSize(width=900, height=700)
PHONE = ViewportSize(width=390, height=700)


async def talk(here: Desk, channel: str, replies: int, root: str = "Where shall we meet?") -> str:
    alice = here.client(ALICE.token)
    ts: str = (await alice.chat_postMessage(channel=channel, text=root))["ts"]
    for number in range(1, replies + 1):
        await alice.chat_postMessage(channel=channel, thread_ts=ts, text=f"reply no. {number}")
    return ts


async def opened(here: Desk, page: Page, address: str) -> None:
    await page.goto(f"{here.url}/#{address}")
    await expect(page.locator("#messages .thread").first).to_be_attached()


def replies(place: Locator) -> Locator:
    return place.locator(".replies .message:visible")


@SOAK
async def test_a_channel_shows_the_last_replies_and_the_panel_all_of_them(
    here: Desk, chromium: Windows
) -> None:
    ts = await talk(here, GENERAL, 5)
    await here.remember(GENERAL, ts, [message("Where shall we meet?")])
    await talk(here, GENERAL, 0, "Something else.")
    page = await chromium.new_page(viewport=WIDE)
    await opened(here, page, GENERAL)
    listed, panel = page.locator(f"#messages [data-ts='{ts}']").first, page.locator("#panel")
    await expect(replies(listed).locator(".text")).to_have_text(["reply no. 4", "reply no. 5"])
    await expect(page.locator("#turns")).not_to_contain_text("Where shall we meet?")
    await listed.get_by_role("button", name="Show all 5 replies").click()
    await expect(replies(panel)).to_have_count(5)
    await expect(page.locator("#panel-composer textarea")).to_be_focused()
    await expect(page.locator("#turns")).to_contain_text("Where shall we meet?")
    for part in ("#side", "#messages", "#panel", "#journal"):
        await expect(page.locator(part)).to_be_in_viewport(ratio=1)
    assert await page.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]
    await page.keyboard.type("At the mill.")
    await page.keyboard.press("Enter")
    await expect(replies(panel).last).to_contain_text("At the mill.")
    await expect(replies(listed).last).to_contain_text("At the mill.")
    await expect(listed.get_by_role("button", name="Show all 6 replies")).to_be_visible()
    await here.client(BOB.token).chat_postMessage(channel=GENERAL, thread_ts=ts, text="I come, too.")
    await expect(replies(panel).last).to_contain_text("I come, too.")
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    await expect(listed.get_by_role("button", name="Show all 7 replies")).to_be_focused()


async def test_the_panel_is_in_the_address_and_a_reload_keeps_it(here: Desk, chromium: Windows) -> None:
    old = await talk(here, GENERAL, 3, "Long ago.")
    for number in range(31):
        ts = await talk(here, GENERAL, 0, f"message no. {number}")
    page = await chromium.new_page(viewport=WIDE)
    await opened(here, page, GENERAL)
    panel = page.locator("#panel")
    await page.locator(f"#messages .thread[data-ts='{ts}']").hover()
    await page.locator(f"#messages .thread[data-ts='{ts}'] .reply-button").click()
    await expect(panel).to_contain_text("message no. 30")
    assert page.url.endswith(f"#{GENERAL}/{ts}")
    await page.reload()
    await expect(panel).to_contain_text("message no. 30")
    await page.get_by_role("button", name="random").click()
    await expect(panel).to_be_hidden()
    assert page.url.endswith(f"#{RANDOM}")
    await page.evaluate(f"location.hash = '{GENERAL}/{old}'")
    await expect(replies(panel)).to_have_count(3)
    await expect(page.locator("#messages .thread").first).to_contain_text("message no. 1")
    await panel.get_by_role("button", name="Close").click()
    await expect(panel).to_be_hidden()
    assert page.url.endswith(f"#{GENERAL}")


@SOAK
async def test_in_a_dm_answers_stand_beneath_and_long_threads_fold(here: Desk, chromium: Windows) -> None:
    long = await talk(here, DM, 7)
    short = await talk(here, DM, 4, "And when?")
    page = await chromium.new_page(viewport=WIDE)
    await opened(here, page, DM)
    first, second = (page.locator(f"#messages .thread[data-ts='{ts}']") for ts in (long, short))
    await expect(replies(first)).to_have_count(4)
    await expect(replies(second)).to_have_count(4)
    await expect(second.locator(".all-replies")).to_be_hidden()
    draft = second.locator(".reply textarea")
    await draft.fill("a draft")
    await first.get_by_role("button", name="Show all 7 replies").click()
    await expect(replies(page.locator("#panel"))).to_have_count(7)
    await expect(first.locator(".reply")).to_be_hidden()
    await page.locator("#panel-composer textarea").fill("begun beside")
    await second.locator(".message").first.click()
    await expect(replies(page.locator("#panel"))).to_have_count(4)
    await expect(page.locator("#panel-composer textarea")).to_have_value("a draft")
    await page.locator("#panel-close").click()
    await first.locator(".message").first.click()
    await expect(first.locator(".reply textarea")).to_have_value("begun beside")


@SOAK
async def test_a_card_leads_to_a_folded_message_and_a_message_of_the_panel_to_its_card(
    here: Desk, chromium: Windows
) -> None:
    ts = await talk(here, GENERAL, 5)
    found = await here.client().conversations_replies(channel=GENERAL, ts=ts)
    second = found["messages"][2]
    turn: list[Event] = [
        message("Where shall we meet?"),
        SoulTurnBegan(execution=f"{THREAD}@2", inputs=(2,), process="conversation", texts=""),
        SpeechFinished(text=second["text"], ts=second["ts"]),
        SoulTurnEnded(outcome="completed"),
    ]
    await here.remember(GENERAL, ts, turn)
    page = await chromium.new_page(viewport=WIDE)
    await opened(here, page, GENERAL)
    card = page.locator("#turns > .turn")
    await card.locator("[data-part='said']").hover()
    await card.locator("[data-part='said'] .to-chat").click()
    shown = page.locator(f"#panel .message[data-ts='{second['ts']}']")
    await expect(shown).to_be_in_viewport()
    await expect(shown).to_have_class("message flash")
    await shown.click()
    await expect(card).to_contain_class("flash")


@SOAK
@pytest.mark.parametrize("size", [NARROW, PHONE], ids=["narrow", "phone"])
async def test_where_there_is_no_room_the_panel_lies_upon_the_conversation(
    here: Desk, chromium: Windows, size: ViewportSize
) -> None:
    ts = await talk(here, GENERAL, 3)
    page = await chromium.new_page(viewport=size)
    await opened(here, page, f"{GENERAL}/{ts}")
    panel = page.locator("#panel")
    await expect(replies(panel)).to_have_count(3)
    await expect(page.locator("#messages")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    await page.get_by_role("button", name="Journal").click()
    await expect(page.locator("#journal")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#journal")).to_be_hidden()
    await expect(panel).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    await expect(page.locator("#messages .thread")).to_be_visible()
