"""Access to the port: checks of Host and Origin, the console token, sign-in links and sessions.

A wrong token delays only other wrong tokens from its address, which many people may share. A new token ends
links and sessions. Only a POST uses up a link, so previews do not.
"""

from __future__ import annotations

import asyncio
import fcntl
import hmac
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.console.secret_store import LINKS, SESSIONS, FolderSecrets, SecretStore, secret_bytes
from daemon.console.server import CONNECTIONS, ConnectionLimit, rate_limit_key
from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalError
from daemon.settings.home import write_private
from daemon.settings.token_file import CONSOLE_TOKEN_FILE, TokenFile, read_token
from daemon.web.peer_channel import PEERS_PATH

FREE_FAILURES = 3
LONGEST_DELAY = 30.0

FORGOTTEN = 600.0
"""Seconds after which an address's wrong tokens are forgotten."""

WAITING = 4
"""Most answers delayed at the same time for one address."""

WAITING_IN_ALL = 64

KNOWN = 1_000
"""Most addresses whose failures are remembered."""


@dataclass(slots=True)
class TokenFailures:
    wrong: int = 0
    at: float = 0.0
    waiting: int = 0


class LoginRateLimit:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, TokenFailures] = {}
        self._waiting = 0

    async def delay_wrong_token(self, address: str) -> float:
        """Wait for the delay of a wrong token, then return 0.

        If too many requests wait, return the delay at once.
        """
        failures = self._failures_of(address)
        failures.wrong += 1
        failures.at = self._clock.steady()
        seconds = delay_seconds(failures.wrong)
        if not seconds:
            return 0.0
        if failures.waiting >= WAITING or self._waiting >= WAITING_IN_ALL:
            return seconds
        failures.waiting += 1
        self._waiting += 1
        try:
            await self._clock.sleep(seconds)
        finally:
            failures.waiting -= 1
            self._waiting -= 1
        return 0.0

    def _failures_of(self, address: str) -> TokenFailures:
        failures = self._known.pop(address, None) or TokenFailures()
        if self._clock.steady() - failures.at >= FORGOTTEN:
            failures.wrong = 0
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[address] = failures
        return failures


def delay_seconds(wrong: int) -> float:
    if wrong <= FREE_FAILURES:
        return 0.0
    return min(2.0 ** min(wrong - FREE_FAILURES - 1, 10), LONGEST_DELAY)


LINK_SECONDS = 600.0
"""Seconds until a sign-in link expires."""

SESSION_IDLE_SECONDS = 7 * 86_400.0
"""Seconds without a request until a session expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCredentials:
    """Token, links and sessions for the page. `now` returns Unix seconds."""

    token: str
    links: SecretStore
    sessions: SecretStore
    now: Callable[[], float]

    @classmethod
    def open_home(cls, home: Path, token: str, now: Callable[[], float]) -> Self:
        links = FolderSecrets(folder=home / LINKS, key=token)
        sessions = FolderSecrets(folder=home / SESSIONS, key=token)
        return cls(token=token, links=links, sessions=sessions, now=now)

    def is_token(self, shown: str) -> bool:
        return hmac.compare_digest(secret_bytes(shown), secret_bytes(self.token))

    async def session_of(self, shown: str) -> str:
        """Return the name of this secret's session, and extend it; empty if there is none."""
        name = self.sessions.hashed_name(shown)
        if await self.sessions.end_of(name) <= self.now():
            return ""
        await self.sessions.move_end(name, self.now() + SESSION_IDLE_SECONDS)
        return name

    async def make_link(self) -> str:
        return await self.links.add(self.now(), LINK_SECONDS)

    async def open_session(self, shown: str) -> str:
        """Return the secret of a new session, for the console token or for a link, which is used up.

        The secret is empty if `shown` is neither. Raises JournalError.
        """
        if self.is_token(shown):
            return await self.sessions.add(self.now(), SESSION_IDLE_SECONDS)
        link = self.links.hashed_name(shown)
        if await self.links.end_of(link) <= self.now():
            return ""
        session = await self.sessions.add(
            self.now(), SESSION_IDLE_SECONDS
        )  # on failure, the link stays valid
        if await self.links.remove(link):
            return session
        await self.sessions.remove(self.sessions.hashed_name(session))
        return ""


