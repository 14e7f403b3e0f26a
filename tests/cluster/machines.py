"""Ports of daemons that ask each other, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from daemon.cluster.peers import PeerClient, PeerRoutes
from daemon.console.access import PageCredentials, install_guard
from daemon.engine.clock import SystemClock
from tests.web.loopback import serve_app_on_loopback

KEY = "key-of-the-workspace"


@dataclass(kw_only=True)
class Machine:
    """A daemon's port, its requests to others, and the addresses that it knows."""

    worker_id: int
    routes: PeerRoutes
    peers: PeerClient
    url: str
    addresses: dict[int, str]


@asynccontextmanager
async def machine(worker_id: int, addresses: dict[int, str], home: Path) -> AsyncIterator[Machine]:
    """Serve the port of a daemon, behind the guard of its page."""
    app, clock = web.Application(), SystemClock()
    credentials = PageCredentials.open_home(home, "t" * 30, clock.now)
    install_guard(app, host="127.0.0.1", clock=clock, credentials=credentials, world_is_open=False)
    routes = PeerRoutes()
    routes.key, routes.worker_id = KEY, worker_id
    routes.mount(app)
    async with serve_app_on_loopback(app) as url, PeerClient(KEY, lambda: addresses) as peers:
        addresses[worker_id] = url
        try:
            yield Machine(worker_id=worker_id, routes=routes, peers=peers, url=url, addresses=addresses)
        finally:
            del addresses[worker_id]
