"""One address for a cluster: the page of any daemon that answers, together with the rehearsed world.

So a page, with its chat, survives the death of the daemon that it came from.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from aiohttp import (
    ClientConnectionError,
    ClientPayloadError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    web,
)

WORLD = ("/api/", "/upload/", "/files-pri/", "/rehearsal/")
"""Paths of the rehearsed world; all others are a daemon's."""
STATE = "/console/state"
WHOLE = {"workspace": True, "model": True}
"""Parts that are rehearsed: the page has a chat only if the workspace is."""
HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "te", "upgrade"}
)
PATIENCE = ClientTimeout(total=None, sock_connect=2.0)
MOST_BODY = 64 * 2**20
"""Bytes of a request, which may be a file."""
AWAY = "No daemon answers."


class ClusterFront:
    """Proxy to the first of `pages` that answers, and to `world`. `pages` returns addresses."""

    def __init__(self, world: str, pages: Callable[[], Sequence[str]], session: ClientSession) -> None:
        self._world = world
        self._pages = pages
        self._session = session

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        targets = [self._world] if request.path.startswith(WORLD) else self._pages()
        body = await request.read()
        for target in targets:
            with suppress(ClientConnectionError):  # the next one may be alive
                answer = await self._ask(target, request, body)
                return await self._relay(request, answer)
        raise web.HTTPBadGateway(text=AWAY)

    async def _ask(self, target: str, request: web.Request, body: bytes) -> ClientResponse:
        headers = {name: value for name, value in request.headers.items() if name != "Accept-Encoding"}
        return await self._session.request(
            request.method,
            target + request.raw_path,
            headers=headers,
            data=body or None,
            allow_redirects=False,
        )

    async def _relay(self, request: web.Request, answer: ClientResponse) -> web.StreamResponse:
        async with answer:
            headers = {
                name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP
            }
            if request.path == STATE and answer.status == 200:
                return web.Response(body=_with_world(await answer.read()), headers=headers)
            response = web.StreamResponse(status=answer.status, headers=headers)
            await response.prepare(request)
            with suppress(ClientConnectionError, ClientPayloadError):  # the page asks again, where it ended
                async for piece in answer.content.iter_any():
                    await response.write(piece)
            return response


def _with_world(body: bytes) -> bytes:
    return json.dumps({**json.loads(body), "rehearsed": WHOLE, "workspace_at": "", "model_at": ""}).encode()


@asynccontextmanager
async def run_front(world: str, pages: Callable[[], Sequence[str]]) -> AsyncIterator[str]:
    """Serve on a free port of the loopback; yield the address."""
    async with ClientSession(timeout=PATIENCE, auto_decompress=False) as session:
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{path:.*}", ClusterFront(world, pages, session).pass_on)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()
