"""The live Socket Mode connections of each app: tickets that open one, and whose turn it is."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict, deque
from typing import Any

from aiohttp import web


class Socket:
    """One open WebSocket; what is sent goes through its queue, so a slow client holds up nobody."""

    def __init__(self, app: str, ws: web.WebSocketResponse) -> None:
        self.app = app
        self.ws = ws
        self._outbox: asyncio.Queue[str] = asyncio.Queue()

    def send(self, frame: str) -> None:
        """Queue a frame."""
        self._outbox.put_nowait(frame)

    async def write(self) -> None:
        """Pass the frames on until the connection ends."""
        try:
            while True:
                await self.ws.send_str(await self._outbox.get())
        except ConnectionError:
            return


class Links:
    """Which app has which sockets."""

    def __init__(self) -> None:
        self._tickets: dict[str, str] = {}
        self._sockets: defaultdict[str, deque[Socket]] = defaultdict(deque)

    def ticket(self, app: str) -> str:
        """A new ticket: it opens one socket for this app, once."""
        ticket = secrets.token_hex(16)
        self._tickets[ticket] = app
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """The app that this ticket was for, unless it was used or never given."""
        return self._tickets.pop(ticket, None)

    def join(self, socket: Socket) -> None:
        """From now on it is used."""
        self._sockets[socket.app].append(socket)

    def leave(self, socket: Socket) -> None:
        """It is used no more."""
        self._sockets[socket.app].remove(socket)

    def live(self, app: str) -> int:
        """How many sockets this app has open."""
        return len(self._sockets[app])

    def apps(self) -> list[str]:
        """The apps that have one open."""
        return [app for app, sockets in self._sockets.items() if sockets]

    def next(self, app: str) -> Socket:
        """The socket whose turn it is; the app must have one."""
        sockets = self._sockets[app]
        sockets.rotate(-1)
        return sockets[-1]

    async def close(self) -> None:
        """Close every socket, as Slack does when it goes away."""
        every = [socket for sockets in self._sockets.values() for socket in sockets]
        await asyncio.gather(*(socket.ws.close(code=1001) for socket in every))


def hello(app: str, number: int) -> dict[str, Any]:
    """The first frame on a socket."""
    debug = {"host": "rehearsal", "build_number": 1, "approximate_connection_time": 18060}
    return {
        "type": "hello",
        "num_connections": number,
        "debug_info": debug,
        "connection_info": {"app_id": app},
    }
