"""The page after a person is forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, ViewportSize, expect

from daemon.app.daemon import RunningDaemon
from daemon.kinds import (
    ButtonPress,
    DeleteRequested,
    DeletionCompleted,
    ForgetCompleted,
    ForgetRequested,
    IncomingMessage,
    SoulTurnBegan,
)
from rehearsal.people import BOB, SOUL
from tests.attention import until
from tests.console.browser import ALL_DRAWN, IN_A_BROWSER, Browsing
from tests.console.theatre import theatre
from tests.soak import later

pytestmark = IN_A_BROWSER

DM = "D0BOB000001"
GENERAL = "C0GENERAL01"
SECRET = "I keep forty beehives in Zinnwald."
BOTH = "Forget it, and delete your answers here"


@dataclass(kw_only=True)
class Visit:
    """Page of a daemon in a rehearsed workspace, and its failed requests."""

    soul: RunningDaemon
    page: Page
    refused: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)

    async def call(self, method: str, token: str = BOB.token, **said: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await self.page.request.post(f"{self.soul.url}/api/{method}", data=said, headers=headers)
        told: dict[str, Any] = await answer.json()
        assert told["ok"], told
        return told

    async def say(self, text: str, channel: str = DM) -> str:
        """Send this as Bob, and wait until all work is over."""
        before = self.soul.journal.last_seq_of_all()
        ts = str((await self.call("chat.postMessage", channel=channel, text=text))["ts"])
        await until(lambda: ts in str([one.event for one in self.soul.journal.entries_since(before)]))
        await self.over()
        return ts

    async def over(self) -> None:
        """Wait until no turn runs or waits, by one query: threads may write between two."""
        kinds = (
            SoulTurnBegan,
            IncomingMessage,
            ButtonPress,
            ForgetRequested,
            ForgetCompleted,
            DeleteRequested,
            DeletionCompleted,
        )
        await until(lambda: not self.soul.journal.pending_seqs(*kinds) and not self.soul.worker.is_busy)

    async def press(self, root: str, label: str) -> None:
        replies = await self.call("conversations.replies", channel=DM, ts=root)
        asked = [one["ts"] for one in replies["messages"] if label in str(one.get("blocks"))]
        data = {"user": BOB.id, "channel": DM, "ts": asked[-1], "label": label}
        before = self.soul.journal.last_seq_of_all()
        answer = await self.page.request.post(f"{self.soul.url}/rehearsal/press", data=data)
        assert answer.ok
        await until(lambda: "answered" in [one.kind for one in self.soul.journal.entries_since(before)])
        await self.over()


@asynccontextmanager
async def visit(folder: Path, browser: Browsing, width: int = 1440) -> AsyncIterator[Visit]:
    async with theatre(folder) as (soul, _), browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=width, height=900))
        here = Visit(soul=soul, page=page)

        def look(url: str, status: int) -> None:
            if status >= 400 and "/rehearsal/tour" not in url:  # this daemon has no tour
                here.refused.append(f"{status} {url}")
            if "/console/names" in url and url.endswith("of="):
                here.nameless.append(url)

        page.on("response", lambda answer: look(answer.url, answer.status))
        yield here


async def shown(page: Page, link: str) -> None:
    await page.goto(link)
    await page.reload()
    await expect(page.locator("#soul")).to_have_text(SOUL.name)
    await page.evaluate(ALL_DRAWN)


@pytest.mark.parametrize(("width", "label"), [(1440, "Forget it"), later(1024, BOTH), later(390, BOTH)])
async def test_who_was_forgotten_is_so_on_the_whole_page(
    tmp_path: Path, browser: Browsing, width: int, label: str
) -> None:
    async with visit(tmp_path, browser, width) as here:
        page, url = here.page, here.soul.url
        await page.goto(f"{url}/#threads")
        await here.say(SECRET)
        await here.say(f"<@{SOUL.user}> {SECRET}", GENERAL)
        root = await here.say("!forget me")
        rows = page.locator(".threads .row")
        await expect(rows).to_have_count(3)
        await expect(rows.first).to_contain_text("waits for Bob")
        await expect(page.locator("#asked")).to_have_text("1")
        await here.press(root, label)
        for _ in range(2):  # now, and after a reload
            await expect(page.locator(".threads .began")).to_have_text(["forgotten"] * 3)
            await expect(rows.first).not_to_contain_text("waits")
            await expect(page.locator("#asked")).to_be_hidden()
            await page.reload()
        await expect(rows).to_have_count(3)
        for thread in await rows.evaluate_all("all => all.map((one) => one.dataset.key)"):
            await shown(page, f"{url}/#threads/{thread}")
            cards = page.locator("#turns > li.turn")
            await expect(cards.first).to_be_attached()
            await expect(cards.first).to_contain_text("Forgotten")
            assert "waits for an answer" not in await page.locator("#journal").inner_text()
        await shown(page, f"{url}/#questions")
        await expect(page.locator("#view")).to_contain_text("Nobody is asked anything.")
        await expect(page.locator("#view")).not_to_contain_text("Answered lately")
        assert SECRET not in await page.locator("body").inner_html()
        assert (here.nameless, here.refused) == ([], [])
        replies = await here.call("conversations.replies", channel=DM, ts=root)
        said = " ".join(one["text"] for one in replies["messages"])
        assert "This local workspace forgets the same." in said or label == BOTH
        assert "cannot reach: what stands in Slack" not in said


async def test_the_rehearsed_workspace_shows_no_row_of_deleted_messages(
    tmp_path: Path, browser: Browsing
) -> None:
    async with visit(tmp_path, browser) as here:
        page = here.page
        for words in ("One.", "Two.", "Three."):
            await here.say(words)
        root = await here.say("!forget me")
        await here.press(root, "Forget it")
        history = await here.call("conversations.history", channel=DM)
        assert len(history["messages"]) == 1, "the root of what is left to read"
        await page.goto(f"{here.soul.url}/#{here.soul.journal.entries_since(0, 100_000)[-1].thread}")
        await expect(page.locator("#messages")).to_contain_text("It is done")
        await expect(page.locator("#messages")).not_to_contain_text("Two.")


async def test_a_card_waits_only_until_its_question_is_answered(tmp_path: Path, browser: Browsing) -> None:
    async with visit(tmp_path, browser) as here:
        root = await here.say("!forget me")
        thread = here.soul.journal.entries_since(0, 100_000)[-1].thread
        await shown(here.page, f"{here.soul.url}/#threads/{thread}")
        cards = here.page.locator("#turns > li.turn")
        await expect(cards).to_have_count(1)
        await expect(cards.first).to_contain_text("waits for an answer")
        await here.press(root, "Keep it")
        for _ in range(2):
            await expect(cards).to_have_count(2)
            await expect(cards.first).not_to_contain_text("waits for an answer")
            await expect(cards.last).to_contain_text("Then I keep it.")
            await here.page.reload()


async def test_the_souls_messages_that_are_deleted_go_from_the_chat(
    tmp_path: Path, browser: Browsing
) -> None:
    async with visit(tmp_path, browser) as here:
        page = here.page
        first = await here.say("Good morning")
        thread = here.soul.journal.entries_since(0, 100_000)[-1].thread
        replies = await here.call("conversations.replies", channel=DM, ts=first)
        answer = replies["messages"][1]["text"]
        await page.goto(f"{here.soul.url}/#{thread}")
        chat = page.locator("#chat")
        await expect(chat).to_contain_text(answer[:30])
        root = await here.say("!delete")
        await here.press(root, "Delete them")
        await expect(chat).not_to_contain_text(answer[:30])
        left = await here.call("conversations.replies", channel=DM, ts=root)
        assert left["messages"][-1]["text"].endswith("2 are gone from Slack.")
        assert "Good morning" in str((await here.call("conversations.history", channel=DM))["messages"])
