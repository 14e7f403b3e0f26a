"""Routes of the page's Tools: servers, standing approvals, and changed tools that wait for an owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from daemon.console.access import json_error, read_posted_json
from daemon.console.overview import PressRefusal

NUMBER = r"[0-9]{1,15}"
NO_TOOL = 'Send {"tool": "server.tool", "digest": "…"}: the change that is to be used.'


class ToolsPage(Protocol):
    """Tools as JSON, and what their owner may do on the page."""

    async def overview_as_json(self) -> Mapping[str, Any]:
        """Return `servers`, `approvals`, `changes` and `faults` of the configuration."""

    async def accept(self, tool: str, digest: str) -> PressRefusal | None:
        """Allow a tool as its server defines it now; None on success. Raises JournalError."""

    async def end_approval(self, number: int) -> PressRefusal | None:
        """Take back a standing approval; None on success. Raises JournalError."""

    async def connect(self, server: str) -> str | PressRefusal:
        """Begin the consent to a server; return the address for the owner's browser."""


def mount_tools(app: web.Application, page: ToolsPage) -> None:
    routes = ToolsRoutes(page=page)
    app.router.add_get("/console/tools", routes.overview)
    app.router.add_post("/console/tools/accepted", routes.accept)
    app.router.add_post(f"/console/tools/approvals/{{number:{NUMBER}}}", routes.end_approval)
    app.router.add_post("/console/tools/connections/{server}", routes.connect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsRoutes:
    page: ToolsPage

    async def overview(self, _request: web.Request) -> web.Response:
        return web.json_response(await self.page.overview_as_json())

    async def accept(self, request: web.Request) -> web.Response:
        asked = await read_posted_json(request)
        tool, digest = asked.get("tool"), asked.get("digest")
        if not (isinstance(tool, str) and isinstance(digest, str)):
            return json_error(400, NO_TOOL)
        return _answer(await self.page.accept(tool, digest))

    async def end_approval(self, request: web.Request) -> web.Response:
        return _answer(await self.page.end_approval(int(request.match_info["number"])))

    async def connect(self, request: web.Request) -> web.Response:
        begun = await self.page.connect(request.match_info["server"])
        if isinstance(begun, PressRefusal):
            return _answer(begun)
        return web.json_response({"url": begun})


def _answer(refusal: PressRefusal | None) -> web.Response:
    if refusal:
        return json_error(refusal.status, refusal.why)
    return web.json_response({"ok": True})
