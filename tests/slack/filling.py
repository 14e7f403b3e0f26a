"""A question with a form, and what people enter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.engine.event import Entry
from daemon.kinds import QuestionAsked
from daemon.ports import Button, ButtonRow
from daemon.turn.forms import NOT_GIVEN, OPEN_FORM, FormChoice, FormField, QuestionForm, form_as_json
from rehearsal.people import ALICE
from tests.slack.office import GENERAL, Office, until
from tests.slack.voice import KEY, called, ours

WORDS = {"needed": "This is needed.", "too large": "At most:", "form not opened": "Press it again."}
SIZES = (FormChoice(value="s", label="Small"), FormChoice(value="l", label="Large"))
FORM = QuestionForm(
    title="Order",
    text="Which cake?",
    fields=(
        FormField(name="cake", label="Cake", hint="As on the menu"),
        FormField(name="pieces", label="Pieces", kind="whole number", most=12),
        FormField(name="size", label="Size", kind="one", choices=SIZES, default="l"),
        FormField(name="gift", label="A gift?", kind="yes or no", required=False),
    ),
    words=WORDS,
)
FILL = Button(label="Fill in", value=OPEN_FORM, style="primary")
LEAVE = Button(label="Decline", value=NOT_GIVEN, style="danger")


async def posted(here: Office) -> tuple[str, str, str]:
    """Post the message of a question; return its thread, the question's key, and its ts."""
    thread, _ = await called(here)
    key = f"{thread}@3/ask#1"
    row = ButtonRow(asked=key, choices=(FILL, LEAVE))
    return thread, key, await here.slack.speaker.finish(thread, None, "Which cake?", KEY, ours, row)


async def asked_by_form(
    here: Office, form: QuestionForm = FORM, to: tuple[str, ...] = (ALICE.id,)
) -> tuple[Entry[QuestionAsked], str]:
    """Ask by a form; return the recorded question, and the ts of its message."""
    thread, key, ts = await posted(here)
    question = QuestionAsked(
        to=to, choices=(OPEN_FORM, NOT_GIVEN), labels=("Fill in", "Decline"), about=form_as_json(form)
    )
    entry, _ = await here.journal.append(
        thread, replace(question, execution=f"{thread}@3"), key=key, author="soul", cause=1
    )
    await here.acked()
    here.woken.clear()
    return entry, ts


async def press_fill(here: Office, ts: str, user: str = ALICE.id) -> None:
    await here.control("press", user=user, channel=GENERAL, ts=ts, label="Fill in")
    await here.acked()


def view_of(here: Office, user: str = ALICE.id) -> dict[str, Any]:
    """Return the last modal that this person sees."""
    return [one.view for one in here.world.workspace.views.shown if one.user == user][-1]


async def opened(here: Office, ts: str, user: str = ALICE.id) -> dict[str, Any]:
    await press_fill(here, ts, user)
    await until(lambda: any(one.user == user for one in here.world.workspace.views.shown))
    return view_of(here, user)


async def send(here: Office, view: dict[str, Any], *entered: Any, user: str = ALICE.id) -> dict[str, Any]:
    """Send a modal with these values, in the order of its fields; return what its sender sees."""
    values = {f"field-{place}": value for place, value in enumerate(entered)}
    return await here.control("submit", user=user, view=view["id"], values=values)
