"""A world on a real port, and its clients: Web API, bolt, bare Socket Mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.local_slack import LocalSlack
from rehearsal.people import ALICE, SOUL, InstalledApp
from tests.attention import PATIENCE as PATIENCE
from tests.clock import FakeClock

DM = "D0ALICE0001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    world: LocalSlack
    clock: FakeClock
    url: str
    session: ClientSession

    def client(self, token: str) -> AsyncWebClient:
        return AsyncWebClient(token=token, base_url=f"{self.url}/api/", session=self.session)

    async def get(self, path: str) -> Any:
        async with self.session.get(self.url + path) as response:
            return await response.json()

    async def send(self, path: str, **body: Any) -> Any:
        async with self.session.post(self.url + path, json=body) as response:
            return await response.json()

    async def until(self, app: InstalledApp = SOUL, **counts: int) -> None:
        """Wait for these counts of an app (sockets, sent, acked, unacked)."""
        async with asyncio.timeout(PATIENCE):
            while not counts.items() <= (await self.app(app)).items():
                pass

    async def events(self, app: InstalledApp = SOUL) -> list[dict[str, Any]]:
        """Return all events for this app, sent or not."""
        deliveries = (await self.get("/rehearsal/deliveries"))["deliveries"]
        return [one["payload"]["event"] for one in deliveries if one["app"] == app.id]

    async def app(self, app: InstalledApp = SOUL) -> dict[str, Any]:
        state = await self.get("/rehearsal/state")
        return next(one for one in state["apps"] if one["id"] == app.id)

    @asynccontextmanager
    async def wire(self, app: InstalledApp = SOUL) -> AsyncIterator[ClientWebSocketResponse]:
        """Connect a socket that never acks by itself; its hello is read."""
        opened = await self.client(app.app_token).apps_connections_open(app_token=app.app_token)
        async with self.session.ws_connect(opened["url"]) as ws:
            assert (await ws.receive_json(timeout=PATIENCE))["type"] == "hello"
            yield ws

    @asynccontextmanager
    async def bolt(self, app: InstalledApp = SOUL) -> AsyncIterator[asyncio.Queue[dict[str, Any]]]:
        """Connect a bolt app by Socket Mode; yield a queue of its events."""
        heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        bolt = AsyncApp(client=self.client(app.bot_token), ignoring_self_events_enabled=False)

        async def hear(event: dict[str, Any]) -> None:
            await heard.put(event)

        bolt.event("message")(hear)
        bolt.event("app_mention")(hear)
        socket = AsyncSocketModeHandler(bolt, app.app_token)
        await socket.connect_async()  # type: ignore[no-untyped-call]  # bolt has no types here
        try:
            yield heard
        finally:
            await socket.close_async()  # type: ignore[no-untyped-call]


@asynccontextmanager
async def served(path: Path, clock: FakeClock, soul: str = SOUL.name) -> AsyncIterator[Place]:
    app = web.Application()
    async with LocalSlack(path, clock, lambda: soul) as world, ClientSession() as session:
        world.mount(app)
        runner = web.AppRunner(app, lingering_time=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        try:
            yield Place(world=world, clock=clock, url=f"http://{host}:{port}", session=session)
        finally:
            await runner.cleanup()


async def soon(heard: asyncio.Queue[dict[str, Any]]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        return await heard.get()


async def refused(call: Awaitable[object]) -> str:
    """Return Slack's error for this call."""
    with pytest.raises(SlackApiError) as refusal:
        await call
    return str(refusal.value.response["error"])


async def frame(ws: ClientWebSocketResponse) -> dict[str, Any]:
    got: dict[str, Any] = await ws.receive_json(timeout=PATIENCE)
    return got


async def text(ws: ClientWebSocketResponse) -> str:
    return str((await frame(ws))["payload"]["event"]["text"])


async def ack(ws: ClientWebSocketResponse, envelope: dict[str, Any]) -> None:
    await ws.send_json({"envelope_id": envelope["envelope_id"]})


async def say(place: Place, *texts: str) -> None:
    for said in texts:
        await place.client(ALICE.token).chat_postMessage(channel=DM, text=said)