def read_or_make_token(home: Path, file: TokenFile = CONSOLE_TOKEN_FILE) -> str:
    """Return the token in a file of the home; make one if it is missing.

    Raises ConfigError if the file cannot be trusted, JournalError if none can be made.
    """
    try:
        with _locked(home):
            token = read_token(home, file)
            if not token:
                token = secrets.token_urlsafe(32)
                write_private(home / file.name, f"{token}\n")
            return token
    except OSError as error:
        raise JournalError(f"{home / file.name} cannot be made ({error.strerror}).") from error


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Lock the home, so that two daemons make one token."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


MOST_POSTED_BYTES = 8_192
POST_PATIENCE = 5.0


async def read_posted_json(request: web.Request) -> Mapping[str, Any]:
    """Return the posted JSON object; empty if invalid, too long or too slow."""
    if request.content_length is None or request.content_length > MOST_POSTED_BYTES:
        return {}
    try:
        async with asyncio.timeout(POST_PATIENCE):
            said = json.loads(await request.read())
    except (TimeoutError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


HEADER = "X-Console-Token"
"""Header with the console token or a session's secret."""

FORMER_COOKIE = "console_token"
"""Former cookie. Browsers send it to every port of the machine, so it is deleted."""

LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
PORT = re.compile(r":\d+$")
USUAL = {"http": ":80", "https": ":443"}

POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

SESSION = "/console/session"
MCP = "/mcp"
CALLBACK = "/oauth/callback"
"""Path to which authorization servers send browsers; the state of each request is checked."""

PATHS_WITHOUT_TOKEN = ("/healthz", "/livez", "/link/", "/", SESSION, MCP, CALLBACK)
"""Health checks have no token, sockets use tickets, and MCP clients have a token of their own."""

STATIC = "/static/"
"""Prefix of files without data, which need no token."""

WORLD = ("/api/", "/link/", "/upload/", "/files-pri/", "/rehearsal/", "/v1/")
"""Paths of the rehearsed world, which need no token while the port is local."""

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
    """Guard all routes of the application.

    Without `credentials` (in a rehearsal), none needs a token. With `world_is_open`, the rehearsed world
    needs none. `url` is the page's address behind a proxy.
    """
    connections = app[CONNECTIONS] = ConnectionLimit()
    login_limit = app[LOGIN_LIMIT] = LoginRateLimit(clock)
    page = ""
    if not world_is_open:
        at = urlsplit(url)
        page = at.netloc.lower().removesuffix(USUAL.get(at.scheme, ""))
    named = {host, PORT.sub("", page)} - {""}
    hosts: Set[str] | None = LOCAL | named
    if not world_is_open and host not in LOCAL:
        hosts = None
    world = WORLD if world_is_open else ()
    guard = AccessGuard(
        hosts=hosts,
        page=page,
        credentials=credentials,
        world=world,
        login_limit=login_limit,
        connections=connections,
    )
    app.middlewares.append(web.middleware(guard))
    app.on_response_prepare.append(_prepare)


@dataclass(kw_only=True)
class AccessGuard:
    hosts: Set[str] | None
    page: str
    credentials: PageCredentials | None
    world: tuple[str, ...]
    login_limit: LoginRateLimit
    connections: ConnectionLimit

    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        host = PORT.sub("", request.host)
        if self.hosts is not None and host not in self.hosts:
            return json_error(403, FOREIGN_HOST)
        if _is_foreign(request, self.page):
            return json_error(403, FOREIGN_ORIGIN)
        self.connections.begin_request(request.protocol)
        try:
            return await self._admit(request, handler)
        except web.HTTPNotFound:
            return json_error(404, NOTHING_HERE)
        except JournalError as error:  # the text about damage is for the owner
            return json_error(503, str(error))
        except ConnectionResetError:
            return web.Response()
        finally:
            self.connections.end_request(request.protocol)

    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        shown = request.headers.get(HEADER, "")
        if await self._holds(request, shown) or self._is_free(request.path):
            return await handler(request)
        if shown:
            return await refuse_wrong_token(request, self.login_limit, NO_TOKEN)
        return json_error(401, NO_TOKEN)

    async def _holds(self, request: web.Request, shown: str) -> bool:
        """True for the token or a session's secret; then the connection is trusted."""
        session = ""
        if self.credentials and not (shown and self.credentials.is_token(shown)):
            session = shown and await self.credentials.session_of(shown)
            if not session:
                return False
        self.connections.mark_trusted(request.protocol, session)
        return True

    def _is_free(self, path: str) -> bool:
        return path in PATHS_WITHOUT_TOKEN or path.startswith((STATIC, PEERS_PATH, *self.world))


async def refuse_wrong_token(
    request: web.Request, login_limit: LoginRateLimit, how: str = ""
) -> web.Response:
    """Refuse a wrong token after its delay. `how` says where the right one is."""
    seconds = await login_limit.delay_wrong_token(rate_limit_key(request.remote))
    if not seconds:
        return json_error(401, f"{WRONG_TOKEN} {how}".strip())
    response = json_error(429, TOO_MANY.format(seconds=math.ceil(seconds)))
    response.headers["Retry-After"] = str(math.ceil(seconds))
    return response


def json_error(status: int, sentence: str) -> web.Response:
    return web.json_response({"ok": False, "error": sentence}, status=status)


def _is_foreign(request: web.Request, page: str) -> bool:
    """True if another web page sent the request. Browsers name their page in a header; programs send none."""
    origin = request.headers.get("Origin")
    if origin is not None:
        sender = origin.partition("://")[2]
        return not sender or sender not in (request.host, page)
    if request.path in ("/", CALLBACK) and request.headers.get("Sec-Fetch-Mode") == "navigate":
        return False  # a link on another page is allowed
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")


async def _prepare(request: web.Request, response: web.StreamResponse) -> None:
    if response.status == HTTPStatus.SWITCHING_PROTOCOLS:  # the ticket was valid
        request.app[CONNECTIONS].mark_trusted(request.protocol)
    headers, caching = response.headers, "no-store"
    if isinstance(response, web.FileResponse):
        caching = "no-cache"
    if FORMER_COOKIE in request.headers.get("Cookie", ""):
        headers.add("Set-Cookie", f'{FORMER_COOKIE}=""; Max-Age=0; Path=/')
    headers.setdefault("Content-Security-Policy", POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "no-referrer")
    headers.setdefault("Cache-Control", caching)


LOGIN_LIMIT = web.AppKey("brake", LoginRateLimit)
NO_JSON = 'Send {"token": "…"}: the token of a link, or the lasting one.'
NO_SESSION = "This is no session that could be ended."


def mount_sessions(app: web.Application, credentials: PageCredentials) -> None:
    routes = SessionRoutes(credentials=credentials, login_limit=app[LOGIN_LIMIT])
    app.router.add_post(SESSION, routes.open)
    app.router.add_delete(SESSION, routes.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRoutes:
    credentials: PageCredentials
    login_limit: LoginRateLimit

    async def open(self, request: web.Request) -> web.Response:
        """Open a session for the console token or a link, which is used up."""
        token = await _token(request)
        if not token:
            return json_error(400, NO_JSON)
        secret = await self.credentials.open_session(token)
        if not secret:
            return await refuse_wrong_token(request, self.login_limit)
        return web.json_response({"ok": True, "session": secret})

    async def end(self, request: web.Request) -> web.Response:
        """End the session of this request and close its connections."""
        shown = request.headers.get(HEADER, "")
        name = shown and await self.credentials.session_of(shown)
        if not name:
            return json_error(401, NO_SESSION)
        await self.credentials.sessions.remove(name)
        request.app[CONNECTIONS].close_session(name, request.protocol)
        return web.json_response({"ok": True})


async def _token(request: web.Request) -> str:
    token = (await read_posted_json(request)).get("token")
    return token.strip() if isinstance(token, str) else ""
