"""The local Slack as a whole: opened by app.py, mounted on its server, closed with it."""

from __future__ import annotations

import asyncio
import contextlib
from email.utils import formatdate
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from daemon.ports import Clock
from daemon.rehearsal import gestures
from daemon.rehearsal.api.dispatch import Api
from daemon.rehearsal.control import Control
from daemon.rehearsal.courier import Courier
from daemon.rehearsal.faults import SLACK_FAULTS
from daemon.rehearsal.feed import Feed
from daemon.rehearsal.links import Links
from daemon.rehearsal.sockets import Gate
from daemon.rehearsal.statuses import Statuses
from daemon.rehearsal.store import open_store
from daemon.rehearsal.switchboard import Switchboard
from daemon.rehearsal.switches import expose
from daemon.rehearsal.workspace import Workspace


class World:
    """A workspace that lives in one file; an async context manager that owns the store and the courier.

    `faults` are its switches: what can go wrong in it.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.faults = Switchboard("Slack", SLACK_FAULTS)
        links, db = Links(), open_store(path)
        self.workspace = Workspace(
            db=db,
            clock=clock,
            links=links,
            courier=Courier(db, clock, links, self.faults),
            feed=Feed(),
            statuses=Statuses(clock),
            faults=self.faults,
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
        """Add `/api/…`, `/link/` and `/rehearsal/…` to a server."""
        app.router.add_route("*", "/api/{method:.*}", Api(self.workspace).answer)
        app.router.add_get("/link/", Gate(self.workspace).enter)
        Control(self.workspace).mount(app.router)
        gestures.mount(self.workspace, app.router)
        expose(app, self.faults)
        app.on_response_prepare.append(self._date)
        app.on_shutdown.append(self.hang_up)

    async def _date(self, request: web.Request, response: web.StreamResponse) -> None:
        """Slack's answers say what time it is for Slack."""
        if request.path.startswith("/api/"):
            response.headers["Date"] = formatdate(self.workspace.clock.now(), usegmt=True)

    def whispers(self, user: str) -> list[dict[str, Any]]:
        """The ephemeral messages that this person got, oldest first, as Slack's messages."""
        return [one["message"] for one in self.workspace.whispers if one["user"] == user]

    async def hang_up(self, _: web.Application | None = None) -> None:
        """Close the sockets and the pages' feeds, so that the server can end."""
        self.workspace.feed.close()
        await self.workspace.links.close()
