"""The one port of the daemon, bound before all else, so that a taken one is said at once. Used by app.py."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from daemon.errors import ConfigError

BODY = 16 * 1024 * 1024
"""The largest request that is read, in bytes: a long prompt on its way to the rehearsed model."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises ConfigError when it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"PORT {port} on this HOST cannot be used ({error.strerror}). If another daemon is running "
            "there, stop it, or set PORT to another number (0 picks a free one). "
            "HOST must be an address of this machine."
        ) from error
    return listener


def address(listener: socket.socket) -> str:
    """The URL under which this machine reaches the socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::", "::1"):
        host = "127.0.0.1" if host == "0.0.0.0" else "[::1]"
    return f"http://{host}:{port}"


@asynccontextmanager
async def serving(app: web.Application, listener: socket.socket) -> AsyncIterator[None]:
    """While inside, the application answers on this socket."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        yield
    finally:
        await runner.cleanup()
