"""Slack's Socket Mode at `/link/`."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from aiohttp import WSMsgType, web

from rehearsal.faults import Value
from rehearsal.switchboard import FaultSwitchboard
from rehearsal.timekeeping import RehearsalClock
from rehearsal.wire import outage

BEHIND = 2_000
"""Queued frames; a slower socket is dropped."""


class ClientSocket:
    """WebSocket with a queue, so that a slow client blocks nobody. If `leaving`, it gets no events."""

    def __init__(
        self, app: str, ws: web.WebSocketResponse, transport: asyncio.Transport | None, clock: RehearsalClock
    ) -> None:
        self.app = app
        self.ws = ws
        self.leaving = False
        self._transport = transport
        self._clock = clock
        self._outbox: asyncio.Queue[str | float] = asyncio.Queue()

    def send(self, frame: str) -> None:
        if self._outbox.qsize() < BEHIND:
            self._outbox.put_nowait(frame)
        else:
            self.drop()

    def end(self, seconds: float) -> None:
        """Close the socket `seconds` after the queued frames."""
        self.leaving = True
        self._outbox.put_nowait(seconds)

    def drop(self) -> None:
        """Drop the connection without a close frame."""
        self.leaving = True
        if self._transport:
            self._transport.abort()

    async def write(self) -> None:
        try:
            frame = await self._outbox.get()
            while isinstance(frame, str):
                await self.ws.send_str(frame)
                frame = await self._outbox.get()
            await self._clock.sleep(frame)
            await self.ws.close()
        except ConnectionError:
            return


class AppSockets:
    def __init__(self) -> None:
        self._tickets: dict[str, str] = {}
        self._sockets: defaultdict[str, deque[ClientSocket]] = defaultdict(deque)

    def ticket(self, app: str) -> str:
        """Return a ticket for one socket of this app."""
        ticket = secrets.token_hex(16)
        self._tickets[ticket] = app
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Return a ticket's app; None if invalid or used."""
        return self._tickets.pop(ticket, None)

    def join(self, socket: ClientSocket) -> None:
        self._sockets[socket.app].append(socket)

    def leave(self, socket: ClientSocket) -> None:
        self._sockets[socket.app].remove(socket)

    def live(self, app: str) -> int:
        return len(self._sockets[app])

    def apps(self) -> list[str]:
        """Return apps with a socket open for events."""
        staying = [socket.app for socket in self._every() if not socket.leaving]
        return list(dict.fromkeys(staying))

    def next(self, app: str) -> ClientSocket:
        """Return an app's next open socket, round robin."""
        sockets = self._sockets[app]
        sockets.rotate(-1)
        while sockets[-1].leaving:
            sockets.rotate(-1)
        return sockets[-1]

    def drop(self) -> None:
        for socket in self._every():
            socket.drop()

    def refresh(self, reason: str, seconds: float) -> None:
        """Request replacements for all sockets, and close them after `seconds`."""
        for socket in self._every():
            if not socket.leaving:
                socket.send(json.dumps(disconnect(reason)))
                socket.end(seconds)

    async def close(self) -> None:
        """Close all sockets with code 1001."""
        await asyncio.gather(*(socket.ws.close(code=1001) for socket in self._every()))

    def _every(self) -> list[ClientSocket]:
        return list(chain.from_iterable(self._sockets.values()))


class SocketModeServer:
    """Server of apps' connections.

    `hear` gets each frame; `wake` is called when a socket opens or a fault is switched.
    """

    def __init__(
        self,
        links: AppSockets,
        clock: RehearsalClock,
        faults: FaultSwitchboard,
        *,
        hear: Callable[[str], None],
        wake: Callable[[], None],
    ) -> None:
        self._links = links
        self._clock = clock
        self._faults = faults
        self._hear = hear
        self._wake = wake
        faults.heed(self._heed)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Serve GET /link/?ticket=…"""
        down = self._faults.strikes("down")
        if down:
            return outage(request, down)
        app = self._links.redeem(request.query.get("ticket", ""))
        if app is None or self._faults.strikes("used-tickets"):
            raise web.HTTPForbidden(
                text="the ticket is unknown or used; apps.connections.open gives a new one"
            )
        ws = web.WebSocketResponse(timeout=1.0)
        await ws.prepare(request)
        await ws.send_json(hello(app, self._links.live(app) + 1))
        await self._serve(ClientSocket(app, ws, request.transport, self._clock))
        return ws

    def _heed(self, name: str, told: Mapping[str, Value]) -> None:
        if name == "drop" or self._faults.on("down"):
            self._links.drop()
        if name == "refresh":
            self._links.refresh(str(told["reason"]), float(told["seconds"]))
        self._wake()

    async def _serve(self, socket: ClientSocket) -> None:
        writer = asyncio.create_task(socket.write())
        self._links.join(socket)
        self._wake()
        try:
            async for frame in socket.ws:
                if frame.type is WSMsgType.TEXT:
                    self._hear(frame.data)
        finally:
            self._links.leave(socket)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)


def hello(app: str, number: int) -> dict[str, Any]:
    debug = {"host": "rehearsal", "build_number": 1, "approximate_connection_time": 18060}
    return {
        "type": "hello",
        "num_connections": number,
        "debug_info": debug,
        "connection_info": {"app_id": app},
    }


def disconnect(reason: str) -> dict[str, Any]:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "rehearsal"}}
