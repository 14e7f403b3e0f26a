"""Delivery at least once: acks, retries, late sockets."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import WSServerHandshakeError

from rehearsal.people import ALICE, ECHO, SOUL
from tests.rehearsal.place import DM, Place, frame, say


async def attempts(place: Place) -> int:
    newest: dict[str, Any] = (await place.get("/rehearsal/deliveries"))["deliveries"][-1]
    return int(newest["attempts"])


async def test_an_envelope_is_what_slack_sends(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        envelope = await frame(ws)
    assert envelope["type"] == "events_api"
    assert (envelope["retry_attempt"], envelope["retry_reason"]) == (0, "")
    payload = envelope["payload"]
    assert (payload["type"], payload["api_app_id"]) == ("event_callback", SOUL.id)
    assert payload["authorizations"][0]["user_id"] == SOUL.user
    assert payload["event"]["text"] == "hello"


async def test_what_is_not_acked_comes_again_at_0_60_and_300_seconds_after_the_deadline(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        envelopes = [await frame(ws)]
        for wait in (3.0, 60.0, 240.0):
            await place.clock.advance(wait - 0.1)
            assert await attempts(place) == len(envelopes)
            await place.clock.advance(0.1)
            envelopes.append(await frame(ws))
        await place.clock.advance(10_000)
        assert await attempts(place) == 4
    assert [envelope["retry_attempt"] for envelope in envelopes] == [0, 1, 2, 3]
    assert {envelope["retry_reason"] for envelope in envelopes[1:]} == {"timeout"}
    assert len({envelope["payload"]["event_id"] for envelope in envelopes}) == 1
    assert len({envelope["envelope_id"] for envelope in envelopes}) == 4


async def test_what_is_acked_does_not_come_again(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        await ws.send_json({"envelope_id": (await frame(ws))["envelope_id"]})
        await place.until(unacked=0)
        await place.clock.advance(1_000)
        assert await attempts(place) == 1


async def test_a_late_ack_of_the_first_envelope_ends_the_redelivery(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        first = await frame(ws)
        await place.clock.advance(3)
        await frame(ws)
        await ws.send_str("this is no ack")
        await ws.send_json(["nor this"])
        await ws.send_json({"envelope_id": first["envelope_id"]})
        await place.until(unacked=0)


async def test_bolt_acks_and_is_not_asked_again(place: Place) -> None:
    async with place.bolt():
        await say(place, "hello")
        await place.until(acked=1)
        await place.clock.advance(1_000)
        assert await attempts(place) == 1


async def test_events_wait_for_a_socket_and_come_in_order(place: Place) -> None:
    for text in ("one", "two", "three"):
        await say(place, text)
    await place.clock.advance(1_000)
    async with place.wire() as ws:
        envelopes = [await frame(ws) for _ in range(3)]
    assert [envelope["payload"]["event"]["text"] for envelope in envelopes] == ["one", "two", "three"]
    assert {envelope["retry_attempt"] for envelope in envelopes} == {0}


async def test_what_was_sent_to_a_dead_socket_comes_on_the_next(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        event = (await frame(ws))["payload"]["event_id"]
    await place.until(sockets=0)
    await place.clock.advance(30)
    async with place.wire() as ws:
        again = await frame(ws)
    assert (again["payload"]["event_id"], again["retry_attempt"]) == (event, 1)


async def test_an_app_with_two_sockets_gets_each_event_on_one_of_them_in_turn(place: Place) -> None:
    async with place.wire() as first, place.wire() as second, place.wire(ECHO) as other:
        for text in ("one", "two"):
            await say(place, text)
        texts = [(await frame(ws))["payload"]["event"]["text"] for ws in (first, second)]
        assert sorted(texts) == ["one", "two"]
        await place.client(ALICE.token).chat_postMessage(channel="#random", text="all")
        assert (await frame(other))["payload"]["event"]["text"] == "all"
        state = await place.get("/rehearsal/state")
        assert [(app["sockets"], app["sent"]) for app in state["apps"]] == [(2, 3), (1, 1)]


async def test_a_ticket_opens_one_socket(place: Place) -> None:
    opened = await place.client(SOUL.app_token).apps_connections_open(app_token=SOUL.app_token)
    async with place.session.ws_connect(opened["url"]):
        pass
    for url in (opened["url"], f"{place.url}/link/"):
        with pytest.raises(WSServerHandshakeError) as refusal:
            await place.session.ws_connect(url)
        assert refusal.value.status == 403


async def test_the_clock_of_redelivery_can_be_sped_up(place: Place) -> None:
    async with place.wire() as ws:
        await say(place, "hello")
        await frame(ws)
        assert (await place.send("/rehearsal/clock", speed=60))["speed"] == 60
        await place.clock.advance(0.05)
        assert (await frame(ws))["retry_attempt"] == 1
        await place.clock.advance(1)
        assert (await frame(ws))["retry_attempt"] == 2


async def test_a_test_may_send_an_event_of_its_own_or_one_again(place: Place) -> None:
    async with place.wire() as ws:
        event = {"type": "message", "subtype": "never_heard_of", "channel": DM}
        sent = await place.send("/rehearsal/event", event=event)
        first = await frame(ws)
        assert (first["payload"]["event"], first["payload"]["event_id"]) == (event, sent["event_id"])
        await place.send("/rehearsal/event", again=sent["event_id"])
        again = await frame(ws)
        assert again["payload"] == first["payload"]
        assert again["envelope_id"] != first["envelope_id"]
        await place.send("/rehearsal/event", payload={"type": "app_rate_limited"})
        assert (await frame(ws))["payload"] == {"type": "app_rate_limited"}
