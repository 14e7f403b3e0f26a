"""The local Slack as a whole, mounted on a server and closed with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from rehearsal import gestures, modal_gestures
from rehearsal.api.dispatch import WebApiServer
from rehearsal.clearing import ClearingRoute
from rehearsal.control import ControlRoutes
from rehearsal.courier import EventCourier
from rehearsal.faults import SLACK_FAULTS
from rehearsal.feed import PageFeed
from rehearsal.open_views import OpenViews
from rehearsal.people import SOUL
from rehearsal.socket_mode import AppSockets, SocketModeServer
from rehearsal.statuses import StatusBoard
from rehearsal.switchboard import FaultSwitchboard, expose
from rehearsal.timekeeping import RehearsalClock
from rehearsal.transfer import FileTransfer
from rehearsal.workspace import RehearsedWorkspace
from rehearsal.workspace_store import open_store


class LocalSlack:
    """Workspace stored in one file; an async context manager that owns the store and the courier.

    `faults` are its faults; `soul` returns the name of the soul's app.
    """

    def __init__(
        self, path: Path, clock: RehearsalClock, soul: Callable[[], str] = lambda: SOUL.name
    ) -> None:
        self.faults = FaultSwitchboard("Slack", SLACK_FAULTS)
        links, db = AppSockets(), open_store(path)
        self.workspace = RehearsedWorkspace(
            db=db,
            clock=clock,
            links=links,
            courier=EventCourier(db, clock, links, self.faults),
            feed=PageFeed(),
            statuses=StatusBoard(clock),
            views=OpenViews(clock),
            faults=self.faults,
            name=soul,
        )

    async def __aenter__(self) -> Self:
        self._courier = asyncio.create_task(self.workspace.courier.run(), name="rehearsal courier")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()
        self._courier.cancel()
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await self._courier
        finally:
            self.workspace.db.close()

    def mount(self, app: web.Application) -> None:
        """Add all routes to a server."""
        here = self.workspace
        gate = SocketModeServer(
            here.links, here.clock, self.faults, hear=here.courier.hear, wake=here.courier.wake
        )
        app.router.add_route("*", "/api/{method:.*}", WebApiServer(here).answer)
        app.router.add_get("/link/", gate.enter)
        ControlRoutes(here).mount(app.router)
        ClearingRoute(here).mount(app.router)
        gestures.mount(here, app.router)
        modal_gestures.mount(here, app.router)
        FileTransfer(here).mount(app.router)
        expose(app, self.faults)
        app.on_response_prepare.append(self._date)
        app.on_shutdown.append(self.hang_up)

    async def _date(self, request: web.Request, response: web.StreamResponse) -> None:
        if request.path.startswith("/api/"):
            response.headers["Date"] = formatdate(self.workspace.clock.now(), usegmt=True)

    def whispers(self, user: str) -> list[dict[str, Any]]:
        """Return a user's ephemeral messages, oldest first."""
        return [one["message"] for one in self.workspace.whispers if one["user"] == user]

    async def hang_up(self, _: web.Application | None = None) -> None:
        """Close sockets and feeds, so that the server can end."""
        self.workspace.feed.close()
        await self.workspace.links.close()
