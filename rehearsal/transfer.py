"""Uploads (`/upload/v1/…`) and downloads (`/files-pri/…`) of files.

Without the scope, a download is a sign-in page with status 200, as in Slack.
"""

from __future__ import annotations

import math

from aiohttp import web

from rehearsal.files import awaited, content_of, readable, receive
from rehearsal.people import CALLERS, TEAM, TEAM_URL, TokenOwner
from rehearsal.refusal import ApiError
from rehearsal.wire import bearer, outage
from rehearsal.workspace import RehearsedWorkspace

DOWNLOAD = "files.download"
"""Method name of downloads, for faults."""
READ = "files:read"
CHUNK = 64 * 1024
SIGN_IN = "<!DOCTYPE html><html><head><title>Sign in to Rehearsal | Slack</title></head><body></body></html>"


class FileTransfer:
    def __init__(self, workspace: RehearsedWorkspace) -> None:
        self._workspace = workspace

    def mount(self, router: web.UrlDispatcher) -> None:
        router.add_post("/upload/v1/{ticket}", self.take)
        router.add_put("/upload/v1/{ticket}", self.take)
        router.add_get("/files-pri/{place}/{name}", self.give)
        router.add_get("/files-pri/{place}/download/{name}", self.give)

    async def take(self, request: web.Request) -> web.Response:
        ticket, db = request.match_info["ticket"], self._workspace.db
        length = awaited(db, ticket)
        if length is None:
            return web.Response(status=404, text="unknown or used upload URL")
        content = await _body(request, length)
        if content is None:
            return web.Response(status=400, text=f"expected the {length} bytes that were announced")
        with db:
            receive(db, ticket, content)
        return web.Response(text=f"OK - {length}")

    async def give(self, request: web.Request) -> web.Response:
        caller = CALLERS.get(bearer(request) or "")
        if caller is None or caller.kind == "app":
            raise web.HTTPFound(f"{TEAM_URL}?redir=%2Ffiles-pri")
        return self._fault(request, caller) or self._given(request.match_info["place"], caller)

    def _fault(self, request: web.Request, caller: TokenOwner) -> web.Response | None:
        """Return a fault's answer, if any. People are spared."""
        faults = self._workspace.faults
        if caller.app is None:
            return None
        down = faults.strikes("down") or faults.strikes("broken", DOWNLOAD)
        if down:
            return outage(request, down)
        limit = faults.strikes("rate-limit", DOWNLOAD)
        if limit:
            headers = {"Retry-After": str(math.ceil(float(limit["seconds"])))}
            return web.Response(status=429, headers=headers)
        if READ not in caller.app.scopes or faults.strikes("missing-scope", READ):
            return web.Response(text=SIGN_IN, content_type="text/html")
        return None

    def _given(self, place: str, caller: TokenOwner) -> web.Response:
        db = self._workspace.db
        try:
            file = readable(db, place.removeprefix(f"{TEAM}-"), caller)
        except ApiError:
            raise web.HTTPNotFound from None
        headers = {"Content-Disposition": "attachment"}  # prevent our origin from rendering it
        return web.Response(body=content_of(db, file), content_type=file.mimetype, headers=headers)


async def _body(request: web.Request, length: int) -> bytes | None:
    content = bytearray()
    async for chunk in request.content.iter_chunked(CHUNK):
        content += chunk
        if len(content) > length:
            return None
    return bytes(content) if len(content) == length else None
