"""Slack's end of the WebSockets under a test's control, and a real Bolt app."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, web
from slack_bolt.async_app import AsyncApp, AsyncBoltContext
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from daemon.slack.app_share import AppShare
from daemon.slack.socket_pool import BEAT, ConnectionHealth, ConnectionPool
from daemon.slack.web_api import SlackAccess, WebApi
from tests.attention import PATIENCE, until
from tests.clock import FakeClock

LOST = 0.05
"""Seconds per heartbeat, to miss one quickly."""


@dataclass(slots=True)
class Switchboard:
    """Issuer of one-time tickets, with faults on demand."""

    errors: list[str] = field(default_factory=list)
    """Errors of the next ticket requests."""
    refusing: int = 0
    """Handshakes to refuse; they use up tickets."""
    greeting: bool = True
    ponging: bool = True
    asked: int = 0
    shown: list[str] = field(default_factory=list)
    ends: list[tuple[web.WebSocketResponse, web.Request]] = field(default_factory=list)
    live: list[int] = field(default_factory=lambda: [0])
    """Numbers of connections over time."""
    others: int = 0
    """Sockets of another daemon."""
    pings: int = 0
    acks: list[tuple[int, str]] = field(default_factory=list)
    """Connection and envelope of each ack."""

    async def ticket(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.errors:
            return web.json_response({"ok": False, "error": self.errors.pop(0)})
        return web.json_response({"ok": True, "url": f"ws://{request.host}/link?ticket={self.asked}"})

    async def join(self, request: web.Request) -> web.WebSocketResponse:
        ticket = request.query["ticket"]
        self.shown.append(ticket)
        if self.refusing or self.shown.count(ticket) > 1:
            self.refusing -= 1
            raise web.HTTPForbidden
        ws = web.WebSocketResponse(autoping=False, timeout=0.1)
        await ws.prepare(request)
        self.ends.append((ws, request))
        self.live.append(self.live[-1] + 1)
        try:
            if self.greeting:
                await ws.send_json({"type": "hello", "num_connections": self.live[-1] + self.others})
            await self._hear(ws, len(self.ends) - 1)
        finally:
            self.live.append(self.live[-1] - 1)
        return ws

    async def _hear(self, ws: web.WebSocketResponse, number: int) -> None:
        async for frame in ws:
            if frame.type is web.WSMsgType.PING:
                self.pings += 1
                if self.ponging:
                    await ws.pong(frame.data)
            else:
                self.acks.append((number, json.loads(frame.data)["envelope_id"]))

    async def send(self, number: int, text: str) -> None:
        """Send an event; the text is also the envelope's id."""
        event = {"type": "message", "text": text}
        payload = {"type": "event_callback", "team_id": "T1", "event": event}
        await self.frame(number, {"type": "events_api", "envelope_id": text, "payload": payload})

    async def dismiss(self, number: int, reason: str) -> None:
        """Send a disconnect message."""
        await self.frame(number, {"type": "disconnect", "reason": reason, "debug_info": {}})

    async def frame(self, number: int, frame: dict[str, Any]) -> None:
        await self.ends[number][0].send_json(frame)

    def cut(self, number: int) -> None:
        """Abort the connection."""
        transport = self.ends[number][1].transport
        assert transport
        transport.abort()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """Client end: its events, starts and waits."""

    board: Switchboard
    clock: FakeClock
    sockets: ConnectionPool
    died: asyncio.Future[None]
    hearing: ConnectionHealth
    heard: list[str]
    began: list[None]
    go_on: asyncio.Event
    """Unblocks the handling of events."""


async def hears(end: Ours, number: int, text: str) -> None:
    await end.board.send(number, text)
    await until(lambda: text in [envelope for _, envelope in end.board.acks])
    assert end.heard[-1] == text


@asynccontextmanager
async def ours(count: int = 1, beat: float = BEAT, share: AppShare | None = None) -> AsyncIterator[Ours]:
    board, clock = Switchboard(), FakeClock()
    hearing, heard, began, go_on = (
        ConnectionHealth(clock, count, share),
        list[str](),
        list[None](),
        asyncio.Event(),
    )
    go_on.set()

    async def receive(body: dict[str, Any], context: AsyncBoltContext) -> BoltResponse:
        heard.append(body["event"]["text"])
        await go_on.wait()
        return await context.ack()

    async with asyncio.timeout(PATIENCE), serving(board) as url, ClientSession() as session:
        client = AsyncWebClient(base_url=f"{url}/api/", session=session, retry_handlers=[])
        app = AsyncApp(client=client, authorize=authorize, url_verification_enabled=False)
        app.middleware(receive)
        access = SlackAccess(bot_token="xoxb-1", app_token="xapp-1", base_url=f"{url}/api/")
        our_web = WebApi(client, clock)
        sockets = ConnectionPool(app, our_web, access, session, hearing, lambda: began.append(None), beat)
        try:
            yield Ours(
                board=board,
                clock=clock,
                sockets=sockets,
                died=our_web.died,
                hearing=hearing,
                heard=heard,
                began=began,
                go_on=go_on,
            )
        finally:
            await sockets.close()


async def authorize() -> AuthorizeResult:
    return AuthorizeResult(
        enterprise_id=None, team_id="T1", bot_user_id="U1", bot_id="B1", bot_token="xoxb-1"
    )


@asynccontextmanager
async def serving(board: Switchboard) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/api/apps.connections.open", board.ticket)
    app.router.add_get("/link", board.join)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
