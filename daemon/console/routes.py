"""Routes of the console: page, health, journal and overview, and model health as JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from aiohttp import web

from daemon.claude.availability import RECENT_CALLS, CallOutcomes, ModelAvailability, ModelReport
from daemon.claude.backend import ModelBackend
from daemon.claude.models import is_listed
from daemon.console.access import NOTHING_HERE, json_error, read_posted_json
from daemon.console.conversation_list import ConversationFilter
from daemon.console.entry_text import JsonObject, entry_for_page, search_words
from daemon.console.journal_view import (
    LONGEST_STREAM,
    MOST_PAGE_ENTRIES,
    PAGE,
    PATIENCE,
    EventStreams,
    JournalPager,
    JsonResponses,
    PageRequest,
)
from daemon.console.live_calls import LiveCalls, LiveThoughts
from daemon.console.overview import PageOverview
from daemon.engine.event import Entry, Event, entry_as_json
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import INNER, ConversationOpened, ModelCall
from daemon.telemetry.metrics import Metrics, Samples

T = TypeVar("T")
STATIC = Path(__file__).parent / "static"
SEQ = re.compile(r"[0-9]{1,15}")

SESSION = "sess-"
"""Prefix of thread ids. The page opens a thread at `/#sess-xxxxxxxx`, an entry at `/#72`."""

PLACES = frozenset({"before", "after", "around"})
NOTHING: Mapping[str, Any] = {}

FOUND = 50
"""Default number of search results."""

NO_SEQ = "since must be a seq of the journal, and most a number of entries: whole numbers."
NO_BEFORE = "before must be a seq of the journal: a whole number."

NO_PLACE = (
    "before, after, around and limit must be whole numbers, and only one of the first three may be given."
)

NO_WORDS = "words must name what is looked for."
NO_CALL = "There is no model call with this seq in the journal."


LIVENESS = "/livez"
"""Path that answers while the event loop runs."""


async def is_alive(_request: web.Request) -> web.Response:
    return web.json_response({"ok": True})


async def _is_ready() -> None: ...


class InnerLifePage(Protocol):
    """Inner life as JSON."""

    async def overview_as_json(self) -> Mapping[str, Any]:
        """Return its state and last ticks."""

    def ticks_as_json(self, before: int) -> Mapping[str, Any]:
        """Return ticks before an entry, newest first."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSetup:
    """Data that the console shows.

    `rebuild` returns a call's request, and True if its hash matches. `ready` prepares `state`: {"name",
    "rehearsed": {"workspace": bool, "model": bool}, "workspace_at", "model_at" (rehearsed hosts, or ""),
    "budget", "spent", "worth" (US dollars, this UTC day), "wrong": [faults for an owner], "models": {role:
    model}, "inner": bool, "questions": number open}. `health` is {"ok": bool, "restart": bool (default: not
    ok), …}, with more in `details`. Clients have `patience` seconds to accept data; streams end after
    `longest` seconds. The journal may be `lag` seconds behind the one that a page has seen.
    """

    journal: Journal
    rebuild: Callable[[Entry[ModelCall]], tuple[Mapping[str, Any], bool]]
    state: Callable[[], Mapping[str, Any]]
    health: Callable[[], Mapping[str, Any]]
    ready: Callable[[], Awaitable[None]] = _is_ready
    details: Callable[[], Mapping[str, Any]] = dict
    is_log_away: Callable[[], bool] = bool
    inner: InnerLifePage | None = None
    thinking: LiveThoughts = field(default_factory=LiveCalls)
    patience: float = PATIENCE
    longest: float = LONGEST_STREAM
    lag: float = 0.0


def mount_console(app: web.Application, console: ConsoleSetup) -> None:
    views = ConsoleRoutes(console)
    get = app.router.add_get
    get("/", views.page)
    get("/healthz", views.health)
    get(LIVENESS, is_alive)
    get("/console/state", views.state)
    get("/console/health", views.details)
    get("/console/journal", views.journal, allow_head=False)
    get(f"/console/calls/{{seq:{SEQ.pattern}}}", views.call)
    get("/console/threads/{key}", views.thread)
    get("/console/entries", views.entries)
    get("/console/search", views.search)
    get("/console/inner", views.inner)
    get("/static/{name:.+}", views.static_file)
    app.on_shutdown.append(views.shutdown)


