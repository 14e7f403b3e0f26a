"""The inner life on the page: ticks, records and waits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, ViewportSize, expect

from daemon.engine.kinds import EntryMatch, WaitBegan
from daemon.kinds import (
    INNER,
    AmbientMessage,
    CommandRan,
    ConversationOpened,
    ProgramEnded,
    ProgramStarted,
    TickLogged,
)
from daemon.settings.home import project_root
from rehearsal.people import TEAM
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import Desk, desk
from tests.console.site import called
from tests.console.theatre import theatre
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

PICTURE = project_root() / "docs" / "inner-life.png"
"""README screenshot, written if TAKE_PICTURE is set."""
SIZE = ViewportSize(width=1440, height=1000)
PHONE = ViewportSize(width=390, height=700)
EVIL = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script> <b>bold</b> &lt;i&gt;"
NORRLAND = "The ferry to Norrland is late again, the third time in a week."


async def test_the_script_lives_an_inner_life_that_can_be_watched(tmp_path: Path, browser: Browsing) -> None:
    async with (
        theatre(tmp_path, inner_life_enabled=True, inner_life_min_pause=0.0) as (soul, model),
        browser() as chromium,
    ):
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(soul.url)
        await turn_to_inner(page)
        now = page.locator("#inner-now")
        await expect(now).to_contain_text("It sleeps until an important note comes, or it is ")
        await expect(now).to_contain_text("0 of 10 messages")
        await say(page, "general", NORRLAND)
        await expect(shelf(page, "Notes").locator("summary")).to_contain_text("to be read: 1 normal")
        await say(page, "general", "@Claudius hello, what do you know about the ferry?")
        tick = page.locator("#ticks > .tick[data-outcome='thought']").first
        await expect(tick).to_contain_text("wrote, as far as I can tell about")
        await expect(shelf(page, "Diary").locator("summary")).to_contain_text(re.compile("[12] pages?"))
        await expect(now).to_contain_text("It sleeps until an important note comes")

        await head(tick).click()
        await expect(tick.locator(".answer-of-tick .thought")).to_contain_text("wrote, as far as I can tell")
        kept = tick.locator(".did").filter(has_text=f"Alice, in #general: “{NORRLAND}”").first
        await expect(kept).to_contain_text("writes in its diary")
        await head(tick.locator(".shown")).click()
        contexts = tick.locator(".context")
        await expect(contexts).to_have_count(7)
        await expect(contexts.nth(0)).to_contain_text("1. Its own last replies")
        await expect(contexts.nth(6)).to_contain_text("7. What to do if it goes in circles")
        await head(contexts.nth(3)).click()
        sent = await contexts.nth(3).locator("pre").inner_text()
        assert NORRLAND in sent
        asked = [str(request["messages"][-1]["content"][-1]["text"]) for request in model.requests]
        assert any(sent in text for text in asked), "it is shown as it was sent"
        await head(tick.locator(".shown")).click()
        for name in ("Notes", "Diary"):
            await shelf(page, name).locator("summary").click()
        await expect(shelf(page, "Notes").locator("li").last).to_contain_text("read")
        await take_picture(page)

        await tick.get_by_role("button", name="What the model saw").click()
        await expect(page.locator("#call-body")).to_contain_text("# Commands:")
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="All its entries").click()
        await turn_to(page, "This thread")
        entries = page.locator("#entries")
        await expect(entries).to_contain_text("writes in its diary")
        await expect(entries).to_contain_text("goes to sleep")
        await turn_to(page, "Thoughts")
        await expect(page.locator("#tree > .root > .top-of-branch b")).to_have_text("Inner life")
        assert not complaints


@SOAK
async def test_where_there_is_no_inner_life_nothing_of_it_is_offered(
    tmp_path: Path, browser: Browsing
) -> None:
    async with theatre(tmp_path) as (soul, _), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await expect(page.locator("#filter").get_by_text("Readings", exact=True)).to_be_visible()
        await expect(page.locator("#filter").get_by_text("Inner life", exact=True)).to_be_hidden()


@SOAK
async def test_each_end_of_a_tick_says_what_happened(tmp_path: Path, browser: Browsing) -> None:
    async with desk(tmp_path, inner=True) as world, browser() as chromium:
        call = await write(world, "a/tick#1", called("tick", text="Round and round.", cost=0.01))
        compared = await write(world, "a/compare#1", called("compare", text='{"new": false}', cost=0.002))
        assert compared > call
        circle = TickLogged(
            tick=0, outcome="repeated", answer=call, reflex="switch", advice="Try the other.", novelty=0.2
        )
        await write(world, "a/tick-ended#1", circle)
        failed = await write(world, "b/tick#1", called("tick", outcome="failed", failure="overloaded"))
        await write(world, "b/tick-ended#1", TickLogged(tick=failed - 1, outcome="failed", why="a note came"))
        asleep = TickLogged(tick=failed + 1, outcome="asleep", why="process 3 (disk) ended: ok")
        await write(world, "c/tick-ended#1", asleep)
        page = await opened(chromium, world)
        ticks = page.locator("#ticks > .tick")
        await expect(ticks).to_have_count(3)
        for number, (state, words) in enumerate(ENDS):
            await expect(ticks.nth(number).locator("> .top-of-branch .state")).to_have_text(state)
            await expect(ticks.nth(number)).to_contain_text(words)
        await expect(ticks.nth(2)).to_contain_text("20 % new · it is to take up another task · $0.0120")
        await head(ticks.nth(1)).click()
        await expect(ticks.nth(1)).to_contain_text("The model is overloaded and did not answer.")
        await head(ticks.nth(2)).click()
        await expect(ticks.nth(2).locator(".reflex")).to_contain_text("Try the other.")
        await expect(page.locator("#inner-now")).to_contain_text("Today $0.25 of $1.00")


@SOAK
async def test_what_it_has_and_what_it_waits_for_follow_the_journal(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path, inner=True) as world, browser() as chromium:
        page = await opened(chromium, world)
        now = page.locator("#inner-now")
        await expect(now).to_contain_text("It waits for nothing.")
        await expect(page.locator("#ticks")).to_have_text("It has not thought yet.")
        program = await write(world, "a/start#1", ProgramStarted(name="disk", slots={"place": "srv"}))
        matching = EntryMatch(
            kinds=(AmbientMessage.kind,), anywhere=True, about={"priority": "urgent", "tags": ["red"]}
        )
        asleep = WaitBegan(
            closed=(program,), want="any", matching=matching, note={"idle": True}, resumes=False
        )
        await write(world, "a/wait#1", asleep)
        await expect(now).to_contain_text(
            f"It sleeps until the program {program} ends, or an urgent note with #red comes."
        )
        programs = shelf(page, "Programs")
        await expect(programs).to_contain_text("1 program running")
        await write(world, "a/ended#1", ended(program))
        await programs.locator("summary").click()
        await expect(programs.locator("li")).to_contain_text("disk complained")
        await expect(programs.locator("li pre")).to_have_text("9 % free")
        for number, (name, args) in enumerate(KEPT):
            command = CommandRan(tick=1, cmd_id=str(number), name=name, args=args, text="added")
            await write(world, f"a/command#{number}", command)
        await expect(shelf(page, "Concepts")).to_contain_text("2 concepts")
        await shelf(page, "Links").locator("summary").click()
        await expect(shelf(page, "Links").locator("li p")).to_have_text("ferry goes to Norrland")
        await shelf(page, "Notebook").locator("summary").click()
        await expect(shelf(page, "Notebook").locator("li")).to_contain_text("Ask about the pier.")


@SOAK
async def test_very_many_ticks_come_page_by_page_and_new_ones_on_top(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path, inner=True) as world, browser() as chromium:
        for number in range(45):
            await write(world, f"{number}/tick#1", TickLogged(tick=0, outcome="asleep", why=f"no. {number}."))
        page = await opened(chromium, world)
        ticks = page.locator("#ticks > .tick")
        await expect(ticks).to_have_count(20)
        older = page.locator("#ticks .older")
        await expect(older).to_have_text("25 older ones")
        await older.click()
        await expect(ticks).to_have_count(40)
        await expect(older).to_have_text("5 older ones")
        await older.click()
        await expect(ticks.last).to_contain_text("No. 0.")
        await expect(older).to_be_hidden()
        await write(world, "45/tick#1", TickLogged(tick=0, outcome="asleep", why="no. 45."))
        await expect(ticks.first).to_contain_text("No. 45.")
        await expect(ticks).to_have_count(46)


async def test_nothing_of_it_is_html_and_it_fits_on_a_phone_in_the_dark(
    tmp_path: Path, browser: Browsing
) -> None:
    async with desk(tmp_path, inner=True) as world, browser() as chromium:
        await world.journal.append("sess-00000009", place(EVIL), key="thread:evil")
        said = AmbientMessage(user="U1", name=EVIL, text=EVIL, ts="17.1")
        await world.journal.append("sess-00000009", said, key="noticed:1")
        call = await write(world, "a/tick#1", called("tick", text=f"{EVIL}\n# Commands:\n{EVIL}"))
        ran = [
            await write(
                world, f"a/command#{name}", CommandRan(tick=1, cmd_id="1", name=name, args=args, text=EVIL)
            )
            for name, args in (("diary.add", {"text": EVIL}), (EVIL, {"wide": "w" * 300}))
        ]
        tick = TickLogged(
            tick=call - 1, outcome="thought", why=EVIL, view="sess-00000009", answer=call, commands=tuple(ran)
        )
        await write(world, "a/ended#1", tick)
        page = await opened(chromium, world, PHONE)
        await page.emulate_media(color_scheme="dark")
        await head(page.locator("#ticks > .tick")).click()
        for name in ("Notes", "Diary"):
            await shelf(page, name).locator("summary").click()
            await expect(shelf(page, name).locator(".text-of-it")).to_have_text(EVIL)
        await expect(page.locator("#ticks .came-of-it").first).to_have_text(EVIL)
        assert await page.locator("#inner :is(img, script)").count() == 0
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        inner = page.locator("#inner")
        assert await inner.evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0


ENDS = [
    ("asleep", "Process 3 (disk) ended: ok"),
    ("no answer", "A note came"),
    ("nothing new", "Round and round."),
]
KEPT: list[tuple[str, dict[str, Any]]] = [
    ("concepts.add", {"name": "ferry", "description": "A ship."}),
    ("concepts.add", {"name": "Norrland", "description": "A land."}),
    ("links.add", {"from": "ferry", "to": "Norrland", "relation": "goes to"}),
    ("llm_memory.add", {"text": "Ask about the pier."}),
]


def place(name: str) -> ConversationOpened:
    return ConversationOpened(
        team=TEAM,
        channel="C1",
        ts="17.1",
        where="channel",
        place=name,
        audience="public",
        user="",
        called_by="17.1",
    )


def ended(program: int) -> ProgramEnded:
    return ProgramEnded(process=program, name="disk", status="warning", result="9 % free")


async def write(world: Desk, key: str, event: Any) -> int:
    entry, _ = await world.journal.append(INNER, event, key=f"{INNER}@{key}")
    return entry.seq


async def opened(chromium: Windows, world: Desk, size: ViewportSize = SIZE) -> Page:
    page = await chromium.new_page(viewport=size)
    await page.goto(world.url)
    if size["width"] < SIZE["width"]:
        await page.get_by_role("button", name="Journal").click()
    await turn_to_inner(page)
    return page


async def turn_to(page: Page, view: str) -> None:
    await page.locator("#filter").get_by_text(view, exact=True).click()


async def turn_to_inner(page: Page) -> None:
    await turn_to(page, "Inner life")
    await expect(page.locator("#inner-now")).not_to_be_empty()


async def say(page: Page, channel: str, text: str) -> None:
    await page.get_by_role("button", name=channel).click()
    await page.locator("#composer textarea").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator("#messages")).to_contain_text(text.removeprefix("@Claudius "))


def head(item: Any) -> Any:
    return item.locator("> .top-of-branch > .head")


def shelf(page: Page, name: str) -> Any:
    return page.locator(f"[data-shelf='{name}']")


async def take_picture(page: Page) -> None:
    if os.environ.get("TAKE_PICTURE"):
        await page.set_viewport_size({"width": 1280, "height": 1080})
        await shelf(page, "Notes").locator("summary").click()
        await page.locator("#inner").evaluate("(node) => (node.scrollTop = 0)")
        await page.screenshot(path=PICTURE)
