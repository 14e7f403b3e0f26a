"""A form in the page's chat: opened by a press, refused with its faults, sent."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, expect

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.ports import Button
from daemon.prompts.elements import parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.forms import (
    NOT_GIVEN,
    OPEN_FORM,
    FormChoice,
    FormField,
    QuestionForm,
    form_as_json,
    form_words,
)
from daemon.turn.questions import Question, ask
from daemon.turn.speech import say
from daemon.turn.turn import Process, Turn
from rehearsal.people import ALICE
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.looks import faults_of
from tests.console.test_pressing import says
from tests.console.theatre import theatre

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
SIZE = ViewportSize(width=1440, height=900)
PICTURES = os.environ.get("PICTURES")
FRUITS = tuple(FormChoice(value=name, label=name.title()) for name in ("lemon", "plum", "cherry"))
FIELDS = (
    FormField(name="name", label="For whom is it?", hint="A first name is enough"),
    FormField(name="pieces", label="Pieces", kind="whole number", most=12, default=1),
    FormField(name="fruit", label="Fruit", kind="one", choices=FRUITS, default="plum"),
    FormField(name="with", label="With it", kind="several", choices=FRUITS, required=False),
    FormField(name="day", label="Day", kind="date", required=False),
    FormField(name="gift", label="Is it a gift?", kind="yes or no"),
)


async def ordering(turn: Turn) -> WorkingMemory:
    """Ask for an order by a form, and repeat it."""
    words = form_words(parse_labels(turn.text(LABELS_TEXT)))
    form = QuestionForm(
        title="Order a cake", text="Tell me what the café needs to know.", fields=FIELDS, words=words
    )
    choices = (
        Button(label="Fill in", value=OPEN_FORM, style="primary"),
        Button(label="Decline", value=NOT_GIVEN, style="danger"),
    )
    question = Question(text="Which cake?", to=turn.people, choices=choices, about=form_as_json(form))
    answered = await ask(turn, "order", question)
    await say(turn, f"Ordered: {dict(answered.fields)}")
    return turn.memory


async def pictured(page: Page, name: str) -> None:
    for scheme in ("light", "dark") if PICTURES else ():
        await page.emulate_media(color_scheme=scheme)
        await page.screenshot(path=Path(str(PICTURES)) / f"{name}-{scheme}.png")


async def test_a_form_is_opened_refused_mended_and_sent(tmp_path: Path, browser: Browsing) -> None:
    processes: dict[str, Process] = {**PROCESSES, "conversation": ordering}
    async with theatre(tmp_path, processes) as (soul, _), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(soul.url)
        await says(page, soul.url, ALICE.token, DM, "A cake, please")
        fill_in = page.locator(".replies").get_by_role("button", name="Fill in")
        form = page.get_by_role("dialog", name="Order a cake")
        await fill_in.click()
        await expect(form).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(form).to_have_count(0)
        await expect(fill_in).to_be_focused()
        await fill_in.click()
        await expect(form).to_contain_text("Tell me what the café needs to know.")
        await expect(form.get_by_role("radio", name="Plum")).to_be_checked()
        await pictured(page, "modal")
        assert await faults_of(page) == []
        await form.get_by_role("textbox", name="For whom").fill("Bob")
        await form.get_by_role("textbox", name="Pieces").fill("40")
        await form.get_by_role("radio", name="Lemon").check()
        await form.get_by_role("checkbox", name="Cherry").check()
        await form.get_by_role("button", name="Send").click()
        await expect(form).to_contain_text("Please complete this required field.")
        await expect(form.get_by_role("radio", name="Yes")).to_be_focused()
        await form.get_by_role("radio", name="No").check()
        await form.get_by_role("button", name="Send").click()
        await expect(form.get_by_role("alert")).to_have_text("Too large. At most: 12")
        pieces = form.get_by_role("textbox", name="Pieces", exact=True)
        await expect(pieces).to_be_focused()
        await expect(pieces).to_have_accessible_description("Too large. At most: 12")
        await pictured(page, "modal-refused")
        await pieces.fill("4")
        await _sends_in_vain(page, form.get_by_role("button", name="Send"))
        await pieces.focus()
        await page.keyboard.press("Enter")
        await expect(form).to_have_count(0)
        told = page.locator(".replies").get_by_text("Ordered:")
        await expect(told).to_contain_text("'pieces': 4, 'fruit': 'lemon', 'with': ['cherry'], 'gift': False")
        await expect(page.locator(".replies .press")).to_have_count(0)


async def _sends_in_vain(page: Page, send: Locator) -> None:
    """Send the form while the soul does not take it in time."""
    await page.route("**/rehearsal/submit", lambda route: route.fulfill(json={"error": "no_response"}))
    await send.click()
    await expect(page.get_by_text("The soul did not take it in time. Send it again.")).to_be_visible()
    await expect(send).to_be_focused()
    await page.unroute("**/rehearsal/submit")


async def test_a_tool_of_the_rehearsed_cafe_asks_by_a_form(address: str, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(address)
    await says(page, address, ALICE.token, DM, "Please reserve a table in the café on Friday.")
    replies = page.locator(".replies")
    await replies.get_by_role("button", name="Approve").click()
    await replies.get_by_role("button", name="Fill in").click()
    form = page.get_by_role("dialog", name="cafe.reserve_table")
    await expect(form).to_contain_text("For how many people is the table on Friday, and where?")
    await form.get_by_role("textbox", name="Guests").fill("21")
    await form.get_by_role("button", name="Send").click()
    await expect(form.get_by_role("alert")).to_have_text("Too large. At most: 20")
    await form.get_by_role("textbox", name="Guests").fill("3")
    await pictured(page, "modal-of-a-tool")
    await form.get_by_role("button", name="Send").click()
    await expect(replies).to_contain_text("A table for 3 inside is reserved on Friday.")
    await expect(replies.locator(".press")).to_have_count(0)
