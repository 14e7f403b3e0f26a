"""Modals: opened by a trigger, sent by a person, and answered by a bolt app."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck, AsyncApp

from rehearsal.modal_blocks import NEEDED
from rehearsal.people import ALICE, BOB, ECHO, SOUL, TEAM
from tests.rehearsal.place import DM, Place, refused
from tests.rehearsal.test_gestures import question


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def field(id: str, **element: Any) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": id,
        "label": plain(id),
        "element": {"action_id": "entered", **element},
    }


SIZES = [{"text": plain("Small"), "value": "s"}, {"text": plain("Large"), "value": "l"}]
VIEW: dict[str, Any] = {
    "type": "modal",
    "callback_id": "order",
    "title": plain("Order"),
    "submit": plain("Send"),
    "blocks": [
        field("cake", type="plain_text_input"),
        {**field("sizes", type="checkboxes", options=SIZES), "optional": True},
    ],
}


async def trigger(place: Place) -> str:
    """Have Alice press a button; return the trigger of the press."""
    _, ts = await question(place)
    await place.send("/rehearsal/press", user=ALICE.id, channel=DM, ts=ts, action_id="yes")
    deliveries = (await place.get("/rehearsal/deliveries"))["deliveries"]
    return str(deliveries[-1]["payload"]["trigger_id"])


async def test_a_bolt_app_hears_a_modal_as_slack_sends_it_and_refuses_it_once(place: Place) -> None:
    heard: list[dict[str, Any]] = []
    bolt = AsyncApp(client=place.client(SOUL.bot_token))

    async def take(ack: AsyncAck, body: dict[str, Any]) -> None:
        heard.append(body)
        if len(heard) == 1:
            await ack(response_action="errors", errors={"cake": "There is none left."})
        else:
            await ack()

    bolt.view("order")(take)
    socket = AsyncSocketModeHandler(bolt, SOUL.app_token)
    await socket.connect_async()  # type: ignore[no-untyped-call]  # bolt has no types here
    try:
        opened = await place.client(SOUL.bot_token).views_open(trigger_id=await trigger(place), view=VIEW)
        sent = {"user": ALICE.id, "view": opened["view"]["id"]}
        empty = await place.send("/rehearsal/submit", **sent, values={"sizes": ["l"]})
        assert empty == {"ok": True, "errors": {"cake": NEEDED}}
        values = {"cake": "Lemon", "sizes": ["l"]}
        first = await place.send("/rehearsal/submit", **sent, values=values)
        assert first == {"ok": True, "errors": {"cake": "There is none left."}}
        assert await place.send("/rehearsal/submit", **sent, values=values) == {"ok": True, "closed": True}
        again = await place.send("/rehearsal/submit", **sent, values=values)
        assert again == {"ok": False, "error": "view_not_found"}
    finally:
        await socket.close_async()  # type: ignore[no-untyped-call]
    body = heard[-1]
    assert (body["type"], body["user"]["id"], body["team"]["id"]) == ("view_submission", ALICE.id, TEAM)
    assert body["view"]["state"]["values"] == {
        "cake": {"entered": {"type": "plain_text_input", "value": "Lemon"}},
        "sizes": {"entered": {"type": "checkboxes", "selected_options": [SIZES[1]]}},
    }


async def test_a_trigger_opens_one_modal_of_its_app_within_three_seconds(place: Place) -> None:
    soul, one = place.client(SOUL.bot_token), await trigger(place)
    assert await refused(soul.views_open(trigger_id="1.2", view=VIEW)) == "invalid_trigger_id"
    echo = place.client(ECHO.bot_token)
    assert await refused(echo.views_open(trigger_id=one, view=VIEW)) == "invalid_trigger_id"
    await soul.views_open(trigger_id=one, view=VIEW)
    assert await refused(soul.views_open(trigger_id=one, view=VIEW)) == "exchanged_trigger_id"
    late = await trigger(place)
    await place.clock.advance(3.1)
    assert await refused(soul.views_open(trigger_id=late, view=VIEW)) == "expired_trigger_id"


BAD: list[dict[str, Any]] = [
    {"type": "home"},
    {"title": plain("x" * 25)},
    {"title": {"type": "mrkdwn", "text": "x"}},
    {"private_metadata": "x" * 3_001},
    {"blocks": [field("a", type="plain_text_input")] * 101},
    {"blocks": [field("a", type="radio_buttons", options=SIZES * 6)]},
    {"blocks": [field("a", type="static_select", options=[{"text": plain("x" * 76), "value": "s"}])]},
    {"blocks": [field("a", type="number_input")]},
    {"blocks": [field("a", type="number_input", is_decimal_allowed=False, min_value="0.5")]},
    {"blocks": [field("a", type="number_input", is_decimal_allowed=True, max_value="1e3")]},
    {"blocks": [field("a", type="file_input")]},
]


@pytest.mark.parametrize("change", BAD)
async def test_a_view_that_slack_does_not_take_is_refused(place: Place, change: dict[str, Any]) -> None:
    view = {**VIEW, **change}
    opening = place.client(SOUL.bot_token).views_open(trigger_id=await trigger(place), view=view)
    assert await refused(opening) == "invalid_arguments"


async def test_a_modal_is_its_persons_and_one_without_an_ack_stays_open(place: Place) -> None:
    opened = await place.client(SOUL.bot_token).views_open(trigger_id=await trigger(place), view=VIEW)
    sent = {"view": opened["view"]["id"], "values": {"cake": "Lemon"}}
    assert (await place.send("/rehearsal/submit", user=BOB.id, **sent))["error"] == "view_not_found"
    sending = asyncio.create_task(place.send("/rehearsal/submit", user=ALICE.id, **sent))
    while not sending.done():
        await place.clock.advance(1)
        await asyncio.sleep(0)
    assert (await sending)["error"] == "no_response"
    closed = await place.send("/rehearsal/close-view", user=ALICE.id, view=opened["view"]["id"])
    assert closed == {"ok": True}
