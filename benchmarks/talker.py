"""Slow model: a process that streams each answer for some seconds."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractAsyncContextManager

from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from benchmarks.apart import apart
from benchmarks.instant import streamed
from daemon.console.server import BODY, bind, serve_app, url_of_socket

EACH = 0.05
"""Seconds between pieces."""
PIECE = "quite some words "


class Talker:
    def __init__(self, seconds: float) -> None:
        pieces = [PIECE] * max(int(seconds / EACH), 1)
        body = streamed(
            ["<aside>They want something.</aside>\n<say>", *pieces, "</say>\n<mood>engaged</mood>"]
        )
        self._events = [event + b"\n\n" for event in body.split(b"\n\n") if event]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_1"})
        await response.prepare(request)
        try:
            for event in self._events:
                await response.write(event)
                if PIECE.encode() in event:
                    await asyncio.sleep(EACH)
        except ClientConnectionResetError:  # client is gone
            pass
        return response


async def serve(seconds: float) -> None:
    """Print the URL, and answer until killed."""
    app, listener = web.Application(client_max_size=BODY), bind("127.0.0.1", 0)
    app.router.add_post("/v1/messages", Talker(seconds).answer)
    async with serve_app(app, listener):
        print(url_of_socket(listener), flush=True)
        await asyncio.Event().wait()


def talker(seconds: float) -> AbstractAsyncContextManager[str]:
    return apart(__name__, seconds)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
