"""Slack's Socket Mode at `/link/`: a ticket opens a WebSocket, events go out on it, acks come back."""

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
"""Frames that may wait for a socket; one that is further behind is broken: what it missed comes again."""


class ClientSocket:
    """One open WebSocket; what is sent goes through its queue, so a slow client holds up nobody.

    One that is `leaving` gets no more events.
    """

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
        """Queue a frame."""
        if self._outbox.qsize() < BEHIND:
            self._outbox.put_nowait(frame)
        else:
            self.drop()

    def end(self, seconds: float) -> None:
        """Close it that long after what was sent so far."""
        self.leaving = True
        self._outbox.put_nowait(seconds)

    def drop(self) -> None:
        """Break it, without a word."""
        self.leaving = True
        if self._transport:
            self._transport.abort()

    async def write(self) -> None:
        """Pass the frames on until the connection ends."""
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
    """Which app has which sockets."""

    def __init__(self) -> None:
        self._tickets: dict[str, str] = {}
        self._sockets: defaultdict[str, deque[ClientSocket]] = defaultdict(deque)

    def ticket(self, app: str) -> str:
        """A new ticket: it opens one socket for this app, once."""
        ticket = secrets.token_hex(16)
        self._tickets[ticket] = app
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """The app that this ticket was for, unless it was used or never given."""
        return self._tickets.pop(ticket, None)

    def join(self, socket: ClientSocket) -> None:
        """From now on it is used."""
        self._sockets[socket.app].append(socket)

    def leave(self, socket: ClientSocket) -> None:
        """It is used no more."""
        self._sockets[socket.app].remove(socket)

    def live(self, app: str) -> int:
        """How many sockets this app has open."""
        return len(self._sockets[app])

    def apps(self) -> list[str]:
        """The apps that have one open for events."""
        staying = [socket.app for socket in self._every() if not socket.leaving]
        return list(dict.fromkeys(staying))

    def next(self, app: str) -> ClientSocket:
        """The socket whose turn it is; the app must have one for events."""
        sockets = self._sockets[app]
        sockets.rotate(-1)
        while sockets[-1].leaving:
            sockets.rotate(-1)
        return sockets[-1]

    def drop(self) -> None:
        """Break every socket."""
        for socket in self._every():
            socket.drop()

    def refresh(self, reason: str, seconds: float) -> None:
        """Ask for a new one in place of every socket, and close it so much later."""
        for socket in self._every():
            if not socket.leaving:
                socket.send(json.dumps(disconnect(reason)))
                socket.end(seconds)

    async def close(self) -> None:
        """Close every socket, as Slack does when it goes away."""
        await asyncio.gather(*(socket.ws.close(code=1001) for socket in self._every()))

    def _every(self) -> list[ClientSocket]:
        return list(chain.from_iterable(self._sockets.values()))


class SocketModeServer:
    """Lets apps in and serves each connection while it lasts.

    `hear` gets each frame that comes in; `wake` is called when a socket opened, or a fault was switched.
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
        """GET /link/?ticket=…: from the handshake to the close."""
        down = self._faults.strikes("down")
        if down:
            return outage(request, down)
        app = self._links.redeem(request.query.get("ticket", ""))
        if app is None or self._faults.strikes("used-tickets"):
            raise web.HTTPForbidden(text="This ticket was used before, or never given.")
        ws = web.WebSocketResponse(timeout=1.0)
        await ws.prepare(request)
        await ws.send_json(hello(app, self._links.live(app) + 1))
        await self._serve(ClientSocket(app, ws, request.transport, self._clock))
        return ws

    def _heed(self, name: str, told: Mapping[str, Value]) -> None:
        """What a fault that was switched does to the sockets that are open."""
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
    """The first frame on a socket."""
    debug = {"host": "rehearsal", "build_number": 1, "approximate_connection_time": 18060}
    return {
        "type": "hello",
        "num_connections": number,
        "debug_info": debug,
        "connection_info": {"app_id": app},
    }


def disconnect(reason: str) -> dict[str, Any]:
    """The frame that announces the end of a socket."""
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "rehearsal"}}
