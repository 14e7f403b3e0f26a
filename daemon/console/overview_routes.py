"""The routes of the page's overview, under the guard: `/console/threads`, `…/questions`,
`…/questions/{seq}` (to press a button), `…/people`, `…/names` and `…/costs`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aiohttp import web

from daemon.console.conversation_list import ConversationFilter
from daemon.console.guard import json_error
from daemon.console.overview import PageOverview
from daemon.console.posted import read_posted_json
from daemon.console.routes import SEQ, parse_whole_number
from daemon.console.search import search_words
from daemon.engine.reading import ALWAYS

STATES = frozenset({"", "failed", "waits"})
LIMIT = 40
"""Conversations of a page, where nobody asks for another number."""
MOST_CONVERSATIONS = 200
ID = re.compile(r"[A-Z0-9]{2,20}")
"""Of a person, a bot or a channel of Slack."""
MOST_NAMES = 50
"""Names that are told at once."""
DAYS = 30
"""Days whose costs are told, where nobody asks for another number."""
MOST_DAYS = 366

NO_PAGE = "before and limit must be whole numbers, and state failed or waits."
NO_VALUE = 'Send {"value": "…"}: one of the choices of the question.'
NO_IDS = f"of must be ids of people or channels, {MOST_NAMES} at the most, with commas between them."
NO_DAYS = f"days must be a whole number from 1 to {MOST_DAYS}."


def mount_overview(app: web.Application, overview: PageOverview) -> None:
    """Add them to this application."""
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
    """What answers each of them."""

    overview: PageOverview

    async def threads(self, request: web.Request) -> web.Response:
        """A page of conversations: with this `person`, in this `channel` or `process`, in this `state`, that
        `words` were said in."""
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
        """What people are asked and have not answered, and what they answered last."""
        return web.json_response(await self.overview.questions())

    async def press(self, request: web.Request) -> web.Response:
        """Press a button of this question, `{"value": "…"}`, as the owner who looks."""
        value = (await read_posted_json(request)).get("value")
        if not isinstance(value, str):
            return json_error(400, NO_VALUE)
        refusal = await self.overview.press(int(request.match_info["seq"]), value)
        if refusal:
            return json_error(refusal.status, refusal.why)
        return web.json_response({"ok": True})

    async def people(self, _request: web.Request) -> web.Response:
        """Whom it knows."""
        return web.json_response(await self.overview.people())

    async def person(self, request: web.Request) -> web.Response:
        """What is known of one of them; of `-`, what is noted of nobody whom it met."""
        id = request.match_info["id"]
        if id == "-":
            id = ""
        return web.json_response(await self.overview.person(id))

    async def names(self, request: web.Request) -> web.Response:
        """What those are called whose ids are asked for."""
        ids = list(dict.fromkeys(request.query.get("of", "").split(",")))
        if len(ids) > MOST_NAMES or not all(map(ID.fullmatch, ids)):
            return json_error(400, NO_IDS)
        return web.json_response(await self.overview.names(ids))

    async def costs(self, request: web.Request) -> web.Response:
        """What the last `days` have cost."""
        try:
            days = parse_whole_number(request.query.get("days"), DAYS)
        except ValueError:
            return json_error(400, NO_DAYS)
        if not 1 <= days <= MOST_DAYS:
            return json_error(400, NO_DAYS)
        return web.json_response(await self.overview.costs(days))

    async def shutdown(self, _app: web.Application) -> None:
        """End what is still read for the page."""
        await self.overview.close()
