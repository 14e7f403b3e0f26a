"""Open thought on the page as a growing tree."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.engine.event import Event
from daemon.engine.kinds import ThreadEnded, ThreadSpawned
from daemon.kinds import InternalMessage, PlanChanged, SelfCall, SoulTurnBegan, SystemMessage
from daemon.settings.home import project_root
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import THREAD, Desk, desk
from tests.console.theatre import theatre
from tests.soak import SOAK
from tests.stories.stage import ALICE
from tests.stories.test_open_thought import OPEN, OVER, calls_itself, final, spawns

pytestmark = IN_A_BROWSER

PICTURE = project_root() / "docs" / "thoughts.png"
"""README screenshot, written if TAKE_PICTURE is set."""
SIZE = ViewportSize(width=1440, height=940)
PHONE = ViewportSize(width=390, height=700)
QUESTION = "Where shall the team meet in May, in Lisbon or in Kraków? Please think it through."
STEPS = ("look at Lisbon", "look at Kraków", "weigh both, and choose")
LISBON = "Lisbon: 22 °C and dry, direct flights for five of eight, about $140 a night."
BUDGET = '<budget bound="calls" of="turn" percent="75" used="30" limit="40"/>'
KRAKOW = "Kraków: 19 °C, some rain, direct flights for seven of eight, about $85 a night."


def plan(done: int) -> str:
    steps = "".join(
        f'<step done="{str(number < done).lower()}">{step}</step>' for number, step in enumerate(STEPS)
    )
    return f'<todo-until condition="we know where to meet">{steps}</todo-until>'


SEEN = "(node) => node.closest('.plan').parentElement.dataset.seen"
BEGINNING = (
    "<thought>The two cities do not depend on each other: a branch for each.</thought>",
    plan(0),
    spawns("lisbon", "How good is Lisbon for a team of eight in May?"),
    spawns("krakow", "How good is Kraków for a team of eight in May?"),
)


class Script:
    """Answers in open thought, each held until the test releases it."""

    def __init__(self, model: ClaudeUnderstudy) -> None:
        self._model = model

    def next(self, *texts: str) -> asyncio.Event:
        gate = asyncio.Event()
        self._model.say("".join(texts), asks=OPEN, until=gate)
        return gate


async def test_a_plan_goes_to_its_last_step_and_two_branches_grow(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(soul.url)
        await expect(page.locator("#place")).to_have_text("Claudius")
        await page.get_by_text("Thoughts", exact=True).click()
        script = Script(model)
        model.say(OVER)
        begin = script.next(*BEGINNING)
        in_lisbon = script.next(calls_itself("Weather first, then flights and rooms."))
        in_krakow = script.next(calls_itself("Most of the team lives nearer; what do rooms cost?"))
        await page.locator("#composer textarea").fill(QUESTION)
        await page.keyboard.press("Enter")
        tree = page.get_by_role("tree")
        root = tree.locator("> li.root")
        await expect(_state(root)).to_contain_text("thinking")
        begin.set()
        progress = root.locator("> .top-of-branch .progress")
        await expect(progress).to_have_text("0/3")
        await progress.evaluate("(node) => (node.closest('.plan').parentElement.dataset.seen = 'first')")
        lisbon, krakow = _branch(tree, "lisbon"), _branch(tree, "krakow")
        for branch in (lisbon, krakow):
            await expect(_state(branch)).to_have_text("thinking")

        lisbon_ends = script.next(final(LISBON))
        in_lisbon.set()
        await expect(lisbon).to_contain_text("Weather first")
        first = script.next(plan(1), "Lisbon is known. I wait for Kraków before I weigh them.")
        first.set()
        lisbon_ends.set()
        await expect(_state(lisbon)).to_have_text("completed")
        await expect(lisbon).to_contain_text("direct flights for five")
        await expect(progress).to_have_text("1/3")
        await expect(root.locator(".plan [data-state='done']")).to_have_text(STEPS[0])
        krakow_ends = script.next(final(KRAKOW))
        in_krakow.set()
        await expect(krakow).to_contain_text("what do rooms cost?")
        await expect(_state(krakow)).to_have_text("thinking")
        await expect(tree.get_by_text("lisbon answers")).to_be_visible()
        await expect(tree).to_contain_text("I wait for Kraków")
        if os.environ.get("TAKE_PICTURE"):
            await page.screenshot(path=PICTURE)

        second = script.next(plan(2), calls_itself("Rain matters less than two more direct flights."))
        third = script.next(plan(3), final("Kraków: seven of eight fly there directly, for less."))
        second.set()
        krakow_ends.set()
        await expect(progress).to_have_text("2/3")
        await expect(_state(krakow)).to_have_text("completed")
        third.set()
        await expect(progress).to_have_text("3/3")
        await expect(tree.locator("[data-kind='spoken']").last).to_contain_text("seven of eight")
        await expect(_state(root)).to_be_empty()
        await expect(root.locator("> .top-of-branch > .branches")).to_have_text("2 branches: 2 completed")
        await expect(page.locator(".thread.open .replies")).to_contain_text("for less")
        assert await progress.evaluate(SEEN) == "first"
        await _seen_by_who_comes_later(page, soul.url)
    assert complaints == []


async def _seen_by_who_comes_later(page: Page, url: str) -> None:
    """Check that a later visitor sees the same, without tags."""
    tree = page.get_by_role("tree")
    told = await tree.inner_text()
    assert "<" not in told, "nobody need read tags here"
    thread = await tree.locator("> li.root").get_attribute("data-thread")
    await page.goto("about:blank")
    await page.goto(f"{url}/#{thread}")
    await _turn_to_thoughts(page)
    await expect(_state(_branch(tree, "lisbon"))).to_have_text("completed")
    assert await tree.inner_text() == told


@SOAK
async def test_branches_are_opened_and_closed_by_keyboard(here: Desk, chromium: Windows) -> None:
    page = await _thoughts(chromium, here, SIZE)
    await remember(here, *tree_of("one", "two"), (f"{THREAD}.two", ThreadEnded(result="Two it is.")))
    tree = page.get_by_role("tree")
    one, two = _branch(tree, "one"), _branch(tree, "two")
    await expect(_state(two)).to_have_text("completed")
    await tree.locator("[tabindex='0']").focus()
    await page.keyboard.press("End")
    await expect(two.locator("[data-kind='thread-ended']")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(two).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(two).to_have_attribute("aria-expanded", "false")
    await expect(two.locator(".last")).to_have_text("Two it is.")
    await expect(two.get_by_role("group")).to_be_hidden()
    await page.keyboard.press("k")
    await expect(one.locator(".talk").last).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(two.get_by_text("is asked from above")).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await expect(two.locator(".talk").first).to_be_focused()
    await _head(one).click()
    await expect(one).to_have_attribute("aria-expanded", "false")
    await remember(here, (f"{THREAD}.one", SelfCall(text="Heard while it was closed.")))
    await expect(one.locator(".last")).to_have_text("Heard while it was closed.")
    await _head(one).click()
    await expect(one.get_by_role("group")).to_contain_text("Heard while it was closed.")


@SOAK
async def test_branches_stand_under_those_that_began_them_each_as_it_ended(
    tmp_path: Path, browser: Browsing
) -> None:
    ends = ("failed", "cancelled", "limited")
    async with desk(tmp_path) as here, browser() as chromium:
        page = await _thoughts(chromium, here, PHONE)
        await remember(here, *tree_of(*ends, "deep"), *tree_of("deeper", above=f"{THREAD}.deep"))
        await remember(here, *[(f"{THREAD}.{end}", ThreadEnded(status=end)) for end in ends])
        tree = page.get_by_role("tree")
        for end in ends:
            await expect(_state(_branch(tree, end))).to_have_text(end)
        await expect(_branch(_branch(tree, "deep"), "deeper")).to_be_visible()
        counts = "5 branches: 1 failed, 1 cancelled, 1 limited, 2 thinking"
        await expect(tree.locator(".branches").first).to_have_text(counts)
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        wide = await tree.evaluate("(node) => node.scrollWidth - node.clientWidth")
        assert wide <= 0, "nothing is cut off on a phone"


@SOAK
async def test_a_hundred_branches_stay_a_page_that_one_can_read(tmp_path: Path, browser: Browsing) -> None:
    names = [f"item-{number}" for number in range(1, 101)]
    async with desk(tmp_path) as here, browser() as chromium:
        page = await _thoughts(chromium, here, SIZE)
        await remember(here, *tree_of(*names))
        tree = page.get_by_role("tree")
        await expect(_state(_branch(tree, "item-100"))).to_have_text("thinking")
        await expect(tree.locator(".branch")).to_have_count(100)
        await expect(tree.locator(".branch[aria-expanded='true']")).to_have_count(6)
        assert await tree.locator("*").count() < 1500, "what is closed is not drawn"
        await remember(here, *[(f"{THREAD}.{name}", ThreadEnded(result=name)) for name in names])
        await expect(tree.locator(".branches").first).to_have_text("100 branches: 100 completed")


@SOAK
async def test_what_the_core_says_stands_there_in_words(here: Desk, chromium: Windows) -> None:
    page = await _thoughts(chromium, here, SIZE)
    fan = '<fan-out-complete total="2" successful="1"><result index="1">Ten &amp; one</result>'
    fan += '<missing index="2" reason="failed"/></fan-out-complete>'
    await remember(
        here,
        (THREAD, SystemMessage(text='<timer-set id="timer-7" label="tea" seconds="90"/>')),
        (THREAD, SystemMessage(text='<huh position="4" repaired="true">an unclosed tag</huh>')),
        (THREAD, InternalMessage(text=fan)),
        (THREAD, SystemMessage(text=BUDGET)),
        (THREAD, SystemMessage(text="<unheard-of a='b'/>")),
        (THREAD, SystemMessage(text="no <markup")),
    )
    said = page.get_by_role("tree").locator(".talk")
    await expect(said).to_have_count(6)
    for row, words in zip(
        await said.all(),
        (
            "a timer in 90 s: tea",
            "mended: an unclosed tag",
            "Ten & one",
            "30 of 40",
            "<unheard-of",
            "no <markup",
        ),
        strict=True,
    ):
        await expect(row).to_contain_text(words)
    await expect(said.nth(2)).to_contain_text("nothing: failed")


def tree_of(*names: str, above: str = THREAD) -> list[tuple[str, Event]]:
    entries: list[tuple[str, Event]] = []
    for name in names:
        branch = f"{above}.{name}"
        entries += [
            (above, ThreadSpawned(thread=branch)),
            (branch, InternalMessage(sender=above, text=f"What of {name}?")),
            (branch, SoulTurnBegan(execution=branch, inputs=())),
        ]
    return entries


async def remember(here: Desk, *entries: tuple[str, Event]) -> None:
    since = here.journal.last_seq_of_all()
    for number, (thread, event) in enumerate(entries, since):
        await here.journal.append(thread, event, key=f"{thread}@1/{event.kind}#{number}")


async def _thoughts(chromium: Windows, here: Desk, size: ViewportSize) -> Page:
    ts = str((await here.client("xoxp-alice").chat_postMessage(channel=ALICE, text="Think!"))["ts"])
    await here.remember(ALICE, ts, [PlanChanged(condition="all is known", steps=(("look", "open"),))])
    page = await chromium.new_page(viewport=size)
    await page.goto(f"{here.url}/#{THREAD}")
    if size == PHONE:
        await page.get_by_role("button", name="Journal").click()
    await _turn_to_thoughts(page)
    await expect(page.get_by_role("tree").locator(".progress")).to_have_text("0/1")
    return page


async def _turn_to_thoughts(page: Page) -> None:
    await expect(page.get_by_role("radio", name="Turns")).to_be_checked()
    await page.get_by_text("Thoughts", exact=True).click()


def _head(item: Locator) -> Locator:
    return item.locator("> .top-of-branch > .head")


def _branch(tree: Locator, name: str) -> Locator:
    return tree.locator(f".branch[data-thread$='.{name}']")


def _state(item: Locator) -> Locator:
    return item.locator("> .top-of-branch .state")
