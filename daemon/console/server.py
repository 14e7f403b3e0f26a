"""The daemon's port: binding, accepting connections, and limits.

A taken port is reported at once. Connections are limited, to leave files for the process. Owners' connections
and strangers' each keep a quarter, so strangers never exclude the owner. One address of strangers has a
quarter at most; its oldest connections are closed first.
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
"""Most connections, unless fewer files may be open."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenConnection:
    handler: RequestHandler
    address: str
    open_requests: int = 0
    session: str = ""

    @property
    def is_closing(self) -> bool:
        return self.handler.transport is None or self.handler.transport.is_closing()

    def close(self) -> None:
        if self.handler.transport is not None:
            self.handler.transport.abort()


class ConnectionLimit:
    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._strangers: dict[RequestHandler, OpenConnection] = {}
        self._known: dict[RequestHandler, OpenConnection] = {}
        """Connections that showed the token. Like `_strangers`, they are ordered by last request,
        oldest first.
        """
        self._told = False

    @property
    def most_per_address(self) -> int:
        """Most connections from a stranger's address. As many are reserved for owners, and for strangers."""
        return max(self.most // 4, 1)

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def add(self, handler: RequestHandler, address: str) -> None:
        """Add a stranger's connection; close another if there are too many."""
        self._strangers[handler] = OpenConnection(handler=handler, address=address)
        if self._is_full(address):
            self._forget_closed()
            if self._is_full(address):
                self._make_room_for(address)

    def make_room(self) -> None:
        """Close up to a quarter of the connections, strangers' only."""
        self._forget_closed()
        for _ in range(min(self.most_per_address, len(self._strangers))):
            self._close_oldest(self._strangers)

    def begin_request(self, handler: RequestHandler) -> None:
        for connections in (self._strangers, self._known):
            connection = connections.pop(handler, None)
            if connection is not None:
                connection.open_requests += 1
                connections[handler] = connection

    def end_request(self, handler: RequestHandler) -> None:
        connection = self._known.get(handler) or self._strangers.get(handler)
        if connection is not None:
            connection.open_requests -= 1

    def mark_trusted(self, handler: RequestHandler, session: str = "") -> None:
        """Mark a connection as an owner's, which showed the token or the secret of `session`."""
        if handler in self._known:
            self._known[handler].session = session
        connection = self._strangers.pop(handler, None)
        if connection is None:
            return
        connection.session = session
        self._known[handler] = connection
        if len(self._known) > self.most - self.most_per_address:
            self._forget_closed()
            if len(self._known) > self.most - self.most_per_address:
                self._close_oldest(self._known)

    def close_session(self, session: str, kept: RequestHandler) -> None:
        """Close an ended session's connections, except `kept`."""
        for connection in list(self._known.values()):
            if connection.session == session and connection.handler is not kept:
                del self._known[connection.handler]
                connection.close()

    def _is_full(self, address: str) -> bool:
        strangers = len(self._strangers)
        if strangers > self.most - self.most_per_address or len(self) > self.most:
            return True
        return strangers > self.most_per_address and self._addresses()[address] > self.most_per_address

    def _addresses(self) -> Counter[str]:
        return Counter(connection.address for connection in self._strangers.values())

    def _make_room_for(self, address: str) -> None:
        addresses = self._addresses()
        if addresses[address] > self.most_per_address:
            self._close_oldest(self._strangers, address)
        elif len(self._strangers) > self.most_per_address:
            [(most, _)] = addresses.most_common(1)
            self._close_oldest(self._strangers, most)
        else:
            self._close_oldest(self._known)

    def _close_oldest(
        self, connections: dict[RequestHandler, OpenConnection], address: str | None = None
    ) -> None:
        """Close the oldest connection, idle ones first, but not the newest."""
        choice = [one for one in connections.values() if address in (None, one.address)]
        choice = choice[:-1] or choice
        connection = next((one for one in choice if not one.open_requests), choice[0])
        del connections[connection.handler]
        connection.close()
        if not self._told:
            self._told = True
            log.warning(
                "Too many connections are open, many of them from %s. The oldest idle ones, and those that "
                "showed no token, are closed for new ones; the owner's are kept.",
                connection.address,
            )

    def _forget_closed(self) -> None:
        for connections in (self._strangers, self._known):
            for connection in [one for one in connections.values() if one.is_closing]:
                del connections[connection.handler]
        self._told = self._told and len(self._strangers) > self.most_per_address // 2


CONNECTIONS = web.AppKey("crowd", ConnectionLimit)

SITE = 64
"""Bits of an IPv6 address that identify its network, which counts as one address."""


def rate_limit_key(remote: str | None) -> str:
    """Return the address or network that limits count; empty if unknown."""
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
"""Loopback addresses instead of those for all interfaces."""

BODY = 16 * 1024 * 1024
"""Most bytes of a request, which may be a long prompt to the rehearsed model."""

WAITING = 1_024
"""Connections that may wait to be accepted."""

FILES = 4_096
"""Limit of open files requested from the system."""

IDLE = 20.0
"""Seconds in which a request's head must arrive."""

LINGER = 2.0
"""Seconds to read the rest of an answered request."""

ACCEPT_RETRY_PAUSE = 0.1
"""Seconds until a failed accept is retried."""


def is_our_fault(record: logging.LogRecord) -> bool:
    """True for an error of the daemon. Malformed requests are not logged."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ConfigError."""
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
    host, port = listener.getsockname()[:2]
    return url_of(host, port)


def url_of(host: str, port: int) -> str:
    reached = EVERYWHERE.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def connection_limit() -> int:
    """Raise the limit of open files, and return the number of connections it allows."""
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
    """Serve the application on this socket, with at most `most` connections. `idle` is in seconds."""
    limit = app.get(CONNECTIONS, ConnectionLimit())
    limit.most = most
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
        async with in_background(_accept_connections(listener, runner, limit)):
            yield
    finally:
        listener.close()
        await runner.cleanup()


async def _accept_connections(listener: socket.socket, runner: web.AppRunner, limit: ConnectionLimit) -> None:
    loop, handlers = asyncio.get_running_loop(), runner.server
    assert handlers is not None, "it was set up"
    listener.setblocking(False)
    while True:
        try:
            connection, remote = await loop.sock_accept(listener)
        except ConnectionError:
            continue  # closed before the accept
        except OSError as error:
            log.warning("Could not accept a connection (%s): retrying.", error.strerror)
            limit.make_room()
            await asyncio.sleep(ACCEPT_RETRY_PAUSE)
            continue
        try:
            _, handler = await loop.connect_accepted_socket(handlers, connection)
        except OSError:
            connection.close()
            continue
        limit.add(handler, rate_limit_key(remote[0]))
