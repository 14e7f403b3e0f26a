"""The one port of the daemon, bound before all else, so that a taken one is said at once.

Connections are let in one by one, so that a flood of them never uses up what files the process may open:
its journal and its own sockets need some, too.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from daemon.console.address import rate_limit_key
from daemon.console.crowd import CROWD, MOST, ConnectionLimit
from daemon.errors import ConfigError
from daemon.lifetime import in_background

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

log = logging.getLogger(__name__)


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
