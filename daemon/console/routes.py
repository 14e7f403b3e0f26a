"""The console's routes: the page, its health, and the journal as the page reads it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from daemon.console.event_stream import LONGEST_STREAM, EventStreams, entry_for_page
from daemon.console.guard import NOTHING_HERE, json_error
from daemon.console.inside import InnerLifeView
from daemon.console.paging import MOST_PAGE_ENTRIES, PAGE, JournalPager, PageRequest
from daemon.console.readers import PATIENCE, JsonResponses
from daemon.console.search import search_words
from daemon.console.unrecorded import LiveCalls
from daemon.engine.event import Entry, Event, entry_as_json
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS
from daemon.kinds import INNER, ConversationOpened, ModelCall

T = TypeVar("T")

STATIC = Path(__file__).parent / "static"
SEQ = re.compile(r"[0-9]{1,15}")
SESSION = "sess-"
"""How a thread's id begins; the page opens at it: `http://host:port/#sess-xxxxxxxx`. `#72` is an entry."""
PLACES = frozenset({"before", "after", "around"})
NOTHING: Mapping[str, Any] = {}
FOUND = 50
"""What is found at once, where nobody asks for another number."""

NO_SEQ = "since must be a seq of the journal, and most a number of entries: whole numbers."
NO_BEFORE = "before must be a seq of the journal: a whole number."
NO_PLACE = (
    "before, after, around and limit must be whole numbers, and only one of the first three may be given."
)
NO_WORDS = "words must name what is looked for."
NO_CALL = "There is no model call with this seq in the journal."


