"""Page of a daemon that cannot open its journal so far: its health, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from socket import socket
from typing import Any

from aiohttp import web

from config import Settings
from daemon.console.access import install_guard
from daemon.console.routes import LIVENESS, is_alive
from daemon.console.server import connection_limit, serve_app
from daemon.engine.clock import Clock

OLDER = (
    "Standing by: daemons of an older version are at work ({machines}). The log is migrated when the"
    " last of them has ended."
)


@dataclass(slots=True, kw_only=True)
class WaitingState:
    """Reason for the wait. `is_ready`: the log is there, and older daemons still use it."""

    machine: str
    since: float
    reason: str = ""
    is_ready: bool = False

    def note_away(self, reason: str, now: float) -> None:
        self._note(reason, now, is_ready=False)

    def note_older(self, machines: Sequence[str], now: float) -> None:
        """Note that daemons of an older version are alive."""
        self._note(OLDER.format(machines=", ".join(machines)), now, is_ready=True)

    def _note(self, reason: str, now: float, *, is_ready: bool) -> None:
        self.reason = reason
        if is_ready != self.is_ready:
            self.is_ready, self.since = is_ready, now

    def health(self) -> Mapping[str, Any]:
        return {
            "ok": self.is_ready,
            "restart": False,
            "wrong": [self.reason] if self.reason else [],
            "machine": self.machine,
            "at_work": False,
            "log": {"reachable": self.is_ready, "behind": 0, "since": self.since},
            "machines": [],
        }


@asynccontextmanager
async def waiting_page(
    settings: Settings, clock: Clock, listener: socket, state: WaitingState
) -> AsyncIterator[None]:
    """Serve the health on a copy of the socket inside the block."""

    async def health(_: web.Request) -> web.Response:
        return web.json_response(state.health(), status=200 if state.is_ready else 503)

    app = web.Application()
    install_guard(
        app,
        host=settings.host,
        clock=clock,
        credentials=None,
        world_is_open=not settings.console_token,
        url=settings.console_url,
    )
    app.router.add_get("/healthz", health)
    app.router.add_get(LIVENESS, is_alive)
    async with serve_app(app, listener.dup(), most=connection_limit()):
        yield
