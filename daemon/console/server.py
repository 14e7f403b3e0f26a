"""The one port of the daemon, bound before all else, so that a taken one is said at once.

Connections are let in one by one, so that a flood of them never uses up what files the process may open:
its journal and its own sockets need some, too.

The connections that are open: how many there may be, and which one goes when there are too many.

Who has shown the token is known; all others are strangers. Each side always keeps a quarter for itself, so
that strangers never shut the owner out, and a health check, which is a stranger, always comes in. Among
strangers no address holds more than a quarter, and the oldest connection goes first: what is new has just
time to ask. Used by the server, which lets them in, and by the guard, which knows who they are.

Who counts as one where connections and wrong tokens are counted. For the guard and the crowd.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from daemon.lifetime import in_background
from daemon.settings.parse import ConfigError

MOST = 1_000
"""Connections, where no file limit is lower."""


log = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenConnection:
    """One connection. `asking` counts the requests that are being answered on it: streams last. `session` is
    the name of the session that was shown on it last."""

    handler: RequestHandler
    address: str
    asking: int = 0
    session: str = ""

    @property
    def is_closing(self) -> bool:
        """Is it closed, or about to be?"""
        return self.handler.transport is None or self.handler.transport.is_closing()

    def close(self) -> None:
        """Close it, whatever it was about to say or hear."""
        if self.handler.transport is not None:
            self.handler.transport.abort()


class ConnectionLimit:
    """All connections; `most` of them at once."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._strangers: dict[RequestHandler, OpenConnection] = {}
        self._known: dict[RequestHandler, OpenConnection] = {}
        """Both from the one that has been quiet for the longest to the latest."""
        self._told = False

    @property
    def most_per_address(self) -> int:
        """What is kept for either side, and the most that one address of strangers holds."""
        return max(self.most // 4, 1)

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def add(self, handler: RequestHandler, address: str) -> None:
        """Somebody has come in: a stranger so far. Who has to go for them, goes."""
        self._strangers[handler] = OpenConnection(handler=handler, address=address)
        if self._full(address):
            self._forget_gone()
            if self._full(address):
                self._make_room_for(address)

    def make_room(self) -> None:
        """This machine has no room for one more: as many strangers as an address may be go."""
        self._forget_gone()
        for _ in range(min(self.most_per_address, len(self._strangers))):
            self._close_oldest(self._strangers)

    def begin_request(self, handler: RequestHandler) -> None:
        """A request came on this connection."""
        for guests in (self._strangers, self._known):
            guest = guests.pop(handler, None)
            if guest is not None:
                guest.asking += 1
                guests[handler] = guest

    def end_request(self, handler: RequestHandler) -> None:
        """A request on this connection has its answer."""
        guest = self._known.get(handler) or self._strangers.get(handler)
        if guest is not None:
            guest.asking -= 1

    def mark_trusted(self, handler: RequestHandler, session: str = "") -> None:
        """Whoever is on this connection may see everything, while this session lasts, if it is by one."""
        if handler in self._known:
            self._known[handler].session = session
        guest = self._strangers.pop(handler, None)
        if guest is None:
            return
        guest.session = session
        self._known[handler] = guest
        if len(self._known) > self.most - self.most_per_address:
            self._forget_gone()
            if len(self._known) > self.most - self.most_per_address:
                self._close_oldest(self._known)

    def close_session(self, session: str, kept: RequestHandler) -> None:
        """This session is over: its connections are closed, streams as well, but for this one."""
        for guest in list(self._known.values()):
            if guest.session == session and guest.handler is not kept:
                del self._known[guest.handler]
                guest.close()

    def _full(self, address: str) -> bool:
        strangers = len(self._strangers)
        if strangers > self.most - self.most_per_address or len(self) > self.most:
            return True
        return strangers > self.most_per_address and self._addresses()[address] > self.most_per_address

    def _addresses(self) -> Counter[str]:
        """Those of strangers, and how many come from each."""
        return Counter(guest.address for guest in self._strangers.values())

    def _make_room_for(self, address: str) -> None:
        addresses = self._addresses()
        if addresses[address] > self.most_per_address:
            self._close_oldest(self._strangers, address)
        elif len(self._strangers) > self.most_per_address:
            [(most, _)] = addresses.most_common(1)
            self._close_oldest(self._strangers, most)
        else:
            self._close_oldest(self._known)

    def _close_oldest(self, guests: dict[RequestHandler, OpenConnection], address: str | None = None) -> None:
        """The oldest one goes: one that waits for no answer, if there is such a one; never the latest, which
        has had no time to ask."""
        choice = [one for one in guests.values() if address in (None, one.address)]
        choice = choice[:-1] or choice
        guest = next((one for one in choice if not one.asking), choice[0])
        del guests[guest.handler]
        guest.close()
        if not self._told:
            self._told = True
            log.warning(
                "Too many connections are open, many of them from %s. The oldest ones that are idle, or have "
                "shown no token, are closed for new ones; the owner's are kept.",
                guest.address,
            )

    def _forget_gone(self) -> None:
        for guests in (self._strangers, self._known):
            for guest in [one for one in guests.values() if one.is_closing]:
                del guests[guest.handler]
        self._told = self._told and len(self._strangers) > self.most_per_address // 2


CROWD = web.AppKey("crowd", ConnectionLimit)
"""Where an application keeps it."""


SITE = 64
"""Bits that name a network of IPv6; whoever has one address of it has them all."""


def rate_limit_key(remote: str | None) -> str:
    """What stands for everybody behind this address; empty where there is none."""
    try:
        address = ipaddress.ip_address((remote or "").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, SITE), strict=False))


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where this machine reaches what listens on every address."""


BODY = 16 * 1024 * 1024
"""The largest request that is read, in bytes: a long prompt on its way to the rehearsed model."""


WAITING = 1_024
"""Connections that the system keeps for us until they are let in."""


FILES = 4_096
"""Files that the process asks to be allowed to open, where it is allowed fewer."""


IDLE = 20.0
"""Seconds in which a request must have come whole, first or next, but for its body."""


LINGER = 2.0
"""Seconds for the rest of a request that has its answer already."""


BREATH = 0.1
"""Seconds after which it is tried again where this machine has no room for a connection."""


def is_our_fault(record: logging.LogRecord) -> bool:
    """Did something go wrong here? What strangers send that is no request at all is no news."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises ConfigError when it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"PORT {port} on this HOST cannot be used ({error.strerror}). If another daemon is running "
            "there, stop it, or set PORT to another number (0 picks a free one). "
            "HOST must be an address of this machine."
        ) from error
    return listener