class ConsoleRoutes:
    def __init__(self, console: ConsoleSetup) -> None:
        self._console = console
        self._streams = EventStreams(
            console.journal, console.thinking, console.patience, console.longest, console.lag
        )
        self._answers = JsonResponses(console.patience)
        self._pages = JournalPager(console.journal)
        self._static_files = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*.*")}

    async def page(self, _request: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "index.html")

    async def static_file(self, request: web.Request) -> web.StreamResponse:
        path = self._static_files.get(request.match_info["name"])
        if path is None:
            return json_error(404, NOTHING_HERE)
        return web.FileResponse(path)

    async def health(self, _request: web.Request) -> web.Response:
        """Return the health, with status 503 if a restart may help, or while the log is away."""
        health = self._console.health()
        status = 200
        if health.get("restart", not health["ok"]) or self._console.is_log_away():
            status = 503
        return web.json_response(health, status=status)

    async def details(self, _request: web.Request) -> web.Response:
        return web.json_response(self._console.details())

    async def state(self, _request: web.Request) -> web.Response:
        await self._console.ready()
        return web.json_response(self._console.state())

    async def journal(self, request: web.Request) -> web.StreamResponse:
        """Stream the entries after `since`; if they are more than `most`, only the newest."""
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
        """Return a model call and its rebuilt request."""
        try:
            entry = self._console.journal.entry(int(request.match_info["seq"]))
        except KeyError:
            return json_error(404, NO_CALL)
        if not isinstance(entry.event, ModelCall):
            return json_error(404, NO_CALL)
        seen, agrees = self._console.rebuild(entry)
        answer = {"entry": entry_as_json(entry), "request": seen, "agrees": agrees}
        return await self._answers.send(request, _once(json.dumps(answer).encode()))

    async def thread(self, request: web.Request) -> web.StreamResponse:
        """Return a page of a thread and its branches, by its id or `{team}:{channel}:{root ts}`."""
        place = _place(request)
        if place is None:
            return json_error(400, NO_PLACE)
        root = request.match_info["key"]
        thread: dict[str, Any] = {"thread": root, "opened": None}
        if not (self._console.inner and root == INNER):
            opened = self._opened(root)
            if opened is None:  # nobody has written to the soul there yet
                return web.json_response({"thread": None, "entries": []})
            root = opened.thread
            thread = {"thread": root, "opened": entry_for_page(opened)}
        return await self._page(request, replace(place, root=root), thread)

    def _opened(self, key: str) -> Entry[Event] | None:
        journal = self._console.journal
        if key.startswith(SESSION):
            return journal.latest_of_kind(key, ConversationOpened)
        return journal.get(f"thread:{key}")

    async def entries(self, request: web.Request) -> web.StreamResponse:
        """Return a page of all entries, or of those with keys below `under`."""
        place = _place(request)
        if place is None:
            return json_error(400, NO_PLACE)
        path = request.query.get("under", "")
        return await self._page(request, replace(place, path=path))

    async def search(self, request: web.Request) -> web.StreamResponse:
        """Return a page of entries with all `words`, in a `thread` or anywhere.

        If there is an `older` value, the search can continue, even without results.
        """
        place = _place(request, FOUND)
        words = request.query.get("words", "")
        if place is None:
            return json_error(400, NO_PLACE)
        if not search_words(words):
            return json_error(400, NO_WORDS)
        root = request.query.get("thread", "")
        return await self._page(request, replace(place, root=root, words=words))

    async def _page(
        self, request: web.Request, place: PageRequest, thread: Mapping[str, Any] = NOTHING
    ) -> web.StreamResponse:
        page = await self._pages.page(place)
        ends = {**thread, "older": page.older, "newer": page.newer}
        answer = f'{json.dumps(ends)[:-1]}, "entries": [{", ".join(page.entries)}]}}'
        return await self._answers.send(request, _once(answer.encode()))

    async def inner(self, request: web.Request) -> web.Response:
        """Return the inner life; with `before`, only its earlier ticks."""
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
        await self._streams.close()
        if self._console.inner:
            await self._console.inner.close()


def _place(request: web.Request, limit: int = PAGE) -> PageRequest | None:
    """Return the requested page; None if malformed."""
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
    """Return the integer given, or `usual` if None. Raises ValueError."""
    if given is None:
        return usual
    if not SEQ.fullmatch(given):
        raise ValueError(given)
    return int(given)


async def _once(answer: bytes) -> AsyncGenerator[bytes]:
    yield answer


MEDIAN, HIGH_QUANTILE = 0.5, 0.95

