"""Whoever reads what the console sends: little waits for each, and who takes nothing is dropped.

So a reader that never reads holds up nobody, and little memory. A page that lives comes back by itself.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing

from aiohttp import hdrs, web

PATIENCE = 20.0
"""Seconds in which a reader must take something of what waits for it."""
ROOM = 64 * 1024
"""Bytes that may wait for a reader in our hands, and as many in the system's."""
MOST_READERS = 50
"""Readers of answers at once; the next one waits for its answer until one of them has his."""


class ResponseWriter:
    """Who asked this, and is sent a response of this type piece by piece."""

    def __init__(self, request: web.Request, content_type: str, patience: float = PATIENCE) -> None:
        self._request = request
        self._patience = patience
        self._writing = asyncio.Lock()
        self._response = web.StreamResponse(headers={"Content-Type": content_type})

    async def begin(self) -> web.StreamResponse:
        """The response, which has begun."""
        await self._response.prepare(self._request)
        transport = self._request.transport
        if transport is not None:
            transport.set_write_buffer_limits(high=ROOM)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        return self._response

    async def send(self, piece: bytes) -> None:
        """Write it as there is room for it, and nothing in between. Raises TimeoutError where nothing is
        taken."""
        async with self._writing:
            for start in range(0, len(piece), ROOM):
                await self._patiently(self._response.write(piece[start : start + ROOM]))

    async def end(self) -> None:
        """That was all. Raises TimeoutError as well."""
        await self._patiently(self._response.write_eof())

    async def _patiently(self, written: Awaitable[None]) -> None:
        async with asyncio.timeout(self._patience):
            await written

    def drop(self) -> None:
        """Break the connection: what still waits for them is forgotten."""
        if self._request.transport is not None:
            self._request.transport.abort()


class JsonResponses:
    """Sends long answers in JSON. What is made for so many readers at once is bounded, too."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._places = asyncio.Semaphore(MOST_READERS)

    async def send(self, request: web.Request, pieces: AsyncGenerator[bytes]) -> web.StreamResponse:
        """Send these pieces, each of which is made when the one before is sent."""
        reader = ResponseWriter(request, "application/json; charset=utf-8", self._patience)
        async with self._places, aclosing(pieces):
            first = await anext(pieces)  # what goes wrong here is an answer of its own
            response = await reader.begin()
            if request.method == hdrs.METH_HEAD:
                return response
            try:
                await reader.send(first)
                async for piece in pieces:
                    await reader.send(piece)
                await reader.end()
            except TimeoutError:
                reader.drop()
        return response