async def _is_ready() -> None:
    """Nothing is to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSetup:
    """What the console shows.

    `rebuild` gives a model call's request as the model saw it, and whether its hash agrees with the
    recorded one. `state` is {"name", "rehearsed": {"workspace": bool, "model": bool}, "workspace_at",
    "model_at" (the host that stands in for Slack or Anthropic, "" where none does), "budget", "spent",
    "worth" (US dollars, of this UTC day), "wrong": [what only an owner can mend, a sentence each],
    "models": {role: model}, "inner": is there an inner life to show?, "questions": how many are open}.
    `health` is {"ok": bool, …}.
    `ready` waits until `state` has nothing to read that takes long.
    `health` is {"ok": bool, "restart": might a restart help (where it is missing: if not ok)?, …}; `details`
    are what the page's Health shows besides.
    `inner` tells of the inner life, `thinking` of what is not recorded yet. `patience`: seconds in which a
    reader of the journal must take something; `longest`: seconds that it is sent to them at a stretch.
    """

    journal: Journal
    rebuild: Callable[[Entry[ModelCall]], tuple[Mapping[str, Any], bool]]
    state: Callable[[], Mapping[str, Any]]
    health: Callable[[], Mapping[str, Any]]
    ready: Callable[[], Awaitable[None]] = _is_ready
    details: Callable[[], Mapping[str, Any]] = dict
    inner: InnerLifeView | None = None
    thinking: LiveCalls = field(default_factory=LiveCalls)
    patience: float = PATIENCE
    longest: float = LONGEST_STREAM


def mount_console(app: web.Application, console: ConsoleSetup) -> None:
    """Add the console to this application."""
    views = ConsoleRoutes(console)
    get = app.router.add_get
    get("/", views.page)
    get("/healthz", views.health)
    get("/console/state", views.state)
    get("/console/health", views.details)
    get("/console/journal", views.journal, allow_head=False)
    get(f"/console/calls/{{seq:{SEQ.pattern}}}", views.call)
    get("/console/threads/{key}", views.thread)
    get("/console/entries", views.entries)
    get("/console/search", views.search)
    get("/console/inner", views.inner)
    get("/static/{name}", views.part)
    app.on_shutdown.append(views.shutdown)


class ConsoleRoutes:
    """What answers each route."""

    def __init__(self, console: ConsoleSetup) -> None:
        self._console = console
        self._streams = EventStreams(console.journal, console.thinking, console.patience, console.longest)
        self._answers = JsonResponses(console.patience)
        self._pages = JournalPager(console.journal)
        self._parts = {path.name: path for path in STATIC.iterdir()}

    async def page(self, _request: web.Request) -> web.StreamResponse:
        """The one page; all else it asks for itself."""
        return web.FileResponse(STATIC / "index.html")

    async def part(self, request: web.Request) -> web.StreamResponse:
        """A script, a style or a picture of the page; no other file has a name here."""
        path = self._parts.get(request.match_info["name"])
        if path is None:
            return json_error(404, NOTHING_HERE)
        return web.FileResponse(path)

    async def health(self, _request: web.Request) -> web.Response:
        """For whoever restarts the daemon: 503 when it does not hear or cannot remember."""
        health = self._console.health()
        status = 200
        if health.get("restart", not health["ok"]):
            status = 503
        return web.json_response(health, status=status)

    async def details(self, _request: web.Request) -> web.Response:
        """What Health shows beside that, for whoever holds the console's token."""
        return web.json_response(self._console.details())

    async def state(self, _request: web.Request) -> web.Response:
        """Who is here, what of the world is rehearsed, and what was spent today."""
        await self._console.ready()
        return web.json_response(self._console.state())

    async def journal(self, request: web.Request) -> web.StreamResponse:
        """The journal as it grows; a page that reconnects goes on where it was, but for one that is behind by
        more than `most` entries: it is sent the last hundreds."""
        asked = request.query
        try:
            since = parse_whole_number(request.headers.get("Last-Event-ID") or asked.get("since"), ALWAYS)
            most = parse_whole_number(asked.get("most"), ALWAYS)
        except ValueError:
            return json_error(400, NO_SEQ)
        if self._console.journal.last_seq_of_all() - since > most:
            since = ALWAYS
        return await self._streams.serve(request, since)

    async def call(self, request: web.Request) -> web.StreamResponse:
        """One model call, and its request rebuilt from the journal."""
        try:
            entry = self._console.journal.entry(int(request.match_info["seq"]))
        except KeyError:
            return json_error(404, NO_CALL)
        if not isinstance(entry.event, ModelCall):
            return json_error(404, NO_CALL)
        seen, agrees = self._console.rebuild(entry)
        told = {"entry": entry_as_json(entry), "request": seen, "agrees": agrees}
        return await self._answers.send(request, _once(json.dumps(told).encode()))

    async def thread(self, request: web.Request) -> web.StreamResponse:
        """A page of the conversation `{team}:{channel}:{root ts}`, or `sess-…`, and its branches: the newest
        one, where none is asked for."""
        place = _place(request)
        if place is None:
            return json_error(400, NO_PLACE)
        root = request.match_info["key"]
        told: dict[str, Any] = {"thread": root, "opened": None}
        if not (self._console.inner and root == INNER):
            opened = self._opened(root)
            if opened is None:  # nobody has spoken to the soul there yet
                return web.json_response({"thread": None, "entries": []})
            root = opened.thread
            told = {"thread": root, "opened": entry_for_page(opened)}
        return await self._page(request, replace(place, root=root), told)

    def _opened(self, key: str) -> Entry[Event] | None:
        """How this conversation began."""
        journal = self._console.journal
        if key.startswith(SESSION):
            return journal.latest_of_kind(key, ConversationOpened)
        return journal.get(f"thread:{key}")

    async def entries(self, request: web.Request) -> web.StreamResponse:
        """A page of all threads; with `under`, of what was recorded under this key."""
        place = _place(request)
        if place is None:
            return json_error(400, NO_PLACE)
        path = request.query.get("under", "")
        return await self._page(request, replace(place, path=path))

    async def search(self, request: web.Request) -> web.StreamResponse:
        """A page of what holds all these `words`: of all threads, or of this `thread` and its branches.
        Where `older` is told it is to be asked on, though nothing was found so far."""
        place = _place(request, FOUND)
        words = request.query.get("words", "")
        if place is None:
            return json_error(400, NO_PLACE)
        if not search_words(words):
            return json_error(400, NO_WORDS)
        root = request.query.get("thread", "")
        return await self._page(request, replace(place, root=root, words=words))

    async def _page(
        self, request: web.Request, place: PageRequest, told: Mapping[str, Any] = NOTHING
    ) -> web.StreamResponse:
        """This page, with what is told besides."""
        page = await self._pages.page(place)
        ends = {**told, "older": page.older, "newer": page.newer}
        answer = f'{json.dumps(ends)[:-1]}, "entries": [{", ".join(page.entries)}]}}'
        return await self._answers.send(request, _once(answer.encode()))

    async def inner(self, request: web.Request) -> web.Response:
        """The inner life as it is now; with `before`, only the ticks that were written before that entry."""
        inner = self._console.inner
        if inner is None:
            return json_error(404, NOTHING_HERE)
        try:
            before = parse_whole_number(request.query.get("before"), None)
        except ValueError:
            return json_error(400, NO_BEFORE)
        if before is None:
            return web.json_response(await inner.overview_as_json())
        return web.json_response(inner.ticks_as_json(before))

    async def shutdown(self, _app: web.Application) -> None:
        """End what would otherwise never end."""
        await self._streams.close()
        if self._console.inner:
            await self._console.inner.close()


def _place(request: web.Request, limit: int = PAGE) -> PageRequest | None:
    """Which page is asked for; None where nobody can tell."""
    asked = request.query
    if len(PLACES & asked.keys()) > 1:
        return None
    try:
        limit = parse_whole_number(asked.get("limit"), limit)
        return PageRequest(
            before=parse_whole_number(asked.get("before"), ALWAYS),
            after=parse_whole_number(asked.get("after"), None),
            around=parse_whole_number(asked.get("around"), None),
            limit=min(max(limit, 1), MOST_PAGE_ENTRIES),
        )
    except ValueError:
        return None


def parse_whole_number(given: str | None, usual: T) -> int | T:
    """A whole number that is asked with, the usual one where none is. Raises ValueError."""
    if given is None:
        return usual
    if not SEQ.fullmatch(given):
        raise ValueError(given)
    return int(given)


async def _once(answer: bytes) -> AsyncGenerator[bytes]:
    yield answer
