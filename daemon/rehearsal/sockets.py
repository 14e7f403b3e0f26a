"""Slack's Socket Mode at `/link/`: a ticket opens a WebSocket, events go out on it, acks come back."""

from __future__ import annotations

import asyncio

from aiohttp import WSMsgType, web

from daemon.rehearsal.courier import Courier
from daemon.rehearsal.links import Links, Socket, hello


class Gate:
    """Lets apps in and serves each connection while it lasts."""

    def __init__(self, links: Links, courier: Courier) -> None:
        self._links = links
        self._courier = courier

    async def enter(self, request: web.Request) -> web.WebSocketResponse:
        """GET /link/?ticket=…: from the handshake to the close."""
        app = self._links.redeem(request.query.get("ticket", ""))
        if app is None:
            raise web.HTTPForbidden(text="This ticket was used before, or never given.")
        ws = web.WebSocketResponse(timeout=1.0)
        await ws.prepare(request)
        await ws.send_json(hello(app, self._links.live(app) + 1))
        await self._serve(Socket(app, ws))
        return ws

    async def _serve(self, socket: Socket) -> None:
        writer = asyncio.create_task(socket.write())
        self._links.join(socket)
        self._courier.wake()
        try:
            async for frame in socket.ws:
                if frame.type is WSMsgType.TEXT:
                    self._courier.hear(frame.data)
        finally:
            self._links.leave(socket)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
