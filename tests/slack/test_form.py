"""Forms of questions: opened by a press, checked when they are sent, recorded before the ack."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from daemon.engine.kinds import QuestionWithdrawn
from daemon.kinds import ButtonPress
from daemon.slack.modals import CALLBACK
from daemon.turn.forms import OPEN_FORM, SUBMITTED, FormChoice, FormField, QuestionForm
from rehearsal.people import ALICE, BOB, TEAM
from tests.slack.asking import presses
from tests.slack.filling import FORM, asked_by_form, opened, posted, press_fill, send, view_of
from tests.slack.office import GENERAL, Office, office, until


async def test_a_press_opens_the_form_and_is_no_answer_yet(here: Office) -> None:
    asked, ts = await asked_by_form(here)
    view = await opened(here, ts)
    kinds = [block.get("element", {}).get("type") for block in view["blocks"]]
    assert kinds == [None, "plain_text_input", "number_input", "radio_buttons", "static_select"]
    assert view["blocks"][3]["element"]["initial_option"]["text"]["text"] == "Large"
    assert json.loads(view["private_metadata"]) == {"asked": asked.key, "channel": GENERAL}
    assert presses(here) == []
    assert here.woken == []


async def test_a_press_before_the_question_is_recorded_opens_nothing_and_is_no_answer(here: Office) -> None:
    _, _, ts = await posted(here)
    await press_fill(here, ts)
    assert here.wire.told("views.open") == []
    assert presses(here) == []


async def test_what_is_sent_is_on_disk_before_the_ack(here: Office) -> None:
    asked, ts = await asked_by_form(here)
    view = await opened(here, ts)
    here.journal.slow = asyncio.Event()
    sending = asyncio.create_task(send(here, view, "Lemon", "3", "0"))
    await until(lambda: bool(here.unacked()))
    assert presses(here) == []
    here.journal.slow.set()
    assert await sending == {"ok": True, "closed": True}
    (entry,) = here.entries(ButtonPress)
    assert entry.event.fields == {"cake": "Lemon", "pieces": 3, "size": "s"}
    assert (entry.event.answers, entry.event.value, entry.event.text) == (asked.key, SUBMITTED, "Fill in")
    assert (entry.key, entry.author) == (f"click:{TEAM}:{GENERAL}:{view['id']}", ALICE.id)
    assert here.woken == [asked.thread]


async def test_faults_are_shown_in_the_form_which_stays_open(here: Office) -> None:
    _, ts = await asked_by_form(here)
    view = await opened(here, ts)
    assert await send(here, view, "Lemon", "13", "0") == {"ok": True, "errors": {"field-1": "At most: 12"}}
    assert presses(here) == []
    assert await send(here, view, "Lemon", "12", "0", "yes") == {"ok": True, "closed": True}
    assert presses(here)[0].fields == {"cake": "Lemon", "pieces": 12, "size": "s", "gift": True}


async def test_one_form_that_comes_twice_counts_once(here: Office) -> None:
    _, ts = await asked_by_form(here)
    await send(here, await opened(here, ts), "Lemon", "3", "0")
    last = here.world.workspace.courier.deliveries()[-1]
    await here.event(again=last["event_id"])
    assert len(presses(here)) == 1


async def test_a_stranger_opens_nothing_and_the_turn_hears_of_the_press(here: Office) -> None:
    _, ts = await asked_by_form(here)
    await press_fill(here, ts, BOB.id)
    assert [(one.user, one.value) for one in presses(here)] == [(BOB.id, OPEN_FORM)]
    assert here.wire.told("views.open") == []


async def test_a_form_that_a_stranger_sends_has_no_values(here: Office) -> None:
    _, ts = await asked_by_form(here)
    view = await opened(here, ts)
    values = {"field-0": {"entered": {"type": "plain_text_input", "value": "Lemon"}}}
    forged = {**view, "state": {"values": values}}
    await here.event(payload={"type": "view_submission", "user": {"id": BOB.id}, "view": forged})
    assert [(one.user, one.value, one.fields) for one in presses(here)] == [(BOB.id, SUBMITTED, {})]


async def test_a_form_that_is_sent_after_the_question_closed_is_recorded_without_its_values(
    here: Office,
) -> None:
    asked, ts = await asked_by_form(here)
    view = await opened(here, ts)
    await here.journal.append(
        asked.thread, QuestionWithdrawn(), key="x/withdraw#1", author="soul", cause=1, closes=[asked.seq]
    )
    assert await send(here, view, "Lemon", "99", "0") == {"ok": True, "closed": True}
    assert [(one.value, one.fields) for one in presses(here)] == [(SUBMITTED, {})]
    await press_fill(here, ts)
    assert [one.value for one in presses(here)] == [SUBMITTED, OPEN_FORM]


async def test_a_form_that_cannot_be_opened_is_said_to_that_person_alone(here: Office) -> None:
    _, ts = await asked_by_form(here)
    here.wire.refuse["views.open"] = ["expired_trigger_id"]
    await press_fill(here, ts)
    await until(lambda: bool(here.world.whispers(ALICE.id)))
    assert here.world.whispers(ALICE.id)[-1]["text"] == "Press it again."
    assert presses(here) == []
    assert await opened(here, ts)


async def test_a_question_of_before_a_restart_opens_and_takes_its_form(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        _, ts = await asked_by_form(here)
    async with office(tmp_path) as here:
        view = await opened(here, ts)
        await send(here, view, "Lemon", "3", "0")
        assert presses(here)[0].fields["cake"] == "Lemon"


async def test_forms_that_cannot_be_read_are_acked_and_warned_of(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await asked_by_form(here)
    view = {"id": "V1", "callback_id": CALLBACK}
    for broken in (
        {**view},
        {**view, "private_metadata": "[" * 50_000},
        {**view, "private_metadata": json.dumps({"asked": 7, "channel": GENERAL})},
        {**view, "private_metadata": json.dumps({"asked": "x", "channel": GENERAL}), "id": 7},
    ):
        caplog.clear()
        await here.event(payload={"type": "view_submission", "user": {"id": ALICE.id}, "view": broken})
        assert [record.levelno for record in caplog.records] == [logging.WARNING], broken
    assert presses(here) == []


async def test_odd_values_of_a_form_are_faults(here: Office) -> None:
    asked, ts = await asked_by_form(here)
    view = await opened(here, ts)
    for state in (7, {"field-0": 7}, {"field-0": {"entered": {"type": "plain_text_input", "value": ["x"]}}}):
        forged = {**view, "state": {"values": state}}
        await here.event(payload={"type": "view_submission", "user": {"id": ALICE.id}, "view": forged})
    assert presses(here) == []
    assert here.journal.is_pending(asked.seq)


CHOICES = tuple(FormChoice(value=f"{n}", label="é" * 80) for n in range(100))
LARGE = QuestionForm(
    title="A title that is longer than Slack allows",
    text="x" * 5_000,
    fields=(
        FormField(name="", label="", hint="h" * 4_000, default="d" * 4_000, most=10_000),
        FormField(name="many", label="l" * 4_000, kind="one", choices=CHOICES),
        FormField(name="few", label="Few", kind="several", choices=CHOICES[:3], default=["0", "2", "9"]),
        FormField(name="menu", label="Menu", kind="several", choices=CHOICES),
        FormField(name="day", label="Day", kind="date", default="2026-11-29"),
        FormField(name="at", label="At", kind="moment", default=1_790_000_000),
        FormField(name="mail", label="Mail", kind="email", default="nobody"),
        FormField(name="page", label="Page", kind="address", default="nowhere"),
        FormField(name="number", label="Number", kind="number", least=-1.5, most=1e9, default=1e-7),
        FormField(name="whole", label="Whole", kind="whole number", least=0.5, most=1e6, default=2e7),
        FormField(name="gift", label="Gift", kind="yes or no", default=False),
    ),
)


async def test_slack_takes_every_kind_of_field_at_its_largest(here: Office) -> None:
    _, ts = await asked_by_form(here, LARGE)
    view = await opened(here, ts)
    entered = (
        "x",
        "99",
        ["1"],
        ["98", "99"],
        "2026-12-01",
        1_790_000_060,
        "a@b.example",
        "https://a.b",
        "2.5",
        "7",
    )
    assert await send(here, view, *entered, "no") == {"ok": True, "closed": True}
    assert presses(here)[0].fields == {
        **{"": "x", "many": "99", "few": ["1"], "menu": ["98", "99"], "day": "2026-12-01"},
        **{"at": "2026-09-21T14:14:20Z", "mail": "a@b.example", "page": "https://a.b", "number": 2.5},
        **{"whole": 7, "gift": False},
    }


async def test_a_second_press_opens_the_form_again(here: Office) -> None:
    _, ts = await asked_by_form(here)
    first = await opened(here, ts)
    await press_fill(here, ts)
    await until(lambda: view_of(here)["id"] != first["id"])
    assert [block["block_id"] for block in first["blocks"]][1:] == [f"field-{n}" for n in range(4)]
    assert len(FORM.fields) == 4
