"""Rehearsed Slack and instant model in a separate process.

Records when a message, its ack, the model's first token and the answer appeared.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from benchmarks.apart import apart
from benchmarks.instant import streamed
from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.clock import SystemClock
from rehearsal.local_slack import LocalSlack
from rehearsal.people import PEOPLE

TOKENS = tuple(f"Bearer {person.token}" for person in PEOPLE)
ACKS = """select app, payload ->> '$.event.ts', sent, acked, attempts from delivery
          where payload ->> '$.event.type' = 'message' and payload ->> '$.event.subtype' is null"""


class Notes:
    """Times of the current message, in Unix seconds."""

    def __init__(self, world: LocalSlack) -> None:
        self._db = world.workspace.db
        self._at: dict[str, float] = {}
        self._ts = ""
        self._shown = asyncio.Event()

    @web.middleware
    async def take(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/api/chat.startStream":
            self._at.setdefault("shown", time.time())
            self._shown.set()
        response = await handler(request)
        if request.path == "/api/chat.postMessage" and request.headers.get("Authorization") in TOKENS:
            assert isinstance(response, web.Response)
            self._ts = json.loads(response.text or "")["ts"]
            self._at = {"said": time.time()}
            self._shown.clear()
        return response

    async def model(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self._at.setdefault("token", time.time())
        return web.Response(
            body=streamed(), content_type="text/event-stream", headers={"request-id": "req_1"}
        )

    async def read(self, _: web.Request) -> web.Response:
        """Return the times once the answer is visible."""
        async with asyncio.timeout(30):
            await self._shown.wait()
        [acked] = [acked for _, ts, _, acked, _ in self._db.execute(ACKS) if ts == self._ts]
        return web.json_response({**self._at, "acked": acked})

    async def acks(self, _: web.Request) -> web.Response:
        """Return app, ts, last delivery, ack and attempts of each message."""
        return web.json_response(self._db.execute(ACKS).fetchall())


async def serve(folder: Path) -> None:
    """Print the URL, and answer until killed."""
    async with LocalSlack(folder / "town.db", SystemClock()) as world:
        notes, listener = Notes(world), bind("127.0.0.1", 0)
        app = web.Application(middlewares=[notes.take])
        world.mount(app)
        app.router.add_post("/v1/messages", notes.model)
        app.router.add_get("/notes", notes.read)
        app.router.add_get("/acks", notes.acks)
        async with serve_app(app, listener):
            print(url_of_socket(listener), flush=True)
            await asyncio.Event().wait()


def town(folder: Path) -> AbstractAsyncContextManager[str]:
    return apart(__name__, folder)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
