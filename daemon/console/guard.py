"""Who may talk to our port: no foreign Host or Origin, and nobody without the token or a session.

It stands before the whole application: the console, and the rehearsal's /api/, /v1/ and /link/.
"""

from __future__ import annotations

import math
import re
from collections.abc import Set
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.console.address import rate_limit_key
from daemon.console.brake import LoginRateLimit
from daemon.console.credentials import PageCredentials
from daemon.console.crowd import CROWD, ConnectionLimit
from daemon.engine.exceptions import JournalError
from daemon.ports import Clock

HEADER = "X-Console-Token"
"""What a program shows the token in, and the page the secret of its session."""
FORMER_COOKIE = "console_token"
"""Held CONSOLE_TOKEN, and went to every port of this machine: it is taken away wherever it still comes."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
PORT = re.compile(r":\d+$")
USUAL = {"http": ":80", "https": ":443"}
"""The port that a browser names in no header."""
POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SESSION = "/console/session"
"""Where a link is exchanged for a session, and a session is ended."""
PATHS_WITHOUT_TOKEN = ("/healthz", "/link/", "/", SESSION)
STATIC = "/static/"
"""What needs no token: a health check holds none, a socket opens with its single-use ticket, and the page's
own files contain no data."""
WORLD = ("/api/", "/link/", "/upload/", "/files-pri/", "/rehearsal/", "/v1/")
"""The rehearsed world, which everybody on this machine may use, as long as the port is for them alone."""

FOREIGN_HOST = (
    "This port answers only to localhost, 127.0.0.1, [::1] and the HOST of the daemon's .env. "
    "Open it under one of these names."
)
FOREIGN_ORIGIN = (
    "Another web page sent this request. Only the console's own page may; behind a proxy, CONSOLE_URL in the "
    "daemon's .env says where that is."
)
NO_TOKEN = (
    "This needs the console's token in the header X-Console-Token: the CONSOLE_TOKEN of the daemon's .env, "
    "or where there is none, what SOUL_HOME/console-token contains. A browser comes in by the link in the "
    "last line that the daemon prints at its start; `python -m daemon link` prints a new one."
)
WRONG_TOKEN = "This is not the token, or its time is over."
TOO_MANY = "Too many wrong tokens came from your address. Wait {seconds} seconds; the right one still works."
NOTHING_HERE = "There is nothing under this address."


def install_guard(
    app: web.Application,
    *,
    host: str,
    clock: Clock,
    credentials: PageCredentials | None,
    world_is_open: bool = True,
    url: str = "",
) -> None:
    """Put the guard before every route of this application, also of those mounted below it.

    `host` is what the port is bound to. `credentials` open what is not free; without them there is nothing
    but a rehearsed world, and all is. Where the world is not open (CONSOLE_TOKEN is set) others may reach the
    port: then `url`, CONSOLE_URL, is the page's address at a proxy, whose requests may name it or us as the
    host.
    """
    crowd = app[CROWD] = ConnectionLimit()
    brake = app[BRAKE] = LoginRateLimit(clock)
    page = ""
    if not world_is_open:
        at = urlsplit(url)
        page = at.netloc.lower().removesuffix(USUAL.get(at.scheme, ""))
    named = {host, PORT.sub("", page)} - {""}
    hosts: Set[str] | None = LOCAL | named
    if not world_is_open and host not in LOCAL:
        hosts = None
    world = WORLD if world_is_open else ()
    gate = AccessGuard(hosts=hosts, page=page, credentials=credentials, world=world, brake=brake, crowd=crowd)
    app.middlewares.append(web.middleware(gate))
    app.on_response_prepare.append(_prepare)


@dataclass(kw_only=True)
class AccessGuard:
    """The middleware: refuses with one plain sentence, asks for the token, or lets the request pass."""

    hosts: Set[str] | None
    page: str
    credentials: PageCredentials | None
    world: tuple[str, ...]
    brake: LoginRateLimit
    crowd: ConnectionLimit

    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        host = PORT.sub("", request.host)
        if self.hosts is not None and host not in self.hosts:
            return json_error(403, FOREIGN_HOST)
        if _is_foreign(request, self.page):
            return json_error(403, FOREIGN_ORIGIN)
        self.crowd.begin_request(request.protocol)
        try:
            return await self._admit(request, handler)
        except web.HTTPNotFound:
            return json_error(404, NOTHING_HERE)
        except JournalError as error:  # damaged, or not to be read now; its text is meant for the owner
            return json_error(503, str(error))
        except ConnectionResetError:
            return web.Response()  # they are gone: nobody reads it
        finally:
            self.crowd.end_request(request.protocol)

    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = request.headers.get(HEADER, "")
        if self._holds(request, shown) or self._is_free(request.path):
            return await handler(request)
        if shown:
            return await refuse_wrong_token(request, self.brake, NO_TOKEN)
        return json_error(401, NO_TOKEN)

    def _holds(self, request: web.Request, shown: str) -> bool:
        """True if this is the token, or the secret of a session; whoever showed it is known from now on."""
        session = ""
        if self.credentials and not (shown and self.credentials.is_token(shown)):
            session = shown and self.credentials.session_of(shown)
            if not session:
                return False
        self.crowd.mark_trusted(request.protocol, session)
        return True

    def _is_free(self, path: str) -> bool:
        return path in PATHS_WITHOUT_TOKEN or path.startswith((STATIC, *self.world))


async def refuse_wrong_token(request: web.Request, brake: LoginRateLimit, how: str = "") -> web.Response:
    """Refuse a wrong token, which costs whoever is there a while. `how` says how to come by the right one."""
    seconds = await brake.delay_wrong_token(rate_limit_key(request.remote))
    if not seconds:
        return json_error(401, f"{WRONG_TOKEN} {how}".strip())
    response = json_error(429, TOO_MANY.format(seconds=math.ceil(seconds)))
    response.headers["Retry-After"] = str(math.ceil(seconds))
    return response


def json_error(status: int, sentence: str) -> web.Response:
    """An error as one plain sentence, in JSON."""
    return web.json_response({"ok": False, "error": sentence}, status=status)


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
        request.app[CROWD].mark_trusted(request.protocol)
    headers, caching = response.headers, "no-store"
    if isinstance(response, web.FileResponse):
        caching = "no-cache"
    if FORMER_COOKIE in request.headers.get("Cookie", ""):
        headers.add("Set-Cookie", f'{FORMER_COOKIE}=""; Max-Age=0; Path=/')
    headers.setdefault("Content-Security-Policy", POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "no-referrer")
    headers.setdefault("Cache-Control", caching)


BRAKE = web.AppKey("brake", LoginRateLimit)
"""Where an application keeps it."""
