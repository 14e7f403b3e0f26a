"""Who may talk to our port: no foreign Host or Origin, and nobody without the token where there is one.

Called once by app.py for the whole application: the console, and the rehearsal's /api/, /v1/ and /link/.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import re
from collections.abc import Set
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.console.address import whose
from daemon.console.brake import Brake
from daemon.console.crowd import CROWD, Crowd
from daemon.engine.exceptions import JournalError
from daemon.ports import Clock

HEADER = "X-Console-Token"
COOKIE = "console_token"
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
PORT = re.compile(r":\d+$")
USUAL = {"http": ":80", "https": ":443"}
"""The port that a browser names in no header."""
POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
FREE = frozenset({"/healthz", "/link/"})
"""What needs no token: a health check holds none, and a socket opens with its single-use ticket."""
DRESS = frozenset({"/static/base.css", "/static/token.css", "/static/icon.svg"})
"""What the form looks like: anybody may see it."""
FORM = Path(__file__).parent / "static" / "token.html"
GAP = "<!-- what was wrong -->"
LONGEST_FORM = 8_192
"""Bytes of a form that are read."""
PATIENCE = 5.0
"""Seconds that a form may take to come."""

FOREIGN_HOST = (
    "This port answers only to localhost, 127.0.0.1, [::1] and the HOST of the daemon's .env. "
    "Open it under one of these names."
)
FOREIGN_ORIGIN = (
    "Another web page sent this request. Only the console's own page may; behind a proxy, CONSOLE_URL in the "
    "daemon's .env says where that is."
)
NO_TOKEN = (
    "This console needs its token, the CONSOLE_TOKEN of the daemon's .env. Open / in a browser, which asks "
    "for it, or send it as the header X-Console-Token."
)
WRONG_TOKEN = "This is not the token."
TOO_MANY = "Too many wrong tokens came from your address. Wait {seconds} seconds; the right one still works."
NOTHING_HERE = "There is nothing under this address."


def protect(app: web.Application, *, host: str, token: str, clock: Clock, url: str = "") -> None:
    """Put the guard before every route of this application, also of those mounted below it.

    `host` is what the port is bound to; `token` is CONSOLE_TOKEN, or "" where none is asked for. `url` is
    CONSOLE_URL, the page's address at a proxy, whose requests may name it or us as the host: only with a
    token are they let in.
    """
    crowd = app[CROWD] = Crowd()
    page = ""
    if token:
        at = urlsplit(url)
        page = at.netloc.lower().removesuffix(USUAL.get(at.scheme, ""))
    named = {host, PORT.sub("", page)} - {""}
    hosts: Set[str] | None = LOCAL | named
    if token and host not in LOCAL:
        hosts = None
    gate = Gate(hosts=hosts, page=page, token=token, brake=Brake(clock), crowd=crowd)
    app.middlewares.append(web.middleware(gate))
    app.on_response_prepare.append(_prepare)


@dataclass(kw_only=True)
class Gate:
    """The middleware: refuses with one plain sentence, asks for the token, or lets the request pass."""

    hosts: Set[str] | None
    page: str
    token: str
    brake: Brake
    crowd: Crowd

    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        host = PORT.sub("", request.host)
        if self.hosts is not None and host not in self.hosts:
            return refuse(403, FOREIGN_HOST)
        if _is_foreign(request, self.page):
            return refuse(403, FOREIGN_ORIGIN)
        self.crowd.asks(request.protocol)
        try:
            return await self._admit(request, handler)
        finally:
            self.crowd.answered(request.protocol)

    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        shown: list[str] = []
        if self.token:
            shown = await _shown(request)
        if any(map(self._holds, shown)):
            self.crowd.vouch(request.protocol)
            if request.path == "/" and (request.method == "POST" or "token" in request.query):
                return self._let_in(request)
        elif request.path not in FREE | DRESS:
            if shown:
                return await self._turn_away(request)
            if self.token:
                return _ask(request, 401)
            self.crowd.vouch(request.protocol)
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return refuse(404, NOTHING_HERE)
        except JournalError as error:  # damaged, or not to be read now; its text is meant for the owner
            return refuse(503, str(error))
        except ConnectionResetError:
            return web.Response()  # they are gone: nobody reads it

    def _holds(self, shown: str) -> bool:
        given = shown.encode(errors="surrogateescape")  # a header may hold any bytes
        return hmac.compare_digest(given, self.token.encode())

    async def _turn_away(self, request: web.Request) -> web.Response:
        """A wrong token: it costs whoever is there a while."""
        seconds = await self.brake.wrong(whose(request.remote))
        if seconds:
            response = _ask(request, 429, TOO_MANY.format(seconds=math.ceil(seconds)))
            response.headers["Retry-After"] = str(math.ceil(seconds))
        else:
            response = _ask(request, 401, WRONG_TOKEN)
        response.del_cookie(COOKIE, path="/")  # or an old one would cost again each time
        return response

    def _let_in(self, request: web.Request) -> web.StreamResponse:
        """Keep the token in a cookie, and out of the address bar."""
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(  # lax: with "strict" a link in Slack to this page would ask for the token again
            COOKIE, self.token, httponly=True, samesite="Lax", secure=_is_encrypted(request), path="/"
        )
        return response


def _is_encrypted(request: web.Request) -> bool:
    """Does the browser speak TLS with the first proxy before us? Then its cookie never goes without."""
    origin = request.headers.get("Origin", "")
    spoken = request.headers.get("X-Forwarded-Proto", "")
    return "https" in (origin.partition(":")[0], spoken.partition(",")[0])


def refuse(status: int, sentence: str) -> web.Response:
    """An error as one plain sentence, in JSON."""
    return web.json_response({"ok": False, "error": sentence}, status=status)


async def _shown(request: web.Request) -> list[str]:
    """The tokens that came with this request: as a header, as a cookie, in the address or in the form."""
    shown = [request.headers.get(HEADER, ""), request.cookies.get(COOKIE, "")]
    if request.path == "/":
        shown.append(request.query.get("token", ""))
        if request.method == "POST":
            shown.append(await _of_form(request))
    return [token for token in shown if token]


async def _of_form(request: web.Request) -> str:
    """What was written into the form; nothing where it is none of ours."""
    if request.content_length is None or request.content_length > LONGEST_FORM:
        return ""
    try:
        async with asyncio.timeout(PATIENCE):
            written = parse_qs((await request.read()).decode(errors="replace"))
    except (TimeoutError, ValueError):
        return ""
    return written.get("token", [""])[0].strip()


def _ask(request: web.Request, status: int, wrong: str = "") -> web.Response:
    """Ask for the token: a person by a form, a program by a sentence. `wrong` says what was."""
    if "text/html" not in request.headers.get("Accept", ""):
        return refuse(status, f"{wrong} {NO_TOKEN}".strip())
    if wrong:
        wrong = f'<p id="wrong" role="alert">{escape(wrong)}</p>'
    page = FORM.read_text(encoding="utf-8").replace(GAP, wrong)
    own = {"Referrer-Policy": "same-origin"}  # without it a browser would not say that the form is ours
    return web.Response(text=page, content_type="text/html", status=status, headers=own)


def _is_foreign(request: web.Request, page: str) -> bool:
    """Did another web page send this? Programs send neither header; a browser always sends one of them."""
    origin = request.headers.get("Origin")
    if origin is not None:
        sender = origin.partition("://")[2]
        return not sender or sender not in (request.host, page)
    if request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate":
        return False  # a link on another page may lead here
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")


async def _prepare(request: web.Request, response: web.StreamResponse) -> None:
    if response.status == HTTPStatus.SWITCHING_PROTOCOLS:  # its ticket was good
        request.app[CROWD].vouch(request.protocol)
    caching = "no-store"
    if isinstance(response, web.FileResponse):
        caching = "no-cache"
    headers = response.headers
    headers.setdefault("Content-Security-Policy", POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "no-referrer")
    headers.setdefault("Cache-Control", caching)