def url_of_socket(listener: socket.socket) -> str:
    """The URL under which this machine reaches the socket."""
    host, port = listener.getsockname()[:2]
    return url_of(host, port)


def url_of(host: str, port: int) -> str:
    """The same of what listens there."""
    reached = EVERYWHERE.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def connection_limit() -> int:
    """Raise the process's limit of open files, if it is low; returns how many connections that allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)


@asynccontextmanager
async def serve_app(
    app: web.Application, listener: socket.socket, *, most: int = MOST, idle: float = IDLE
) -> AsyncIterator[None]:
    """While inside, the application answers on this socket, `most` connections at once."""
    crowd = app.get(CROWD, ConnectionLimit())
    crowd.most = most
    faults = logging.getLogger(f"{__name__}.faults")
    faults.addFilter(is_our_fault)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=faults,
        shutdown_timeout=1.0,
        keepalive_timeout=idle,
        lingering_time=LINGER,
    )
    await runner.setup()
    try:
        async with in_background(_let_in(listener, runner, crowd)):
            yield
    finally:
        listener.close()
        await runner.cleanup()


async def _let_in(listener: socket.socket, runner: web.AppRunner, crowd: ConnectionLimit) -> None:
    """Let in whoever comes, for ever."""
    loop, handlers = asyncio.get_running_loop(), runner.server
    assert handlers is not None, "it was set up"
    listener.setblocking(False)
    while True:
        try:
            connection, remote = await loop.sock_accept(listener)
        except ConnectionError:
            continue  # they were gone before they came in
        except OSError as error:
            log.warning("No connection can be let in (%s); it is tried again.", error.strerror)
            crowd.make_room()
            await asyncio.sleep(BREATH)
            continue
        try:
            _, handler = await loop.connect_accepted_socket(handlers, connection)
        except OSError:
            connection.close()
            continue
        crowd.add(handler, rate_limit_key(remote[0]))
