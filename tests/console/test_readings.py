"""Readings on the page as growing trees."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, ViewportSize, expect

from daemon.engine.kinds import ExecutionRestarted
from daemon.kinds import (
    CellBegan,
    CellRan,
    ReadingBegan,
    ReadingEnded,
    SoulTurnBegan,
    SoulTurnEnded,
    SystemMessage,
)
from daemon.settings.home import project_root
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.deliveries import DELIVERIES, QUESTION, ROUNDS, cell, open_sandbox, pieces, reading
from tests.console.desk import THREAD, Desk, desk
from tests.console.shelf import (
    EXECUTION,
    READ,
    SIZE,
    ask,
    cell_of,
    figures,
    name,
    readings,
    shoot,
    state,
    turn_to,
    write,
)
from tests.console.site import called
from tests.console.theatre import theatre
from tests.soak import SOAK
from tests.stories.stage import ALICE

pytestmark = IN_A_BROWSER

PICTURE = project_root() / "docs" / "reading.png"
"""README screenshot, written if TAKE_PICTURE is set."""
PHONE = ViewportSize(width=390, height=700)
EVIL = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script> <b>bold</b> &lt;i&gt;"
MANY = 1_200


async def test_a_reading_grows_as_a_tree_from_its_first_cell_to_its_answer(
    tmp_path: Path, browser: Browsing
) -> None:
    async with (
        theatre(tmp_path, reading(DELIVERIES), open_sandbox, rlm_threshold_tokens=0) as (soul, model),
        browser() as chromium,
    ):
        model.script = pieces
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await turn_to(page, "Readings")
        await expect(page.get_by_role("tree")).to_have_text("Nothing long was read here yet.")
        gates = [asyncio.Event() for _ in ROUNDS]
        for number, (words, code) in enumerate(ROUNDS):
            model.say(cell(code, words), model="*sonnet*", until=gates[number], asks=f"Round {number + 1}/")
        september = asyncio.Event()
        model.say("Norrland", asks="late in September?", until=september)
        await page.locator("#composer textarea").fill(QUESTION)
        await page.keyboard.press("Enter")
        root = page.get_by_role("tree").locator("> .root")
        await expect(state(root)).to_have_text("reading")
        await expect(name(root)).to_have_text(QUESTION)

        gates[0].set()
        first, second = cell_of(root, 0), cell_of(root, 1)
        await expect(first.locator(".code")).to_contain_text("list(context.items())[:3]")
        await expect(first.locator(".output")).to_contain_text("11 parts")
        await expect(state(first)).to_be_empty()
        await root.evaluate("(node) => (node.dataset.seen = 'first')")
        gates[1].set()
        await expect(state(second)).to_have_text("running")
        await expect(second.locator(".asked .head")).to_contain_text("9 sub-calls")
        await expect(second.locator(".asked .head")).to_contain_text("so far")
        await shoot(page, "running")
        september.set()
        await expect(state(second)).to_have_text("failed")
        await expect(second.locator(".came")).to_contain_text("NameError: name 'Counter' is not defined")
        await expect(second.locator(".asked .head")).not_to_contain_text("so far")
        await expect(second.locator(".variables")).to_have_text("months: list, found: list")

        for gate in gates[2:]:
            gate.set()
        await expect(state(root)).to_have_text("answered")
        below = cell_of(root, 3).locator(".reading")
        await expect(state(below)).to_have_text("answered")
        await expect(figures(below)).to_contain_text("1 round · 2 calls")
        await expect(figures(below)).to_contain_text("depth 1")
        await expect(cell_of(below, 0).locator(".output pre")).to_have_text("120 letters")
        await expect(figures(root)).to_contain_text("5 rounds · 17 calls · simulated $0.0")
        await expect(root.locator("> ul > [data-kind='reading-ended']")).to_contain_text("in 8 of 10 months")
        assert await root.get_attribute("data-seen") == "first", "it grew where it stood"
        [began] = [
            entry for entry in soul.journal.entries_since(0, limit=1_000) if entry.kind == "turn-began"
        ]
        await seen_by_who_comes_later(page, f"{soul.url}/#{began.thread}")
        await take_picture(page)
    assert complaints == []


async def seen_by_who_comes_later(page: Page, url: str) -> None:
    """Check that a later visitor sees the same text."""
    root = page.get_by_role("tree").locator("> .root")
    told = await root.inner_text()
    await page.goto("about:blank")
    await page.goto(url)
    await expect(page.get_by_role("radio", name="Turns")).to_be_checked()
    await turn_to(page, "Readings")
    await expect(state(root)).to_have_text("answered")
    assert await root.inner_text() == told


@SOAK
async def test_a_reading_at_its_bound_stops_and_says_what_it_knows(tmp_path: Path, browser: Browsing) -> None:
    bounds: dict[str, Any] = {"rlm_threshold_tokens": 0, "rlm_max_calls": 6}
    async with (
        theatre(tmp_path, reading(DELIVERIES), open_sandbox, **bounds) as (soul, model),
        browser() as chromium,
    ):
        model.script = pieces
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await turn_to(page, "Readings")
        model.say(cell(ROUNDS[1][1]), model="*sonnet*", asks="Round 1/")
        model.say("Norrland, in all five months that were looked at.", asks="There is no more room")
        await page.locator("#composer textarea").fill(QUESTION)
        await page.keyboard.press("Enter")
        root = page.get_by_role("tree").locator("> .root")
        await expect(state(root)).to_have_text("partial")
        await expect(figures(root)).to_have_text(re.compile("^at its bound of calls · 1 round · 7 calls"))
        await expect(root.locator(".asked .head")).to_contain_text("5 sub-calls")
        last = root.locator("[data-kind='reading-ended']")
        await expect(last).to_contain_text("stops, at its bound of calls, and says what it knows")
        await expect(last).to_contain_text("Norrland, in all five months")


@SOAK
async def test_each_reading_says_what_ended_it_and_the_newest_stands_first(
    here: Desk, chromium: Windows
) -> None:
    page = await readings(chromium, here)
    for number, (reason, answer, _, _) in enumerate(ENDS, 1):
        read = f"{EXECUTION}/read#{number}"
        await write(here, f"{read}/reading#1", ReadingBegan(question=f"{reason}?", shape="a str"))
        ended = ReadingEnded(
            answer=answer, reason=reason, partial=reason != "answered", iterations=2, calls=9
        )
        await write(here, f"{read}/reading-ended#1", ended)
    roots = page.get_by_role("tree").locator("> .root")
    await expect(roots).to_have_count(len(ENDS))
    for tree, (reason, _, words, why) in zip(await roots.all(), reversed(ENDS), strict=True):
        await expect(name(tree)).to_have_text(f"{reason}?")
        await expect(state(tree)).to_have_text(words)
        await expect(figures(tree)).to_have_text(re.compile(f"^{why}2 rounds"))
    await page.goto("about:blank")
    await page.goto(f"{here.url}/#{THREAD}")
    await expect(page.get_by_role("radio", name="Turns")).to_be_checked()
    await turn_to(page, "Readings")
    await shoot(page, "ends")
    await expect(roots).to_have_count(len(ENDS))
    await expect(roots.locator(":scope[aria-expanded='true']")).to_have_count(1)
    await expect(roots.first).to_have_attribute("aria-expanded", "true")


@SOAK
async def test_a_reading_that_does_not_go_on_says_so(here: Desk, chromium: Windows) -> None:
    page = await readings(chromium, here)
    root = page.get_by_role("tree").locator("> .root").last
    below = f"{READ}/cell#1!in/:f00d#1"
    await write(here, f"{EXECUTION}/began", SoulTurnBegan(execution=EXECUTION, inputs=()))
    await write(here, f"{READ}/reading#1", ReadingBegan(question="Why?", shape="a str"))
    await write(here, f"{READ}/cell#1", CellBegan(name="cell", code="rlm_query('And why?')"))
    await write(here, f"{below}/reading#1", ReadingBegan(question="And why?", shape="a str", depth=1))
    inner, child = cell_of(root, 0), root.locator(".reading")
    for one, words in ((root, "reading"), (inner, "running"), (child, "reading")):
        await expect(state(one)).to_have_text(words)
    await write(here, f"{EXECUTION}/ended", SoulTurnEnded(outcome="suspended"))
    for one in (root, inner, child):
        await expect(state(one)).to_have_text("waits")
    await write(here, f"{THREAD}@9/began", SoulTurnBegan(execution=EXECUTION, inputs=()))
    await expect(state(child)).to_have_text("reading")
    lost = CellRan(text="(interrupted)", failed=True, lost=True)
    await write(here, f"{READ}/cell#1!done", lost)
    await expect(state(inner)).to_have_text("lost")
    await expect(state(child)).to_have_text("broken off")
    await expect(state(root)).to_have_text("reading")
    await write(here, f"{EXECUTION}/restarted", ExecutionRestarted(why="other words"))
    await expect(state(root)).to_have_text("broken off")
    anew = f"{EXECUTION}~1/read#1"
    await write(here, f"{anew}/reading#1", ReadingBegan(question="Why, again?", shape="a str"))
    await expect(state(page.get_by_role("tree").locator("> .root").first)).to_have_text("reading")
    await write(here, f"{THREAD}@9/ended", SoulTurnEnded(outcome="failed"))
    await expect(page.get_by_role("tree").locator("> .root > .top-of-branch .state")).to_have_text(
        ["broken off"] * 2
    )


async def test_what_models_and_texts_say_is_never_html(here: Desk, chromium: Windows) -> None:
    page = await readings(chromium, here)
    evil = called("recurse", reading=True, text=f"{EVIL}\n```repl\nprint({EVIL!r})\n```")
    await write(here, f"{READ}/reading#1", ReadingBegan(question=EVIL, shape=EVIL))
    await write(here, f"{READ}/recurse#1", evil)
    await write(here, f"{READ}/cell#1", CellBegan(name="cell", code=EVIL))
    await ask(here, 1, prompt=EVIL, text=EVIL)
    await write(here, f"{READ}/cell#1!done", CellRan(text=EVIL, failed=True, variables={EVIL: EVIL}))
    await write(here, f"{READ}/system-message#1", SystemMessage(text=EVIL))
    await write(here, f"{READ}/reading-ended#1", ReadingEnded(answer=EVIL, reason="calls", partial=True))
    root = page.get_by_role("tree").locator("> .root")
    await expect(state(root)).to_have_text("partial")
    await root.locator(".asked .head").click()
    for place in (".code pre", ".output pre", ".prompt .word > span", ".its-answer", ".shape .rest"):
        await expect(root.locator(place)).to_have_text(EVIL)
    await expect(root.locator("[data-kind='reading-ended']")).to_contain_text("<img src=x onerror=")
    await shoot(page, "evil")
    for view in ("Thoughts", "This thread", "All"):
        await turn_to(page, view)
        await expect(
            page.locator("#tree:not([hidden]) [data-kind='reading'], #entries [data-kind='reading']").first
        ).to_contain_text("<img src=x")
    assert await page.locator(":is(main img, main script, #readings :not(.head) > b)").count() == 0
    assert await page.evaluate("window.hacked") is None


@SOAK
async def test_thousands_of_sub_calls_stay_one_line_until_somebody_wants_to_see_them(
    here: Desk, chromium: Windows
) -> None:
    page = await readings(chromium, here)
    await write(here, f"{READ}/reading#1", ReadingBegan(question="How many?", shape="a str"))
    await write(here, f"{READ}/cell#1", CellBegan(name="cell", code="llm_query_batched(all)"))
    tree = page.get_by_role("tree")
    line = tree.locator(".asked")
    await asyncio.gather(*[ask(here, number) for number in range(MANY)])
    await expect(line.locator(".head")).to_have_text("1,200 sub-calls · $0.12so far")
    assert await tree.locator(".prompt").count() == 0, "what is folded is not drawn"
    await line.locator(".head").click()
    more = line.locator(".more")
    await expect(line.locator(".prompt")).to_have_count(50)
    await expect(more).to_have_text("1,150 more sub-calls")
    await more.focus()
    await page.keyboard.press("Enter")
    await expect(line.locator(".prompt")).to_have_count(150)
    await expect(line.locator(".prompt").nth(50)).to_be_focused()
    assert await tree.locator("*").count() < 2_000
    await ask(here, MANY, outcome="failed", failure="overloaded")
    await expect(line.locator(".head")).to_contain_text("1 without an answer, so far")
    await expect(more).to_have_text("1,051 more sub-calls")
    await turn_to(page, "This thread")
    assert await page.locator("#entries > [data-seq]").count() <= 1_000


@SOAK
async def test_it_is_walked_through_by_keyboard_down_to_what_the_model_saw(
    here: Desk, chromium: Windows
) -> None:
    page = await readings(chromium, here)
    long = "\n".join(f"line {number}" for number in range(60))
    await write(here, f"{READ}/reading#1", ReadingBegan(question="What?", shape="a str"))
    await write(here, f"{READ}/cell#1", CellBegan(name="cell", code="print(context)"))
    for number in range(2):
        await ask(here, number)
    await write(here, f"{READ}/cell#1!done", CellRan(text=long))
    tree = page.get_by_role("tree")
    root, inner = tree.locator("> .root"), tree.locator(".cell")
    output = inner.locator(".output")
    await expect(output).to_contain_text("Show all 469 characters")
    await tree.locator("[tabindex='0']").focus()
    await page.keyboard.press("ArrowRight")
    await expect(tree.locator(".shape")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(inner).to_be_focused()
    cut = await output.evaluate("(node) => node.clientHeight")
    await page.keyboard.press("Enter")
    await expect(output).to_contain_text("Show less")
    assert await output.evaluate("(node) => node.clientHeight") > 2 * cut
    await page.keyboard.press("ArrowDown")
    await expect(inner.locator(".asked")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("j")
    await expect(inner.locator(".prompt").first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#call-body")).to_contain_text("No. 0")
    await page.keyboard.press("j")
    await expect(page.locator("#call-body")).to_contain_text("No. 1")
    await page.keyboard.press("Escape")
    await expect(inner.locator(".prompt").last).to_be_focused()
    for _ in range(3):
        await page.keyboard.press("ArrowLeft")
    await expect(inner).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(inner.locator(".last").first).to_have_text("print(context)")
    await expect(output).to_be_hidden()
    await page.keyboard.press("ArrowLeft")
    await expect(root).to_be_focused()


@SOAK
async def test_readings_below_readings_are_read_on_a_phone(here: Desk, chromium: Windows) -> None:
    page = await readings(chromium, here, PHONE)
    tree = page.get_by_role("tree")
    path, child = READ, tree.locator("> .root")
    for depth in range(4):
        question = f"At depth {depth}?"
        await write(here, f"{path}/reading#1", ReadingBegan(question=question, shape="a str", depth=depth))
        await expect(name(child)).to_have_text(question)
        code = f"rlm_query('{'deeper ' * 12}')"
        await write(here, f"{path}/cell#1", CellBegan(name="cell", code=code))
        await expect(cell_of(child, 0).locator("> .top-of-branch > .code")).to_contain_text("deeper")
        path = f"{path}/cell#1!in/:{depth}#1"
        child = cell_of(child, 0).locator("> ul > .reading")
    await expect(figures(tree.locator(".reading").last)).to_contain_text("depth 3")
    await shoot(page, "phone")
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert await tree.evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0


@SOAK
async def test_other_views_lead_to_a_reading_and_one_whose_beginning_is_not_known_is_fetched(
    tmp_path: Path, browser: Browsing
) -> None:
    nobody = {"workspace": False, "model": False}
    async with desk(tmp_path, rehearsed=nobody) as here, browser() as chromium:
        await here.remember(ALICE, "1.1", [])
        await write(here, f"{READ}/reading#1", ReadingBegan(question="Long ago?", shape="a str"))
        await write(here, f"{READ}/cell#1", CellBegan(name="cell", code="pass"))
        for number in range(400):
            await ask(here, number)
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(here.url)
        await turn_to(page, "Readings")
        root = page.get_by_role("tree").locator("> .root")
        out_of_sight = "Its beginning is not in sight."
        await expect(name(root)).to_have_text(re.compile(f"{out_of_sight}|Long ago"))
        if await name(root).inner_text() == out_of_sight:  # otherwise the page loaded older entries by itself
            await root.locator("> .top-of-branch > .head").click()
        await expect(name(root)).to_have_text("Long ago?")
        await expect(root.locator(".asked .head")).to_contain_text("400 sub-calls")
        await write(here, f"{EXECUTION}/read#2/reading#1", ReadingBegan(question="And now?", shape="a str"))
        for view in ("Thoughts", "All"):
            await turn_to(page, view)
            if view == "Thoughts":
                await page.get_by_role("tree").locator(".head").click()
            await page.get_by_role("button", name="How it reads").last.click()
            await expect(root.first).to_be_focused()
            await expect(name(root.first)).to_have_text("And now?")
            await expect(name(root.last)).to_have_text("Long ago?")
            await expect(page.get_by_role("radio", name="Readings")).to_be_checked()


ENDS: list[tuple[Any, str, str, str]] = [
    ("answered", "77.", "answered", ""),
    ("iterations", "About 70.", "partial", "at its bound of rounds · "),
    ("calls", "About 70.", "partial", "at its bound of calls · "),
    ("money", "", "no answer", "at its bound of money · "),
    ("time", "About 70.", "partial", "at its bound of time · "),
    ("stuck", "About 70.", "partial", "it went in circles · "),
    ("stopped", "", "stopped", "somebody stopped it · "),
    ("failed", "", "failed", "no model answered · "),
]


async def take_picture(page: Page) -> None:
    if os.environ.get("TAKE_PICTURE"):
        await page.set_viewport_size({"width": 1280, "height": 1080})
        for number in (0, 2):
            await page.locator("#readings .cell > .top-of-branch > .head").nth(number).click()
        await page.locator("#composer textarea").focus()
        await page.screenshot(path=PICTURE)
