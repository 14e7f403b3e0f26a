"""A console on loopback over a real journal, and a browser's HTTP client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from aiohttp import ClientResponse, ClientSession, CookieJar, web

from daemon.console.access import HEADER, PageCredentials, install_guard, mount_sessions
from daemon.console.folds import AT_ONCE
from daemon.console.journal_view import LONGEST_STREAM, PATIENCE
from daemon.console.live_calls import LiveCalls
from daemon.console.overview import BudgetInfo, PageAnswers, PageOverview, SlackLinks
from daemon.console.routes import ConsoleSetup, mount_console, mount_overview
from daemon.engine.clock import Clock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, IncomingMessage, ModelCall, QuestionAsked
from daemon.knowledge.visibility import KnownChannels
from daemon.ports import Button
from daemon.slack.places import make_permalink
from rehearsal.people import ALICE
from tests.clock import FakeClock
from tests.signed_in import TOKEN as SHOWN


@dataclass(kw_only=True)
class Site:
    port: int
    url: str
    http: ClientSession
    journal: Journal
    runner: web.AppRunner
    thinking: LiveCalls
    credentials: PageCredentials
    health: dict[str, Any] = field(default_factory=lambda: {"ok": True})

    def streams(self) -> list[asyncio.Transport]:
        """Return the server's transports of open journal streams."""
        assert self.runner.server
        handlers = [one for one in self.runner.server.connections if one._current_request]
        return [one.transport for one in handlers if one.transport and not one.transport.is_closing()]

    async def remember(self, text: str, thread: str = "sess-00000001") -> Entry[IncomingMessage]:
        entry, _ = await self.journal.append(thread, message(text), key=f"msg:{text}", author="U1")
        return entry

    async def remember_call(self, text: str) -> Entry[ModelCall]:
        entry, _ = await self.journal.append("sess-00000001", called(text=text), key=f"call:{text}")
        return entry


def message(text: str = "hello") -> IncomingMessage:
    return IncomingMessage(address="dm", user="U1", name="Alice", text=text, ts="17.000100")


def called(name: str = "pipeline", **answered: Any) -> ModelCall:
    known: dict[str, Any] = {"outcome": "ok", "model": "m"}
    return ModelCall(
        name=name,
        role="speak",
        saw="0",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        people=(),
        **known | answered,
    )


@asynccontextmanager
async def console(
    path: Path,
    *,
    host: str = "127.0.0.1",
    token: str = "",
    closed: bool | None = None,
    page: str = "",
    clock: Clock | None = None,
    patience: float = PATIENCE,
    longest: float = LONGEST_STREAM,
    at_once: int = AT_ONCE,
    lag: float = 0.0,
) -> AsyncIterator[Site]:
    """Run a console as app.py mounts it, with two guarded routes of the rehearsal.

    Without `token`, `http` sends the right one; with one, the world is `closed` unless set otherwise.
    """
    clock = clock or FakeClock()
    closed = bool(token) if closed is None else closed
    async with Journal(path / "journal.db", clock, SOUL_KINDS) as journal:
        health, app = dict[str, Any](ok=True), web.Application()
        credentials = PageCredentials.open_home(path, token or SHOWN, clock.now)
        install_guard(
            app, host=host, clock=clock, credentials=credentials, world_is_open=not closed, url=page
        )
        mount_sessions(app, credentials)
        told = {"name": "Claudius"}
        shown = ConsoleSetup(
            journal=journal,
            rebuild=rebuild,
            state=lambda: told,
            health=lambda: health,
            patience=patience,
            longest=longest,
            lag=lag,
        )
        mount_console(app, shown)
        mount_overview(app, _overview(journal, clock, at_once))
        app.router.add_get("/link/", link)
        app.router.add_get("/rehearsal/state", _world)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port, headers = runner.addresses[0][1], {} if token else {HEADER: SHOWN}
        async with ClientSession(cookie_jar=CookieJar(unsafe=True), headers=headers) as http:
            try:
                yield Site(
                    port=port,
                    url=f"http://127.0.0.1:{port}",
                    http=http,
                    journal=journal,
                    runner=runner,
                    thinking=cast(LiveCalls, shown.thinking),
                    credentials=credentials,
                    health=health,
                )
            finally:
                await runner.cleanup()


def _overview(journal: Journal, clock: Clock, at_once: int) -> PageOverview:
    link_to = partial(make_permalink, "https://team.slack.com/")
    directory = SlackLinks(name_of=_called, people_in=_people_in, link=link_to)
    purse, answering = BudgetInfo(daily=5.0, now=clock.now), PageAnswers(journal, ("U1",), _taken)
    return PageOverview(journal, KnownChannels(journal), purse, answering, directory, at_once)


async def _world(_: web.Request) -> web.Response:
    return web.json_response({"people": []})


async def _taken(_asked: Entry[QuestionAsked], _user: str, _choice: Button) -> bool:
    """Accept a press, as Slack does."""
    return True


async def _called(id: str) -> str:
    """Return the name of a person who has said nothing."""
    return {"U2": "Bob"}.get(id, "")


async def _people_in(channel: str) -> Collection[str]:
    return ("U2", ALICE.id) if channel == "G0TOLD00001" else ()


def rebuild(entry: Entry[ModelCall]) -> tuple[Mapping[str, Any], bool]:
    """Rebuild a request; the hash agrees unless the entry says otherwise."""
    text = entry.event.text
    return {"messages": [{"role": "user", "content": text}]}, text != "forged"


async def link(request: web.Request) -> web.WebSocketResponse:
    """Open a socket with a ticket, as the rehearsal does."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_str("hello")
    await socket.close()
    return socket


async def frames(response: ClientResponse, count: int) -> list[tuple[str, dict[str, Any]]]:
    """Return ids and data of the next events of a stream."""
    found: list[tuple[str, dict[str, Any]]] = []
    last_id = ""
    while len(found) < count:
        name, _, value = (await response.content.readline()).decode().rstrip("\n").partition(": ")
        if name == "id":
            last_id = value
        if name == "data":
            found.append((last_id, json.loads(value)))
    return found
