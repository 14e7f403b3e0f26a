"""A server of files with faults, and the soul's client."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, web

from daemon.kinds import SharedFile
from daemon.slack.shared_files import SlackFileSource
from daemon.slack.web_api import SlackAccess, make_web_api
from tests.clock import FakeClock

TOKEN = "xoxb-a-secret"
NONE: Mapping[str, str] = {}
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(kw_only=True)
class Shelf:
    """Server of the next of `answers`, repeating the last one.

    `asked`: headers per request; `told`: response of files.info, `calls`: its arguments.
    """

    url: str
    clock: FakeClock
    files: SlackFileSource
    answers: list[Answer] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=lambda: {"ok": False, "error": "file_not_found"})
    calls: list[dict[str, Any]] = field(default_factory=list)

    def file(self, **described: Any) -> SharedFile:
        known = {"id": "F1", "name": "plan.txt", "mimetype": "text/plain", "mode": "hosted"}
        return SharedFile(**{**known, "url": f"{self.url}/files-pri/T1-F1/plan.txt", **described})

    async def give(self, request: web.Request) -> web.StreamResponse:
        self.asked.append({name: value for name, value in request.headers.items()})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)

    async def info(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(dict(request.query) | dict(await request.post()))
        return web.json_response(self.told)


@asynccontextmanager
async def shelf(
    most: int = 1_000, patience: float = 45.0, headers: Mapping[str, str] = NONE
) -> AsyncIterator[Shelf]:
    """Serve; the client fetches at most `most` bytes."""
    clock, app, listener = FakeClock(), web.Application(), socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    access = SlackAccess(bot_token=TOKEN, app_token="xapp-another", base_url=f"{url}/api/", headers=headers)
    async with ClientSession() as session:
        slack = make_web_api(access, session, clock)
        files = SlackFileSource(web=slack, access=access, most=most, patience=patience)
        here = Shelf(url=url, clock=clock, files=files)
        app.router.add_get("/files-pri/{path:.*}", here.give)
        app.router.add_route("*", "/api/files.info", here.info)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        try:
            yield here
        finally:
            await runner.cleanup()


def says(body: bytes | str = b"the plan", status: int = 200, **headers: str) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if "content-type" not in told:
            told["content-type"] = "text/plain"
        content = body.encode() if isinstance(body, str) else body
        return web.Response(body=content, status=status, headers=told)

    return answer


def claims(length: int, body: bytes = b"the") -> Answer:
    """Make an answer that breaks off before its declared length."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain", "Content-Length": str(length)})
        await response.prepare(request)
        await response.write(body)
        assert request.transport
        request.transport.close()
        return response

    return answer


async def floods(request: web.Request) -> web.StreamResponse:
    """Send an endless answer of undeclared length."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b"x" * 1_000)
    except ConnectionError:
        return response


async def garbles(request: web.Request) -> web.StreamResponse:
    """Send invalid HTTP."""
    assert request.transport
    request.transport.write(b"HTTP/1.1 what\r\nnonsense\r\n\r\n")
    request.transport.close()
    return web.Response()


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """Close the connection."""
    assert request.transport
    request.transport.abort()
    return web.Response()
