"""Deeply nested JSON, refused by every route."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import WSMsgType

from rehearsal.people import ALICE, SOUL
from tests.attention import PATIENCE
from tests.rehearsal.place import Place

DEEP = "[" * 100_000 + "]" * 100_000
ROUTES = (
    "api/chat.postMessage",
    "rehearsal/message",
    "rehearsal/event",
    "rehearsal/clock",
    "rehearsal/press",
    "rehearsal/stop",
    "rehearsal/faults",
)
JSON = {"Content-Type": "application/json", "Authorization": f"Bearer {ALICE.token}"}


@pytest.mark.parametrize("text", [DEEP, f'{{"token": {DEEP}}}', "{" * 2_000])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_route_takes_it_for_what_it_is(
    place: Place, caplog: pytest.LogCaptureFixture, route: str, text: str
) -> None:
    async with place.session.post(f"{place.url}/{route}", data=text, headers=JSON) as answer:
        assert answer.status in (200, 400)
        assert '"ok": true' not in await answer.text()
    assert caplog.records == []


async def test_a_nested_argument_is_refused_as_any_other(place: Place) -> None:
    asked = {"channel": "C0GENERAL01", "text": "hello", "blocks": DEEP}
    bearer = {"Authorization": f"Bearer {ALICE.token}"}
    async with place.session.post(f"{place.url}/api/chat.postMessage", data=asked, headers=bearer) as answer:
        assert (await answer.json())["error"] == "invalid_blocks"


async def test_a_socket_lives_on_after_it(place: Place) -> None:
    async with place.session.post(
        f"{place.url}/api/apps.connections.open", headers={"Authorization": f"Bearer {SOUL.app_token}"}
    ) as opened:
        url = (await opened.json())["url"]
    async with place.session.ws_connect(url) as socket, asyncio.timeout(PATIENCE):
        assert (await socket.receive_json())["type"] == "hello"
        for frame in (DEEP, '{"envelope_id": [1]}', "[1]", "7", "{"):
            await socket.send_str(frame)
        await socket.ping()
        await socket.send_str('{"envelope_id": "nobody knows it"}')
        async with place.session.post(f"{place.url}/rehearsal/event", json={"event": {"type": "x"}}):
            pass
        told = await socket.receive()
        assert told.type is WSMsgType.TEXT
        assert "envelope_id" in told.data
