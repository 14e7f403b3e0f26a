"""Slack's Socket Mode at `/link/`: a ticket opens a WebSocket, events go out on it, acks come back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import WSMsgType, web

from daemon.rehearsal.faults import Value
from daemon.rehearsal.links import Socket, hello
from daemon.rehearsal.outage import outage
from daemon.rehearsal.workspace import Workspace


class Gate:
    """Lets apps in and serves each connection while it lasts."""

    def __init__(self, workspace: Workspace) -> None:
        self._links = workspace.links
        self._courier = workspace.courier
        self._faults = workspace.faults
        self._clock = workspace.clock
        self._faults.heed(self._heed)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """GET /link/?ticket=…: from the handshake to the close."""
        if told := self._faults.strikes("down"):
            return outage(request, told)
        app = self._links.redeem(request.query.get("ticket", ""))
        if app is None or self._faults.strikes("used-tickets"):
            raise web.HTTPForbidden(text="This ticket was used before, or never given.")
        ws = web.WebSocketResponse(timeout=1.0)
        await ws.prepare(request)
        await ws.send_json(hello(app, self._links.live(app) + 1))
        await self._serve(Socket(app, ws, request.transport, self._clock))
        return ws

    def _heed(self, name: str, told: Mapping[str, Value]) -> None:
        """What a fault that was switched does to the sockets that are open."""
        if name == "drop" or self._faults.on("down"):
            self._links.drop()
        if name == "refresh":
            self._links.refresh(str(told["reason"]), float(told["seconds"]))
        self._courier.wake()

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
