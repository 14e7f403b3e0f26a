"""The journal as server-sent events: a stream for each open page, ended when the daemon stops.

A reader that takes nothing holds up nobody and little memory: what waits for it is bounded, and after a
while it is dropped. A page that lives comes back by itself, and goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

from aiohttp import web

from daemon.engine.event import Entry, Event, as_json
from daemon.engine.journal import Journal
from daemon.kinds import ModelCall

TAIL = 300
"""How many entries a page sees that asks for no place to begin."""
BEAT = 15.0
"""Seconds between two heartbeats: how soon a closed page is noticed."""
PATIENCE = 20.0
"""Seconds in which a reader must take something of what waits for it."""
BITE = 20
"""Entries that are read at once for one reader."""
ROOM = 64 * 1024
"""Bytes that may wait for a reader in our hands, and as many in the system's."""
MOST = 50
"""Streams at once; a new one takes the place of the oldest."""
KEPT = 4 * 1024 * 1024
"""Bytes of events that are kept, so that each is made once for all readers."""
HEAD = 2_000
"""Characters of a prompt that a page is sent with the journal: a reading has hundreds of long ones."""


class Streams:
    """The open streams; their owner, who ends them with the application."""

    def __init__(self, journal: Journal, patience: float = PATIENCE) -> None:
        self._journal = journal
        self._patience = patience
        self._events = Events()
        self._erasures = 0
        self._open: dict[asyncio.Task[None], web.Request] = {}

    async def serve(self, request: web.Request, since: int | None) -> web.StreamResponse:
        """Send the entries after `since` (None: the last hundreds), then what comes, until the page goes."""
        last = self._journal.last()
        if since is None or since > last:  # beyond the end: the page remembers another journal
            since = max(0, last - TAIL)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        _narrow(request.transport)
        sending = asyncio.create_task(self._send(response, since))
        self._begin(sending, request)
        try:
            while not (await asyncio.wait({sending}, timeout=BEAT))[0]:
                await self._write(response, b": beat\n\n")
            if not sending.cancelled():
                sending.result()  # it follows for ever: it can only have failed
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            _drop(request)
        finally:
            self._open.pop(sending, None)
            sending.cancel()
        return response

    async def close(self) -> None:
        """End all streams, or the server would wait for them to end by themselves."""
        for sending in self._open:
            sending.cancel()

    def _begin(self, sending: asyncio.Task[None], request: web.Request) -> None:
        self._open[sending] = request
        if len(self._open) > MOST:
            oldest = next(iter(self._open))
            _drop(self._open.pop(oldest))
            oldest.cancel()

    async def _send(self, response: web.StreamResponse, since: int) -> None:
        async for entries in self._journal.follow(since, limit=BITE):
            if self._erasures != self._journal.erasures:  # words were forgotten
                self._erasures = self._journal.erasures
                self._events = Events()
            for entry in entries:
                await self._write(response, self._events.of(entry))

    async def _write(self, response: web.StreamResponse, event: bytes) -> None:
        """Write it, or wait until there is room for it. Raises TimeoutError where nothing is taken."""
        async with asyncio.timeout(self._patience):
            await response.write(event)


class Events:
    """The latest entries as events."""

    def __init__(self) -> None:
        self._made: dict[int, bytes] = {}
        self._size = 0

    def of(self, entry: Entry[Event]) -> bytes:
        """This entry as an event, made when it is asked for first."""
        if entry.seq not in self._made:
            event = f"id: {entry.seq}\ndata: {json.dumps(brief(entry))}\n\n".encode()
            self._made[entry.seq] = event
            self._size += len(event)
            while self._size > KEPT and len(self._made) > 1:
                self._size -= len(self._made.pop(next(iter(self._made))))
        return self._made[entry.seq]


def brief(entry: Entry[Event]) -> dict[str, Any]:
    """An entry as the page is sent it: a model call with the beginning of its prompt alone.

    All that the model saw is sent when somebody looks at it: GET /console/calls/{seq}.
    """
    told = as_json(entry)
    if isinstance(entry.event, ModelCall):
        trailing = entry.event.trailing
        told["body"]["trailing"] = trailing if len(trailing) <= HEAD else f"{trailing[:HEAD]} …"
        told["body"]["wording"] = {}
    return told


def _narrow(transport: asyncio.Transport | None) -> None:
    """Let little wait for whoever is at the other end."""
    if transport is not None:
        transport.set_write_buffer_limits(high=ROOM)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)


def _drop(request: web.Request) -> None:
    """Break the connection: what still waits for its reader is forgotten."""
    if request.transport is not None:
        request.transport.abort()
