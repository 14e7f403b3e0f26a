"""World process: Slack, model, people and kills.

An effect at an armed kill point is carried out, or not, before its worker dies.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

from aiohttp import web

from daemon.claude.models import CHOSEN, SPOKEN, ModelTable
from daemon.claude.requests import asks_for_schema
from daemon.engine.event import digest
from rehearsal.claude.cue import NO_CREDIT
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.claude.wire_format import error
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from tests.crashes.json_lines import append_line
from tests.wire.kill_points import ArmedKillPoint, signal_worker
from tests.wire.people import People
from tests.wire.reply_hold import ReplyHold
from tests.wire.scenario import WireInput, WireScenario
from tests.wire.shared_page import FastClock, SharedPage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
EFFECTS = ("chat.", "assistant.", "agents.", "apps.connections.open", "/v1/messages", "/deed")
MODEL, DEED = "/v1/messages", "/deed"
ASKED, DONE = "asked.jsonl", "done.jsonl"
"""Files with model calls and deeds."""
ORPHANED = 10.0
"""Scenario seconds between checks that the harness lives."""
KNOWN, STOPPED = 20.0, 30.0
"""Longest scenario seconds of holding an answer for known lines or a stop."""
LOOK = 0.1


class WireWorld:
    """World around the workers of a case."""

    def __init__(self, page: SharedPage, scenario: WireScenario, armed: ArmedKillPoint) -> None:
        self.page = page
        self.scenario = scenario
        self._armed = armed
        self.clock = FastClock(page)
        self.world = LocalSlack(armed.home / "slack.db", self.clock)
        self.model = ClaudeUnderstudy(self.clock, scenario.pace, script=self.think)
        self.people = People(self.world.workspace, scenario.inputs)
        self._met: Counter[str] = Counter()

    async def run(self) -> None:
        """Run until the harness is gone."""
        harness = os.getppid()
        app = web.Application(client_max_size=2**24, middlewares=[self.carry])
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.world)
            self.world.mount(app)
            self.model.mount(app)
            app.router.add_post(DEED, self.do)
            app.router.add_get("/scenario", self.known)
            app.router.add_post("/scenario/rest", self.rest)
            app.router.add_post("/scenario/{phase}", self.further)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.page.port = runner.addresses[0][1]
            await self.play()
            while os.getppid() == harness:
                await self.clock.sleep(ORPHANED)

    async def play(self) -> None:
        """Act without requests of daemons."""
        self.people.tell(lambda line: line.phase == 0 and not line.during)

    @web.middleware
    async def carry(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle a request; a worker killed before an effect never sent it."""
        name = request.match_info.get("method", request.path)
        if not name.startswith(EFFECTS):
            return await handler(request)
        self._met[name] += 1
        effect = f"{name}#{self._met[name]}"
        if self._armed.reached(f"before {effect}"):
            signal_worker(self._armed, self.page.worker)
            raise web.HTTPServiceUnavailable
        if name == MODEL:
            await self.clock.sleep(self.scenario.thinks)
            self._rest()
        answer = self._refusal(name) or await handler(request)
        if name != MODEL and self._armed.reached(f"after {effect}"):
            signal_worker(self._armed, self.page.worker)
        return answer

    def _refusal(self, name: str) -> web.Response | None:
        if name == MODEL and self.page.phase in self.scenario.away and self.scenario.penniless:
            return web.json_response(error("invalid_request_error", NO_CREDIT, "req_away"), status=400)
        if name == MODEL and self.page.phase in self.scenario.away:
            return web.json_response(error("overloaded_error", "Away.", "req_away"), status=529)
        if name in self.scenario.refused:
            return web.json_response({"ok": False, "error": self.scenario.refused[name]})
        return None

    async def do(self, _: web.Request) -> web.Response:
        append_line(self._armed.home / DONE, self.page.phase)
        return web.Response(text="done")

    def _rest(self) -> None:
        lines = self.people.left(self._now)
        if not lines:
            return

        async def said() -> None:
            self.people.tell(self._now)
            most = STOPPED if any(line.stops for line in lines) else KNOWN
            await self._known(self.clock.now() + most, whatever=most == STOPPED)

        self.model.say(None, until=ReplyHold(said), first=max(line.into for line in lines))

    def _now(self, line: WireInput) -> bool:
        return line.phase == self.page.phase and 0 < line.during <= self._met[MODEL]

    async def _known(self, until: float, *, whatever: bool) -> None:
        courier = self.world.workspace.courier
        while (whatever or courier.counts(SOUL.id)["unacked"]) and self.clock.now() < until:
            await self.clock.sleep(LOOK)

    def think(self, body: Body) -> str:
        """Bill and answer a call."""
        count = self._met[MODEL]
        saw = hash_of(body)
        again = recorded(self._armed.home, saw)
        append_line(self._armed.home / ASKED, {"saw": saw, "recorded": again, "blocks": blocks(body)})
        if self._armed.reached(f"after {MODEL}#{count}"):
            signal_worker(self._armed, self.page.worker)
        return self.scenario.script(body)

    async def known(self, _: web.Request) -> web.Response:
        """Report required keys and pending lines."""
        self.people.insist()
        coming = self.world.workspace.courier.counts(SOUL.id)["unacked"]
        return web.json_response({"keys": self.people.keys, "coming": coming, "left": len(self.left())})

    async def rest(self, _: web.Request) -> web.Response:
        """Post remaining lines."""
        self.hurry()
        return web.Response()

    async def further(self, request: web.Request) -> web.Response:
        """Start the next phase."""
        if (at := int(request.match_info["phase"])) == self.page.phase and at + 1 < self.scenario.phases:
            self.page.phase += 1
            self.page.moved += self.scenario.gap
            self.people.tell(lambda line: line.phase == self.page.phase and not line.during)
            if any(line.missed and line.phase == self.page.phase for line in self.scenario.inputs):
                await self.world.hang_up()
        return web.json_response({"over": at == self.page.phase})

    def left(self) -> list[WireInput]:
        return self.people.left(lambda line: line.phase <= self.page.phase)

    def hurry(self) -> None:
        self.people.tell(lambda line: line.phase <= self.page.phase)


def hash_of(body: Body) -> str:
    """Return the journal's hash of a request, without transport fields."""
    asked = {name: value for name, value in body.items() if name not in ("stream", "stop_sequences")}
    spec = ModelTable().model(body["model"])
    room = CHOSEN if asks_for_schema(body) else SPOKEN
    return digest({**asked, "max_tokens": spec.answer_tokens(room + spec.thoughts)})


def blocks(body: Body) -> list[str]:
    """Return hashes of the prompt's blocks."""
    said = [("system", text) for text in texts(body.get("system"))]
    said += [(message["role"], text) for message in body["messages"] for text in texts(message["content"])]
    return [digest(block) for block in said]


def recorded(home: Path, saw: str) -> bool:
    sql = """select 1 from entry where kind = 'model-call' and json_extract(body, '$.saw') = ?
             and json_extract(body, '$.outcome') not in ('failed', 'cancelled')"""
    with closing(sqlite3.connect(f"file:{home / 'journal.db'}?mode=ro", uri=True)) as journal:
        return journal.execute(sql, (saw,)).fetchone() is not None
