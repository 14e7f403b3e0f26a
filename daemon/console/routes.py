"""The console's routes: the page, its health, and the journal as the page reads it. Mounted by app.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from daemon.console.events import PATIENCE, Streams, brief
from daemon.console.guard import NOTHING_HERE, refuse
from daemon.console.inside import Inside
from daemon.engine.event import Entry, Event, as_json
from daemon.engine.journal import Journal
from daemon.kinds import INNER, ModelCall, Opened

STATIC = Path(__file__).parent / "static"
SEQ = re.compile(r"[0-9]{1,15}")
SESSION = re.compile(r"sess-")
"""How a thread's id begins; the page opens at it: `http://host:port/#sess-xxxxxxxx`."""

NO_SEQ = "since must be a seq of the journal: a whole number."
NO_BEFORE = "before must be a seq of the journal: a whole number."
NO_CALL = "There is no model call with this seq in the journal."


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """What the console shows, handed in by app.py.

    `rebuild` gives a model call's request as the model saw it, and whether its hash agrees with the
    recorded one. `state` is {"name", "rehearsed": {"workspace": bool, "model": bool}, "workspace_at",
    "model_at" (the host that stands in for Slack or Anthropic, "" where none does), "budget", "spent",
    "worth" (US dollars, of this UTC day), "wrong": [what only an owner can mend, a sentence each],
    "models": {role: model}, "inner": is there an inner life to show?}. `health` is {"ok": bool, …}.
    `inner` tells of the inner life. `patience`: seconds in which a reader of the journal must take something.
    """

    journal: Journal
    rebuild: Callable[[Entry[ModelCall]], tuple[Mapping[str, Any], bool]]
    state: Callable[[], Mapping[str, Any]]
    health: Callable[[], Mapping[str, Any]]
    inner: Inside | None = None
    patience: float = PATIENCE


def mount(app: web.Application, console: Console) -> None:
    """Add the console to this application."""
    views = Views(console)
    app.router.add_get("/", views.page)
    app.router.add_get("/healthz", views.health)
    app.router.add_get("/console/state", views.state)
    app.router.add_get("/console/journal", views.journal)
    app.router.add_get(f"/console/calls/{{seq:{SEQ.pattern}}}", views.call)
    app.router.add_get("/console/threads/{key}", views.thread)
    app.router.add_get("/console/inner", views.inner)
    app.router.add_get("/static/{name}", views.part)
    app.on_shutdown.append(views.shutdown)


class Views:
    """What answers each route."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._streams = Streams(console.journal, console.patience)
        self._parts = {path.name: path for path in STATIC.iterdir()}

    async def page(self, _request: web.Request) -> web.StreamResponse:
        """The one page; all else it asks for itself."""
        return web.FileResponse(STATIC / "index.html")

    async def part(self, request: web.Request) -> web.StreamResponse:
        """A script, a style or a picture of the page; no other file has a name here."""
        path = self._parts.get(request.match_info["name"])
        return web.FileResponse(path) if path else refuse(404, NOTHING_HERE)

    async def health(self, _request: web.Request) -> web.Response:
        """For whoever restarts the daemon: 503 when it does not hear or cannot remember."""
        health = self._console.health()
        return web.json_response(health, status=200 if health["ok"] else 503)

    async def state(self, _request: web.Request) -> web.Response:
        """Who is here, what of the world is rehearsed, and what was spent today."""
        return web.json_response(self._console.state())

    async def journal(self, request: web.Request) -> web.StreamResponse:
        """The journal as it grows; a page that reconnects goes on where it was."""
        since = request.headers.get("Last-Event-ID") or request.query.get("since")
        if since is not None and not SEQ.fullmatch(since):
            return refuse(400, NO_SEQ)
        return await self._streams.serve(request, None if since is None else int(since))

    async def call(self, request: web.Request) -> web.Response:
        """One model call, and its request rebuilt from the journal."""
        try:
            entry = self._console.journal.at(int(request.match_info["seq"]))
        except KeyError:
            return refuse(404, NO_CALL)
        if not isinstance(entry.event, ModelCall):
            return refuse(404, NO_CALL)
        seen, agrees = self._console.rebuild(entry)
        return web.json_response({"entry": as_json(entry), "request": seen, "agrees": agrees})

    async def thread(self, request: web.Request) -> web.Response:
        """All entries of the conversation `{team}:{channel}:{root ts}`, or `sess-…`, and of its branches."""
        journal, key, inner = self._console.journal, request.match_info["key"], self._console.inner
        if inner and key == INNER:
            return web.json_response({"thread": INNER, "entries": [brief(e) for e in inner.entries()]})
        opened = journal.latest(key, Opened) if SESSION.match(key) else journal.get(f"thread:{key}")
        if opened is None:  # nobody has spoken to the soul there yet
            return web.json_response({"thread": None, "entries": []})
        entries: list[Entry[Event]] = journal.tree(opened.thread)
        return web.json_response({"thread": opened.thread, "entries": [brief(e) for e in entries]})

    async def inner(self, request: web.Request) -> web.Response:
        """The inner life as it is now; with `before`, only the ticks that were written before that entry."""
        inner, before = self._console.inner, request.query.get("before")
        if inner is None:
            return refuse(404, NOTHING_HERE)
        if before is None:
            return web.json_response(await inner.told())
        if not SEQ.fullmatch(before):
            return refuse(400, NO_BEFORE)
        return web.json_response(inner.ticks(int(before)))

    async def shutdown(self, _app: web.Application) -> None:
        """End what would otherwise never end."""
        await self._streams.close()
