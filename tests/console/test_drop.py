"""Files dropped into a message on the page, or chosen by keyboard."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import JSHandle, Locator, Page, ViewportSize, expect

from rehearsal.people import ALICE, SOUL
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.desk import Desk, desk
from tests.soak import SOAK, later

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
PICTURES = os.environ.get("PICTURES")
HELD = """(files) => {
  const held = new DataTransfer();
  for (const [name, text] of files) held.items.add(new File([text], name, { type: "text/plain" }));
  return held;
}"""
MISSED = """(held) => {
  const drop = new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true });
  return !document.querySelector("#journal").dispatchEvent(drop);
}"""

NO_SCRIPT = {"workspace": True, "model": False}
"""Disable the script, and so the tour."""


@asynccontextmanager
async def seat(
    home: Path, browser: Browsing, width: int = 1440, dark: bool = False, said: str = ""
) -> AsyncIterator[tuple[Desk, Page]]:
    """Open the page as Alice, after this message; fail on page errors."""
    look: Literal["dark", "light"] = "dark" if dark else "light"
    async with desk(home, rehearsed=NO_SCRIPT) as here, browser() as chromium:
        if said:
            await here.client(ALICE.token).chat_postMessage(channel=DM, text=said)
        size = ViewportSize(width=width, height=900)
        page = await chromium.new_page(viewport=size, color_scheme=look)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda told: complaints.append(told.text) if told.type == "error" else None)
        page.on("filechooser", lambda _: None)  # else the first chooser is the desktop's own
        await page.goto(here.url)
        await expect(page.locator(".thread" if said else "#messages .hello")).to_be_visible()
        await expect(page.locator("#composer textarea")).to_be_focused()  # focus comes after loading
        yield here, page
        assert complaints == []


async def held(page: Page, *files: tuple[str, str]) -> JSHandle:
    return await page.evaluate_handle(HELD, files)


async def drop(place: Locator, files: JSHandle) -> None:
    await place.dispatch_event("dragover", {"dataTransfer": files})
    await place.dispatch_event("drop", {"dataTransfer": files})


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


def heard(here: Desk) -> list[dict[str, Any]]:
    deliveries = here.world.workspace.courier.deliveries()
    return [one["payload"]["event"] for one in deliveries if one["app"] == SOUL.id]


async def content(here: Desk, file: dict[str, Any]) -> bytes:
    headers = {"Authorization": f"Bearer {SOUL.bot_token}"}
    async with here.session.get(file["url_private_download"], headers=headers) as answer:
        assert answer.status == 200
        return await answer.read()


@pytest.mark.parametrize("dark", [False, later(True)])
async def test_a_file_is_dropped_into_a_message(tmp_path: Path, dark: bool, browser: Browsing) -> None:
    async with seat(tmp_path, browser, dark=dark) as (here, page):
        files = await held(page, ("plan.txt", "the plan"), ("old.txt", "x" * 34_000))
        await page.locator("#messages").dispatch_event("dragover", {"dataTransfer": files})
        await expect(page.locator("#composer")).to_have_class("dropping")
        await picture(page, f"held-{dark}")
        await page.locator("#messages").dispatch_event("drop", {"dataTransfer": files})
        await expect(page.locator("#composer")).not_to_have_class("dropping")
        chips = page.get_by_role("list", name="Files to be sent").locator(".file")
        await expect(chips).to_contain_text(["plan.txt8 bytes", "old.txt34 kB"])
        await page.locator("#composer textarea").fill("Look at *this*")
        await picture(page, f"chips-{dark}")
        await chips.get_by_role("button", name="Take off old.txt").click()
        await page.locator("#composer textarea").press("Enter")
        shown = page.locator(".thread.open .message")
        await expect(shown.locator(".files .file")).to_have_text("plan.txt8 bytes")
        await expect(shown).to_contain_text("Look at this")
        await expect(chips).to_have_count(0)
        await picture(page, f"sent-{dark}")
        (event,) = heard(here)
        assert (event["subtype"], event["text"], event["user"]) == ("file_share", "Look at *this*", ALICE.id)
        assert [await content(here, file) for file in event["files"]] == [b"the plan"]


@SOAK
async def test_it_is_done_by_keyboard_alone(tmp_path: Path, browser: Browsing) -> None:
    paths = [tmp_path / name for name in ("one.csv", "two.csv", "three.csv")]
    for path in paths:
        path.write_text(path.stem)
    async with seat(tmp_path, browser) as (here, page):
        composer = page.locator("#composer")
        add = composer.get_by_role("button", name="Add file")
        for _ in range(60):
            if await add.evaluate("(node) => node === document.activeElement"):
                break
            await page.keyboard.press("Tab")
        async with page.expect_file_chooser() as choosing:
            await page.keyboard.press("Enter")
        await (await choosing.value).set_files([str(path) for path in paths])
        await expect(add).to_be_focused()
        await composer.get_by_role("button", name="Take off two.csv").press("Enter")
        await expect(composer.get_by_role("button", name="Take off three.csv")).to_be_focused()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Enter")
        await expect(composer.locator("textarea")).to_be_focused()
        await expect(composer.locator(".file")).to_have_count(0)
        await drop(composer, await held(page, ("four.csv", "4")))
        await page.keyboard.press("Enter")
        await expect(page.locator(".thread.open .file")).to_contain_text("four.csv")
        (event,) = heard(here)
        assert (event["text"], [file["name"] for file in event["files"]]) == ("", ["four.csv"])


@SOAK
async def test_a_file_goes_into_the_thread_that_it_is_dropped_on(tmp_path: Path, browser: Browsing) -> None:
    async with seat(tmp_path, browser, said="About the plan") as (here, page):
        reply = page.locator(".thread.open .reply")
        files = await held(page, ("plan.txt", "the plan"))
        await page.locator("#messages").dispatch_event("dragover", {"dataTransfer": files})
        await reply.dispatch_event("dragover", {"dataTransfer": files})
        await expect(page.locator(".dropping")).to_have_count(1)
        await drop(reply, files)
        await expect(page.locator("#composer .file")).to_have_count(0)
        await picture(page, "reply")
        await page.keyboard.press("Enter")
        await expect(page.locator(".thread.open .replies .file")).to_contain_text("plan.txt")
        root, event = heard(here)
        assert event["thread_ts"] == root["ts"]


async def test_what_could_not_be_sent_is_still_there(tmp_path: Path, browser: Browsing) -> None:
    async with seat(tmp_path, browser) as (here, page):
        with here.world.workspace.db as db:
            db.execute(
                "insert into file (id, user, name, title, size, created, content) "
                "values ('F9', 'U', 'x', 'x', 256000000, 0, 'x')"
            )
        composer = page.locator("#composer")
        await drop(composer, await held(page, ("plan.txt", "the plan")))
        await composer.locator("textarea").fill("Look")
        await composer.locator("textarea").press("Enter")
        await expect(composer.get_by_role("alert")).to_have_text("This was not sent: storage_limit_reached.")
        await expect(composer.locator("textarea")).to_have_value("Look")
        await expect(composer.locator(".file")).to_contain_text("plan.txt")
        with here.world.workspace.db as db:
            db.execute("delete from file")
        await composer.locator("textarea").press("Enter")
        await expect(page.locator(".thread.open .file")).to_contain_text("plan.txt")


@SOAK
async def test_no_more_files_than_one_message_takes(tmp_path: Path, browser: Browsing) -> None:
    async with seat(tmp_path, browser) as (_, page):
        composer = page.locator("#composer")
        await drop(composer, await held(page, *((f"{number}.txt", "x") for number in range(11))))
        await expect(composer.get_by_role("alert")).to_have_text("At most 10 files go with one message.")
        await expect(composer.locator(".file")).to_have_count(10)


@SOAK
async def test_a_file_that_is_dropped_beside_does_not_take_the_page_away(
    tmp_path: Path, browser: Browsing
) -> None:
    async with seat(tmp_path, browser) as (_, page):
        assert await page.evaluate(MISSED, await held(page, ("plan.txt", "the plan")))
        await expect(page.locator(".file")).to_have_count(0)


@SOAK
async def test_on_a_narrow_window_everything_is_in_reach(tmp_path: Path, browser: Browsing) -> None:
    async with seat(tmp_path, browser, width=390, said="About the plan") as (_, page):
        name = "a very long name of a file that somebody found somewhere and never thought about again.txt"
        await drop(page.locator("#composer"), await held(page, (name, "x" * 2_345_678), ("b.txt", "x")))
        composer = page.locator("#composer")
        for button in ("Add file", "Send", f"Take off {name}", "Take off b.txt"):
            await expect(composer.get_by_role("button", name=button)).to_be_in_viewport(ratio=1)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await picture(page, "narrow")
        await composer.locator("textarea").press("Enter")
        await expect(page.locator(".thread.open .file")).to_have_count(2)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await picture(page, "narrow-sent")
