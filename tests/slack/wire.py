"""The wire between surface and world: recorded calls, requested failures."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from rehearsal.people import TEAM

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
SPEAKING = ("chat.", "assistant.", "agents.")


@dataclass(slots=True)
class Wire:
    """Recorder of Web API calls; `refuse`: errors of the next calls by method."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refuse: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refuses: Callable[[str, dict[str, Any]], str] = lambda _method, _arguments: ""
    """Error of a `chat.*` call by method and arguments, or empty."""
    lacking: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    """Methods that run, but whose response is lost."""
    garbled: set[str] = field(default_factory=set)
    """Methods that run, but answer like a failing gateway."""
    proxied: set[str] = field(default_factory=set)
    """Methods that run, but answer with a proxy's content."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Fixed responses by method."""
    guests: set[str] = field(default_factory=set)
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Extra fields of users.info by id."""
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """Events that methods wait for."""
    headers: list[str | None] = field(default_factory=list)

    @property
    def spoken(self) -> list[str]:
        return [method for method, _ in self.calls if method.startswith(SPEAKING)]

    def told(self, method: str) -> list[dict[str, Any]]:
        return [args for name, args in self.calls if name == method]

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        method = request.match_info.get("method", "")
        self.headers.append(request.headers.get("X-Console-Token"))
        if not method:
            return await handler(request)
        is_json = request.content_type == "application/json"
        given = json.loads(await request.text()) if is_json else dict(await request.post())
        arguments = dict(request.query) | given
        self.calls.append((method, arguments))
        if method in self.lacking:
            return _refusal("unknown_method")
        if self.refuse[method]:
            return _refusal(self.refuse[method].pop(0))
        word = method.startswith("chat.") and self.refuses(method, arguments)
        if word and "xoxb-" in str(request.headers.get("Authorization")):
            return _refusal(word)
        if method in self.answers:
            return web.json_response({"ok": True, **self.answers[method]})
        if method == "users.info" and arguments["user"] in self.guests:
            guest = {"id": arguments["user"], "team_id": TEAM, "name": "guest", "is_restricted": True}
            return web.json_response({"ok": True, "user": guest})
        if method == "users.info" and arguments["user"] in self.profiles:
            user = {"id": arguments["user"], "team_id": TEAM, **self.profiles[arguments["user"]]}
            return web.json_response({"ok": True, "user": user})
        if method in self.held:
            await self.held[method].wait()
        answer = await handler(request)
        if method in self.garbled:
            return web.Response(status=503, text="upstream connect error")
        if method in self.proxied:
            return web.Response(text="welcome")
        if method in self.cut and request.transport:
            request.transport.abort()
        return answer


def _refusal(error: str) -> web.Response:
    if error == "503":
        return web.Response(text="upstream connect error", status=503)
    if error == "500":
        return web.json_response({"ok": False, "error": "a_word_of_tomorrow"}, status=500)
    if error == "429":
        return web.Response(text="Too many requests", status=429, headers={"Retry-After": "3"})
    if error.startswith("ratelimited"):
        headers = {"Retry-After": error.removeprefix("ratelimited") or "3"}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
    return web.json_response({"ok": False, "error": error})
