"""Late events: remembered, not answered, by Slack's clock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.engine.event import Input
from daemon.kinds import TOO_LATE, ButtonPress, IncomingMessage, OverheardMessage, StopRequest
from rehearsal.people import ALICE
from tests.slack.absence import DAY, HOUR
from tests.slack.asking import asked
from tests.slack.office import GENERAL, ME, Office

YEAR = 365 * DAY
DM = "D0ALICE0001"


async def told(here: Office, age: float, **more: Any) -> str:
    """Deliver Alice's message with this age in seconds; return its ts."""
    said = {"type": "message", "channel": DM, "channel_type": "im", "user": ALICE.id, "text": "hello?"}
    ts = f"{here.clock.steady() - age:.6f}"
    await here.event(event={**said, "ts": ts, "event_ts": ts, **more})
    return ts


@pytest.mark.parametrize(
    "more", [{}, {"channel": GENERAL, "channel_type": "channel", "text": f"{ME} hello?"}], ids=["dm", "call"]
)
async def test_what_comes_a_day_late_is_remembered_and_not_answered(
    here: Office, more: dict[str, Any]
) -> None:
    ts = await told(here, DAY + HOUR, **more)
    heard = here.one(OverheardMessage).event
    assert (heard.ts, heard.note) == (ts, TOO_LATE)
    assert here.entries(Input) == []
    assert here.woken == []
    await told(here, DAY - HOUR, **more)
    assert len(here.entries(IncomingMessage)) == 1


@pytest.mark.parametrize("ahead", [YEAR, -YEAR, DAY + HOUR])
async def test_a_clock_that_is_wrong_makes_nothing_late(here: Office, ahead: float) -> None:
    here.clock.set_ahead(ahead)
    await here.say("alice", DM, "hello?")
    await told(here, HOUR)
    await told(here, DAY + HOUR)
    assert len(here.entries(IncomingMessage)) == 2
    assert here.one(OverheardMessage).event.note == TOO_LATE
    here.clock.set_ahead(0)
    await here.say("alice", DM, "and now?")
    assert len(here.entries(IncomingMessage)) == 3


async def test_after_days_in_which_slack_said_nothing_its_clock_is_known(here: Office) -> None:
    await here.clock.advance(3 * DAY)
    await told(here, DAY + HOUR)
    assert here.one(OverheardMessage).event.note == TOO_LATE
    await told(here, 2.0)
    await here.say("alice", DM, "hello?")
    assert len(here.entries(IncomingMessage)) == 2


async def test_it_is_late_however_often_it_comes_and_in_whichever_form(here: Office) -> None:
    where = {"channel": GENERAL, "text": f"{ME} hello?"}
    for kind in ("app_mention", "message", "app_mention"):
        await told(here, DAY + HOUR, type=kind, channel_type="channel", **where)
    assert here.one(OverheardMessage).event.note == TOO_LATE
    assert here.entries(Input) == []


async def test_a_late_stop_stops_nothing(here: Office) -> None:
    root = await told(here, HOUR)
    await told(here, DAY + HOUR, text="stop", thread_ts=root)
    assert here.entries(StopRequest) == []


async def test_a_late_edit_is_known_as_any(here: Office) -> None:
    ts = await told(here, HOUR)
    new = {"user": ALICE.id, "ts": ts, "text": "goodbye", "edited": {"ts": ts}}
    await told(here, HOUR, subtype="message_changed", message=new)
    assert (here.one(OverheardMessage).event.note, here.one(OverheardMessage).event.text) == (
        "edited",
        "goodbye",
    )


async def test_a_late_press_is_a_press(here: Office) -> None:
    thread, _, ts = await asked(here)
    value = json.dumps({"asked": f"{thread}@3/ask#1", "value": "yes"})
    action = {"action_id": "answer:0", "type": "button", "value": value, "text": {"text": "Go ahead"}}
    action["action_ts"] = f"{here.clock.steady() - DAY - HOUR:.6f}"
    where = {"channel": {"id": GENERAL}, "container": {"type": "message", "message_ts": ts}}
    pressed = {"type": "block_actions", "user": {"id": ALICE.id}, "actions": [action], **where}
    await here.event(payload=pressed)
    assert here.one(ButtonPress).event.value == "yes"
    assert here.woken == [thread]
