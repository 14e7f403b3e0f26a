"""Who may talk to our port: no foreign Host or Origin, and nobody without the token where there is one.

Called once by app.py for the whole application: the console, and the rehearsal's /api/, /v1/ and /link/.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Set

from aiohttp import web
from aiohttp.typedefs import Handler

HEADER = "X-Console-Token"
COOKIE = "console_token"
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
PORT = re.compile(r":\d+$")
POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

FOREIGN_HOST = (
    "This port answers only to localhost, 127.0.0.1, [::1] and the HOST of the daemon's .env. "
    "Open it under one of these names."
)
FOREIGN_ORIGIN = "Another web page sent this request. Only the console's own page may."
NO_TOKEN = (
    "This console needs its token. Open /?token=… once with the CONSOLE_TOKEN of the daemon's .env, "
    "or send it as the header X-Console-Token."
)
NOTHING_HERE = "There is nothing under this address."


def protect(app: web.Application, *, host: str, token: str) -> None:
    """Put the guard before every route of this application, also of those mounted below it.

    `host` is what the port is bound to; `token` is CONSOLE_TOKEN, or "" where none is asked for.
    """
    gate = Gate(hosts=LOCAL | {host} if host in LOCAL or not token else None, token=token)
    app.middlewares.append(web.middleware(gate))
    app.on_response_prepare.append(_headers)


class Gate:
    """The middleware: refuses with one plain sentence, or lets the request pass."""

    def __init__(self, *, hosts: Set[str] | None, token: str) -> None:
        self._hosts = hosts
        self._token = token

    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._hosts is not None and PORT.sub("", request.host) not in self._hosts:
            return refuse(403, FOREIGN_HOST)
        if _is_foreign(request):
            return refuse(403, FOREIGN_ORIGIN)
        if request.path == "/" and self._holds(request.query.get("token", "")):
            return self._let_in(request)
        if not self._is_admitted(request):
            return refuse(401, NO_TOKEN)
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return refuse(404, NOTHING_HERE)

    def _is_admitted(self, request: web.Request) -> bool:
        if not self._token or request.path in ("/healthz", "/link/"):
            return True  # a health check holds no token; a socket opens with its single-use ticket
        return self._holds(request.headers.get(HEADER, "")) or self._holds(request.cookies.get(COOKIE, ""))

    def _holds(self, shown: str) -> bool:
        given = shown.encode(errors="surrogateescape")  # a header may hold any bytes
        return bool(self._token) and hmac.compare_digest(given, self._token.encode())

    def _let_in(self, request: web.Request) -> web.StreamResponse:
        """Keep the token in a cookie and take it out of the address bar."""
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            COOKIE, self._token, httponly=True, samesite="Strict", secure=request.secure, path="/"
        )
        return response


def refuse(status: int, sentence: str) -> web.Response:
    """An error as one plain sentence, in JSON."""
    return web.json_response({"ok": False, "error": sentence}, status=status)


def _is_foreign(request: web.Request) -> bool:
    """Did another web page send this? Programs send neither header; a browser always sends one of them."""
    if (origin := request.headers.get("Origin")) is not None:
        return origin.partition("://")[2] != request.host
    if request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate":
        return False  # a link on another page may lead here
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")


async def _headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    asset = isinstance(response, web.FileResponse)
    response.headers.setdefault("Cache-Control", "no-cache" if asset else "no-store")
