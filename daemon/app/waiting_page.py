"""Page of a daemon that cannot open its journal so far: its health, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from socket import socket
from typing import Any, Protocol

from aiohttp import web

from config import Settings
from daemon.console.access import install_guard
from daemon.console.routes import LIVENESS, is_alive
from daemon.console.server import connection_limit, serve_app
from daemon.engine.clock import Clock

STARTING = "It starts: its copy does not follow the log yet."


class WaitingStart(Protocol):
    """Start that waits for the log. `is_behind_older`: the log is there, and older daemons still use it."""

    waits_for: str
    is_behind_older: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingHealth:
    machine: str
    began: float
    start: WaitingStart

    async def answer(self, _request: web.Request) -> web.Response:
        """Return the health; status 503 unless the daemon stands by for older ones."""
        return web.json_response(self._as_json(), status=200 if self.start.is_behind_older else 503)

    def _as_json(self) -> Mapping[str, Any]:
        start = self.start
        return {
            "ok": start.is_behind_older,
            "restart": False,
            "wrong": [start.waits_for or STARTING],
            "machine": self.machine,
            "at_work": False,
            "log": {"reachable": start.is_behind_older, "behind": 0, "since": self.began},
            "machines": [],
        }


@asynccontextmanager
async def waiting_page(
    settings: Settings, clock: Clock, listener: socket, start: WaitingStart
) -> AsyncIterator[None]:
    """Serve the health on a copy of the socket inside the block."""
    health = WaitingHealth(machine=settings.machine_name, began=clock.now(), start=start)
    app = web.Application()
    install_guard(
        app,
        host=settings.host,
        clock=clock,
        credentials=None,
        world_is_open=not settings.console_token,
        url=settings.console_url,
    )
    app.router.add_get("/healthz", health.answer)
    app.router.add_get(LIVENESS, is_alive)
    async with serve_app(app, listener.dup(), most=connection_limit()):
        yield