ANY = "any"
"""Label for a failure that names no model."""

AWAY_SINCE = "Since when no call of the model has succeeded, by what failed last."
SLOW_SINCE = "Since when the first words of the model have come late."
NEXT_TRY = "When the model that is away is tried next."
WAITING = "People whose messages wait for the model."
LATENCY = f"What the last {RECENT_CALLS} answered calls took, by quantile."
ERRORS = "Tries of model calls that failed, by what failed."


class ModelHealth:
    def __init__(
        self, availability: ModelAvailability, outcomes: CallOutcomes, now: Callable[[], float]
    ) -> None:
        self._availability = availability
        self._outcomes = outcomes
        self._now = now

    @property
    def every_report(self) -> Sequence[ModelReport]:
        """All reports; none if the journal is unreadable."""
        try:
            return self._availability.reports
        except JournalError:
            return ()

    @property
    def reports(self) -> Sequence[ModelReport]:
        """Reports without those that only the page's Health shows."""
        return [one for one in self.every_report if not one.is_usual]

    def report_as_json(self, report: ModelReport) -> JsonObject:
        shown = asdict(report)
        del shown["seen"], shown["is_usual"]
        return {**shown, "slow": report.slow, "sentence": report.sentence(self._now())}

    def details_as_json(self) -> JsonObject:
        return {
            "reports": [self.report_as_json(one) for one in self.every_report],
            "forms": self._availability.forms.owner_sentences,
            "latency": {
                "calls": len(self._outcomes.durations),
                "median": self._quantile(MEDIAN),
                "most": self._quantile(HIGH_QUANTILE),
            },
            "errors": dict(self._outcomes.errors.most_common()),
        }

    def add_metrics(self, metrics: Metrics) -> None:
        metrics.samples(
            "soul_model_away_since_timestamp_seconds", AWAY_SINCE, ("model", "failure"), self._away
        )
        metrics.samples("soul_model_slow_since_timestamp_seconds", SLOW_SINCE, ("model",), self._late)
        metrics.samples("soul_model_next_try_timestamp_seconds", NEXT_TRY, ("model",), self._next)
        metrics.samples("soul_model_people_waiting", WAITING, ("model",), self._waiting)
        metrics.samples("soul_model_latency_seconds", LATENCY, ("quantile",), self._latency)
        metrics.counter("soul_model_errors", ERRORS, "failure", self._outcomes.errors)

    def _quantile(self, share: float) -> float | None:
        """Return the latency in seconds that a `share` of calls stayed within; None without calls."""
        durations = sorted(self._outcomes.durations)
        if not durations:
            return None
        return durations[max(math.ceil(share * len(durations)) - 1, 0)]

    def _away(self) -> Samples:
        for report, model in self._by_model():
            if not report.slow:
                yield (model, report.failure), report.since

    def _late(self) -> Samples:
        for report, model in self._by_model():
            if report.slow:
                yield (model,), report.since

    def _next(self) -> Samples:
        for report, model in self._by_model():
            if report.next_try is not None:
                yield (model,), report.next_try

    def _waiting(self) -> Samples:
        for report, model in self._by_model():
            yield (model,), report.waiting

    def _latency(self) -> Samples:
        for share in (MEDIAN, HIGH_QUANTILE):
            seconds = self._quantile(share)
            if seconds is not None:
                yield (f"{share:g}",), seconds

    def _by_model(self) -> Iterator[tuple[ModelReport, str]]:
        for report in self.reports:
            for model in report.models or [ANY]:
                yield report, model


def backend_as_json(backend: ModelBackend) -> Mapping[str, Any]:
    """Return the model server as JSON; empty if none is configured."""
    server = backend.server
    if not backend.has_server:
        return {}
    if server is None:
        return {"address": backend.address, "is_known": False, "warnings": [], "models": []}
    return {
        "address": server.address,
        "is_known": True,
        "version": server.version,
        "listed": None if server.models is None else len(server.models.names),
        "why": server.why,
        "warnings": [*backend.check.doubtful, *backend.odd_windows],
        "models": [_model_as_json(backend, name) for name in backend.models],
    }


