"""Faults of sockets and methods, on and off."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError
from slack_sdk.errors import SlackApiError

from rehearsal.people import ALICE, SOUL
from tests.rehearsal.place import DM, PATIENCE, Place, ack, frame, refused, say, text

BROKEN = (aiohttp.ClientError, ConnectionError)


async def texts(place: Place) -> list[str]:
    history = await place.client(ALICE.token).conversations_history(channel=DM)
    return [message["text"] for message in history["messages"]]


async def test_drop_breaks_the_sockets_and_what_comes_then_waits(
    place: Place, ws: ClientWebSocketResponse
) -> None:
    await place.send("/rehearsal/faults", name="drop")
    assert (await ws.receive(timeout=PATIENCE)).type in (WSMsgType.CLOSED, WSMsgType.ERROR)
    assert ws.close_code != 1001, "that would be a goodbye"
    await say(place, "hello")
    await place.until(sockets=0, sent=0)
    async with place.wire() as again:
        assert (await frame(again))["retry_attempt"] == 0


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_refresh_asks_for_a_new_socket_and_closes_the_old_one(
    place: Place, ws: ClientWebSocketResponse, reason: str
) -> None:
    await place.send("/rehearsal/faults", name="refresh", reason=reason)
    asked = await frame(ws)
    assert (asked["type"], asked["reason"]) == ("disconnect", reason)
    async with place.wire() as fresh:
        await say(place, "hello")
        envelope = await frame(fresh)
        await ack(ws, envelope)
        await place.until(sockets=2, unacked=0)
        while not place.clock.sleepers:
            await place.clock.advance(0)
        await place.clock.advance(10)
        assert (await ws.receive(timeout=PATIENCE)).type is WSMsgType.CLOSE
        await place.until(sockets=1)


async def test_used_tickets_open_nothing(place: Place) -> None:
    place.world.faults.switch("used-tickets")
    with pytest.raises(WSServerHandshakeError) as refusal:
        async with place.wire():
            pass
    assert refusal.value.status == 403
    place.world.faults.switch("used-tickets", on=False)
    async with place.wire():
        await place.until(sockets=1)


async def test_rate_limit_is_a_429_for_this_method_of_the_app(place: Place) -> None:
    place.world.faults.switch("rate-limit", method="chat.postMessage", seconds=7)
    soul = place.client(SOUL.bot_token)
    with pytest.raises(SlackApiError) as refusal:
        await soul.chat_postMessage(channel=DM, text="too much")
    response = refusal.value.response
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers["Retry-After"] == "7"
    await soul.auth_test()
    await say(place, "people are spared")
    assert await texts(place) == ["people are spared"]
    place.world.faults.switch("rate-limit", on=False)
    await soul.chat_postMessage(channel=DM, text="allowed")


async def test_an_answer_that_is_lost_was_carried_out(place: Place) -> None:
    place.world.faults.switch("answer-lost", method="chat.postMessage")
    soul = place.client(SOUL.bot_token)
    soul.retry_handlers = []
    with pytest.raises(BROKEN):
        await soul.chat_postMessage(channel=DM, text="done")
    assert await texts(place) == ["done"]
    place.world.faults.switch("answer-lost", on=False)
    await soul.chat_postMessage(channel=DM, text="and answered")


async def test_a_stream_expires_early(place: Place) -> None:
    place.world.faults.switch("stream-expiry", seconds=2)
    soul = place.client(SOUL.bot_token)
    await say(place, "tell me a story")
    root = (await place.client(ALICE.token).conversations_history(channel=DM))["messages"][0]["ts"]
    begun = await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="Once")
    stream: Any = {"channel": DM, "ts": str(begun["ts"])}
    await place.clock.advance(1.9)
    await soul.chat_appendStream(**stream, markdown_text=" upon")
    assert await refused(soul.chat_update(**stream, text="all of it")) == "streaming_state_conflict"
    await place.clock.advance(0.1)
    late = soul.chat_appendStream(**stream, markdown_text=" a time")
    assert await refused(late) == "message_not_in_streaming_state"
    place.world.faults.switch("stream-expiry", on=False)
    await soul.chat_stopStream(**stream)


@pytest.mark.parametrize(("answer", "status"), [("503", 503), ("500", 500)])
async def test_while_slack_is_down_its_calls_fail(place: Place, answer: str, status: int) -> None:
    place.world.faults.switch("down", answer=answer)
    headers = {"Authorization": f"Bearer {SOUL.bot_token}"}
    async with place.session.post(f"{place.url}/api/auth.test", headers=headers) as response:
        assert response.status == status
    place.world.faults.switch("down", on=False)
    await place.client(SOUL.bot_token).auth_test()


async def test_it_may_be_down_so_that_nobody_answers(place: Place) -> None:
    place.world.faults.switch("down", answer="none")
    headers = {"Authorization": f"Bearer {SOUL.bot_token}"}
    for path in ("/api/auth.test", "/link/"):
        with pytest.raises(BROKEN):
            await place.session.get(place.url + path, headers=headers)


async def test_while_slack_is_down_sockets_break_and_stay_shut_and_events_wait(
    place: Place, ws: ClientWebSocketResponse
) -> None:
    ticket = await place.client(SOUL.app_token).apps_connections_open(app_token=SOUL.app_token)
    place.world.faults.switch("down")
    await place.until(sockets=0)
    with pytest.raises(WSServerHandshakeError) as refusal:
        await place.session.ws_connect(ticket["url"])
    assert refusal.value.status == 503
    await say(place, "people are spared")
    place.world.faults.switch("down", on=False)
    async with place.wire() as again:
        assert await text(again) == "people are spared"
