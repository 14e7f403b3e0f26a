"""An ASGI application on a route of the page's port: requests and streamed answers, without a second port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from aiohttp import hdrs, web

from daemon.console.access import json_error

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApplication = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MOST_BODY_BYTES = 1_000_000
"""Most bytes of a request."""

BODY_PATIENCE = 20.0
"""Seconds in which a request must arrive, and each piece of the answer be accepted."""

LOOK_PAUSE = 0.2
"""Seconds between looks whether the client is still there: aiohttp tells nobody that it left."""

ROOM = 64 * 1024
"""Bytes of an answer that wait for a slow client."""

OWN_HEADERS = frozenset({"connection", "transfer-encoding", "keep-alive"})
"""Headers about the connection, which is the server's own affair."""

HIDDEN = frozenset({"authorization", "cookie", "x-console-token"})
"""Headers with credentials, which the application need not know."""

LATE = f"The request did not arrive within {BODY_PATIENCE:g} seconds. Send it again."
TOO_LONG = f"The request is longer than {MOST_BODY_BYTES:,} bytes: send less."
FAILED = "The daemon failed to answer this request. Its log says why."

log = logging.getLogger(__name__)


class AsgiExchange:
    """One request and its answer. A client that accepts nothing is dropped."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self._request = request
        self._body = body
        self._is_read = False
        self.response: web.StreamResponse | None = None
        self._ended = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def scope(self) -> MutableMapping[str, Any]:
        request = self._request
        named = [
            (name.lower().encode(), value.encode("latin-1", "replace")) for name, value in _headers(request)
        ]
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": f"{request.version.major}.{request.version.minor}",
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "raw_path": request.rel_url.raw_path.encode(),
            "query_string": request.query_string.encode(),
            "root_path": "",
            "headers": named,
            "client": None,
            "server": None,
        }

    async def receive(self) -> Message:
        """Return the body; then wait until the client leaves."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        while not (self._ended.is_set() or self.has_left):
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_PAUSE):
                    await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] == "http.response.body" and self.response is not None:
            try:
                async with asyncio.timeout(BODY_PATIENCE):
                    await self._write(self.response, message)
            except TimeoutError:
                self.drop()
                raise

    async def _write(self, response: web.StreamResponse, message: Message) -> None:
        if message.get("body"):
            await response.write(message["body"])
        if not message.get("more_body"):
            self._ended.set()
            await response.write_eof()

    async def _begin(self, message: Message) -> None:
        self.response = web.StreamResponse(status=message["status"])
        for name, value in message.get("headers", ()):
            if name.decode("latin-1").lower() not in OWN_HEADERS:
                self.response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
        await self.response.prepare(self._request)
        if self._request.transport is not None:
            self._request.transport.set_write_buffer_limits(high=ROOM)

    @property
    def has_left(self) -> bool:
        """True if the client has closed the connection, or was dropped."""
        transport = self._request.transport
        return transport is None or transport.is_closing()

    def drop(self) -> None:
        """Close the connection in the middle of the answer."""
        if self._request.transport is not None:
            self._request.transport.abort()


def _headers(request: web.Request) -> list[tuple[str, str]]:
    return [(name, value) for name, value in request.headers.items() if name.lower() not in HIDDEN]


async def _read_body(request: web.Request) -> bytes | None:
    """Return the body; None if it is too long. Raises TimeoutError, OSError."""
    if (request.content_length or 0) > MOST_BODY_BYTES:
        return None
    body = bytearray()
    async with asyncio.timeout(BODY_PATIENCE):
        while not request.content.at_eof():
            body += await request.content.readany()
            if len(body) > MOST_BODY_BYTES:
                return None
    return bytes(body)


class AsgiRoute:
    """Handler of a route. Its application answers between `open` and `close`; else it says `closed`."""

    def __init__(self, closed: str) -> None:
        self._closed = closed
        self._application: AsgiApplication | None = None
        self._exchanges: set[asyncio.Task[Any]] = set()

    def open(self, application: AsgiApplication) -> None:
        self._application = application

    async def close(self) -> None:
        """Refuse new requests, and end those that are open."""
        self._application = None
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await _read_body(request)
        except (TimeoutError, OSError):
            return json_error(408, LATE)
        if body is None:
            return json_error(413, TOO_LONG)
        if self._application is None:
            return json_error(503, self._closed)
        exchange = AsgiExchange(request, body)
        running = asyncio.ensure_future(self._application(exchange.scope, exchange.receive, exchange.send))
        self._exchanges.add(running)
        running.add_done_callback(self._exchanges.discard)
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
        return self._finish(exchange, running)

    def _finish(self, exchange: AsgiExchange, running: asyncio.Future[None]) -> web.StreamResponse:
        error = None if running.cancelled() else running.exception()
        if error and not exchange.has_left:
            log.error("A request of an MCP client failed.", exc_info=error)
        if exchange.response is not None:
            if not exchange.has_ended:
                exchange.drop()
            return exchange.response
        return json_error(500, FAILED) if error else json_error(503, self._closed)


ANY_METHOD = (hdrs.METH_POST, hdrs.METH_GET, hdrs.METH_DELETE)
"""Methods of streamable HTTP."""
