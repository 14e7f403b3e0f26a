"""A model's server that sends a test's bytes at a test's times."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

START = {"type": "message_start", "message": {"usage": {"input_tokens": 100, "output_tokens": 1}}}
PING = {"type": "ping"}
STOP = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
END = {"type": "message_stop"}


def frame(event: object) -> bytes:
    kind = event["type"] if isinstance(event, dict) and "type" in event else "odd"
    return f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def delta(text: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


class Raw:
    """Server that sends the next of `answers`, else a stream of `send` until `end`.

    With `refusal`, a status, each request gets an error without an end.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.headers: list[Mapping[str, str]] = []
        self.answers: deque[web.Response] = deque()
        self.refusal = 0
        self._bytes: asyncio.Queue[bytes | None] = asyncio.Queue()

    def answer(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.answers.append(web.Response(body=body, status=status, headers=headers))

    def send(self, *events: object) -> None:
        self.put(b"".join(map(frame, events)))

    def put(self, sent: bytes) -> None:
        self._bytes.put_nowait(sent)

    def end(self) -> None:
        self._bytes.put_nowait(None)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        self.headers.append(dict(request.headers))
        if self.answers:
            return self.answers.popleft()
        if self.refusal:
            return await self._refuse(request)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        with suppress(ConnectionResetError):
            await response.prepare(request)
            while (sent := await self._bytes.get()) is not None:
                await response.write(sent)
        return response

    async def _refuse(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=self.refusal)
        with suppress(ConnectionResetError):
            await response.prepare(request)
            while True:
                await response.write(b"no " * 1_000)
                await asyncio.sleep(0)
        return response


@asynccontextmanager
async def serving(raw: Raw) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/messages", raw.serve)
    app.router.add_post("/v1/chat/completions", raw.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()