def _model_as_json(backend: ModelBackend, name: str) -> Mapping[str, Any]:
    """Return a model as JSON. `asks` lists abilities still unknown."""
    known = backend.capabilities(name)
    return {
        "model": name,
        "is_listed": is_listed(name),
        "window": backend.window(name),
        "schema": known.schema,
        "keeps_sections": known.keeps_sections,
        "images": known.images,
        "prompt_speed": known.prompt_speed,
        "answer_speed": known.answer_speed,
        "slots": known.slots,
        "asks": list(backend.open_questions(name)),
        "looked_up_at": backend.looked_up_at(name),
    }


STATES = frozenset({"", "failed", "waits"})

LIMIT = 40
"""Default number of conversations on a page."""

MOST_CONVERSATIONS = 200
ID = re.compile(r"[A-Z0-9]{2,20}")

MOST_NAMES = 50
"""Most ids in one request."""

DAYS = 30
"""Default number of days of costs."""

MOST_DAYS = 366
NO_PAGE = "before and limit must be whole numbers, and state failed or waits."
NO_VALUE = 'Send {"value": "…"}: one of the choices of the question.'
PRESS_PATIENCE = 10.0
"""Seconds in which a press has to be recorded. One that is later counts all the same."""

LATE_PRESS = (
    "The journal cannot be written now: nothing is lost, but look again later whether the press counts."
)
NO_IDS = f"of must be ids of people or channels, {MOST_NAMES} at the most, with commas between them."
NO_DAYS = f"days must be a whole number from 1 to {MOST_DAYS}."


def mount_overview(app: web.Application, overview: PageOverview) -> None:
    routes = OverviewRoutes(overview=overview)
    get = app.router.add_get
    get("/console/threads", routes.threads)
    get("/console/questions", routes.questions)
    get("/console/people", routes.people)
    get("/console/people/{id}", routes.person)
    get("/console/names", routes.names)
    get("/console/costs", routes.costs)
    app.router.add_post(f"/console/questions/{{seq:{SEQ.pattern}}}", routes.press)
    app.on_shutdown.append(routes.shutdown)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewRoutes:
    overview: PageOverview

    async def threads(self, request: web.Request) -> web.Response:
        """Return conversations, filtered by `person`, `channel`, `process`, `state` and `words`."""
        asked = request.query
        state = asked.get("state", "")
        try:
            before = parse_whole_number(asked.get("before") or None, ALWAYS)
            limit = parse_whole_number(asked.get("limit"), LIMIT)
        except ValueError:
            return json_error(400, NO_PAGE)
        if state not in STATES:
            return json_error(400, NO_PAGE)
        wanted = ConversationFilter(
            person=asked.get("person", ""),
            channel=asked.get("channel", ""),
            process=asked.get("process", ""),
            state=state,
            words=search_words(asked.get("words", "")),
            before=before,
            limit=min(max(limit, 1), MOST_CONVERSATIONS),
        )
        return web.json_response(await self.overview.threads(wanted))

    async def questions(self, _request: web.Request) -> web.Response:
        return web.json_response(await self.overview.questions())

    async def press(self, request: web.Request) -> web.Response:
        """Press a button, `{"value": "…"}`, as the page's viewer."""
        value = (await read_posted_json(request)).get("value")
        if not isinstance(value, str):
            return json_error(400, NO_VALUE)
        try:
            async with asyncio.timeout(PRESS_PATIENCE):
                refusal = await self.overview.press(int(request.match_info["seq"]), value)
        except TimeoutError:
            return json_error(503, LATE_PRESS)
        if refusal:
            return json_error(refusal.status, refusal.why)
        return web.json_response({"ok": True})

    async def people(self, _request: web.Request) -> web.Response:
        return web.json_response(await self.overview.people())

    async def person(self, request: web.Request) -> web.Response:
        """Return a person by id; `-` returns notes about unknown people."""
        id = request.match_info["id"]
        if id == "-":
            id = ""
        return web.json_response(await self.overview.person(id))

    async def names(self, request: web.Request) -> web.Response:
        ids = list(dict.fromkeys(request.query.get("of", "").split(",")))
        if len(ids) > MOST_NAMES or not all(map(ID.fullmatch, ids)):
            return json_error(400, NO_IDS)
        return web.json_response(await self.overview.names(ids))

    async def costs(self, request: web.Request) -> web.Response:
        try:
            days = parse_whole_number(request.query.get("days"), DAYS)
        except ValueError:
            return json_error(400, NO_DAYS)
        if not 1 <= days <= MOST_DAYS:
            return json_error(400, NO_DAYS)
        return web.json_response(await self.overview.costs(days))

    async def shutdown(self, _app: web.Application) -> None:
        await self.overview.close()
