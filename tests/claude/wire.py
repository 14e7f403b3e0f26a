"""A model's server on a bare socket, which notices disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.claude.raw import frame

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


class Wire:
    """Server; `asked`: complete requests, `gone`: done when their connection closed."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = 0
        self.answered = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writer: asyncio.StreamWriter | None = None

    def send(self, *events: object) -> None:
        assert self._writer is not None
        self._writer.write((b"" if self.answered else HEAD) + b"".join(map(frame, events)))
        self.answered = True

    def refuse(self) -> None:
        assert self._writer is not None
        body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}).encode()
        head = f"HTTP/1.1 529 Overloaded\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        self._writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
        self.asked += 1
        await reader.read()
        if not self.gone.done():
            self.gone.set_result(None)
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Wire]:
    wire = Wire()
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield wire
