"""MCP server over streamable HTTP without the SDK, in the loop of the test; it fails as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODERN = "2026-07-28"
Message = dict[str, Any]
Answer = Callable[[web.Request, Message], Awaitable[web.StreamResponse]]
SCHEMA = {"type": "object", "properties": {}}


@dataclass(kw_only=True)
class RawHttpServer:
    """Server of one era; `answers` replace its answer to a method, or to the call of a tool."""

    era: str
    url: str = ""
    tools: list[str] = field(default_factory=lambda: ["echo"])
    answers: dict[str, Answer] = field(default_factory=dict)
    heard: list[Message] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    aborted: int = 0
    """Requests that the client left before their answer."""
    ended: int = 0
    """Sessions that the client ended."""
    streams: list[tuple[web.StreamResponse, Message]] = field(default_factory=list)
    """Open streams of changes, with the request of each."""

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.method == "GET" and self.era == "legacy":
            return await self._open_stream(request)
        if request.method != "POST":
            self.ended += 1
            return await self.answers["DELETE"](request, {}) if "DELETE" in self.answers else web.Response()
        message = json.loads(await request.read())
        self.heard.append(message)
        method = message.get("method", "")
        name = message.get("params", {}).get("name", "") if method == "tools/call" else method
        answer = self.answers.get(name) or self.answers.get("*")
        if answer:
            return await answer(request, message)
        if "id" not in message:
            return web.Response(status=202)
        if method == "subscriptions/listen":
            return await self._open_stream(request, message)
        result = self._result(method, message)
        if result is None:
            return respond(error={"code": -32601, "message": "Method not found"}, id=message["id"])
        headers = {"Mcp-Session-Id": "one"} if method == "initialize" else {}
        return respond(headers, result=result, id=message["id"])

    def _result(self, method: str, message: Message) -> Message | None:
        common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        capabilities = {"tools": {"listChanged": True}}
        info = {"serverInfo": {"name": "raw", "version": "1"}, "capabilities": capabilities}
        match method:
            case "server/discover" if self.era == "modern":
                return {**common, **info, "supportedVersions": [MODERN]}
            case "initialize":
                return {**info, "protocolVersion": message["params"]["protocolVersion"]}
            case "tools/list":
                tools = [{"name": name, "description": name, "inputSchema": SCHEMA} for name in self.tools]
                return {"tools": tools} | (common if self.era == "modern" else {})
            case "tools/call":
                text = json.dumps(message["params"].get("arguments"))
                return {"content": [{"type": "text", "text": text}], "resultType": "complete"}
        return None

    async def _open_stream(self, request: web.Request, message: Message | None = None) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        self.streams.append((stream, message or {}))
        if message:
            honored = {"toolsListChanged": True}
            await self.notify("notifications/subscriptions/acknowledged", notifications=honored)
        await asyncio.Event().wait()
        return stream

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification on the newest stream."""
        stream, message = self.streams[-1]
        if message:
            params["_meta"] = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        notice = {"jsonrpc": "2.0", "method": method, "params": params}
        await stream.write(f"event: message\ndata: {json.dumps(notice)}\n\n".encode())

    async def never(self, request: web.Request, message: Message) -> web.StreamResponse:
        """Answer nothing, and note when the client leaves."""
        try:
            await asyncio.Event().wait()
        finally:
            self.aborted += 1
        raise AssertionError


def respond(headers: Mapping[str, str] | None = None, **message: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", **message}, headers=headers)


def fails_with(status: int, **more: Any) -> Answer:
    async def answer(_request: web.Request, _message: Message) -> web.StreamResponse:
        return web.Response(status=status, **more)

    return answer


@asynccontextmanager
async def serve_raw(era: str) -> AsyncIterator[RawHttpServer]:
    server = RawHttpServer(era=era)
    app = web.Application()
    app.router.add_route("*", "/mcp", server.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        yield server
    finally:
        await runner.cleanup()
