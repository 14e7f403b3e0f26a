"""Marks of channel types, and names of group DMs."""

from __future__ import annotations

from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, BOB, CAROL, SOUL
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.theatre import theatre
from tests.signed_in import SHOWN

pytestmark = IN_A_BROWSER

ALL = "Group DM with Alice, Bob, Carol"
BACKROOM = "C0BACKROOM4"


async def _asked_in(url: str, session: ClientSession) -> str:
    """Ask as Alice in a group DM with no other messages, and in a private channel."""
    alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
    opened = await alice.conversations_open(users=[BOB.id, CAROL.id, SOUL.user])
    group = str(opened["channel"]["id"])
    for channel in (group, BACKROOM):
        await alice.chat_postMessage(channel=channel, text=f"<@{SOUL.user}> who brings the cake?")
    return group


async def test_a_group_dm_is_called_by_its_people_and_a_private_channel_has_a_lock_everywhere(
    tmp_path: Path, browser: Browsing
) -> None:
    async with (
        theatre(tmp_path) as (soul, model),
        browser() as chromium,
        ClientSession(headers=SHOWN) as session,
    ):
        for _ in range(2):
            model.say("<aside>Cake.</aside><say>Bob does.</say>")
        group = await _asked_in(soul.url, session)
        page = await chromium.new_page()
        await page.goto(f"{soul.url}/#{group}")
        await _look_at_the_chat(page)
        await _look_at_the_views(page)
        await page.goto(f"{soul.url}/#{BACKROOM}")
        await expect(page.locator("#place")).to_have_text("backroom")
        await expect(page.locator("#place").get_by_role("img", name="Private channel")).to_be_visible()
        await page.get_by_role("radio", name="Carol").check(force=True)
        named = page.locator("#places").get_by_role("button", name="Alice, Bob, Claudius (group DM)")
        await expect(named).to_be_visible()
        await expect(page.locator("body")).not_to_contain_text("mpdm")


async def _look_at_the_chat(page: Page) -> None:
    places = page.locator("#places")
    await expect(page.locator("#place")).to_have_text("Bob, Carol, Claudius")
    titles = places.locator("h2")
    await expect(titles).to_have_text(["Channels", "Direct messages"])
    direct = places.locator("ul").nth(1)
    await expect(direct.get_by_role("button", name="Bob, Carol, Claudius (group DM)")).to_be_visible()
    await expect(places.get_by_role("button", name="Private channel backroom")).to_be_visible()
    await expect(places.get_by_role("button", name="general")).to_have_accessible_name("general")
    await expect(page.locator("#composer textarea")).to_have_attribute(
        "placeholder", "Message Bob, Carol, Claudius"
    )
    await expect(page.locator("#scope")).to_contain_text(f"Alice in {ALL}")


async def _look_at_the_views(page: Page) -> None:
    await page.locator("#views").get_by_role("link", name="Threads").click()
    rows = page.locator(".threads .row .where")
    await expect(rows).to_have_count(2)
    await expect(rows.filter(has_text=ALL)).to_have_count(1)
    await expect(rows.filter(has_text="backroom").get_by_role("img", name="Private channel")).to_be_visible()
    await expect(rows.filter(has_text="#")).to_have_count(0)
    await page.get_by_label("Search threads").fill("carol")
    await expect(rows).to_have_text([ALL])
    await page.locator("#views").get_by_role("link", name="Costs").click()
    await expect(page.locator(".costs")).to_contain_text(ALL)
    await expect(page.locator(".costs").get_by_role("img", name="Private channel")).to_be_visible()
    await page.get_by_role("button", name="All threads").click()
    await expect(page.locator("#turns .headline .place").filter(has_text=ALL)).to_be_visible()
    await page.locator("#filter").get_by_text("All", exact=True).click()
    await expect(page.locator("#entries [data-kind='thread']").filter(has_text=ALL)).to_be_visible()
    await page.locator("#filter").get_by_text("Thoughts", exact=True).click()
    await expect(page.locator("#tree")).to_contain_text(f"Conversation in {ALL}")
