"""World around several daemons: Slack and a model that know which daemon asks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.console.server import bind, url_of_socket
from daemon.engine.clock import SystemClock
from rehearsal.claude.prompt import Body
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from tests.wire.world import hash_of

PEOPLE = ("alice", "bob", "carol")
MODEL = "/v1/messages"
EFFECTS = ("chat.", "assistant.", "agents.")
"""Beginnings of the Slack methods that people see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Effect of a daemon: `about` is the text by which its thread is known."""

    daemon: str
    name: str
    about: str
    at: float


@dataclass(slots=True, kw_only=True)
class ClusterWorld:
    """Slack, model and people; each daemon reaches them by an address of its own."""

    slack: LocalSlack
    model: ClaudeUnderstudy
    urls: dict[str, str]
    people: dict[str, AsyncWebClient]
    effects: list[Effect] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Requests to the model: hash, and True if its answer was recorded before."""
    is_recorded: Callable[[str], bool] = lambda saw: False

    async def say(self, who: str, channel: str, text: str, root: str | None = None) -> str:
        """Post a message of a person; return its ts."""
        posted = await self.people[who].chat_postMessage(channel=channel, text=text, thread_ts=root)
        return str(posted["ts"])

    def messages(self) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """Yield (channel, root, ts, body) of all messages, in order."""
        sql = "select channel, coalesce(thread, stamp), stamp, body from message order by stamp"
        for channel, root, stamp, body in self.slack.workspace.db.execute(sql).fetchall():
            yield channel, _ts(root), _ts(stamp), json.loads(body)

    @property
    def statuses(self) -> list[str]:
        """Threads that show a status or a Stop button."""
        shown = self.slack.workspace.statuses
        lines = (*shown.sessions(), *(line.json() for line in shown.all()))
        return [one["thread_ts"] for one in lines]

    @property
    def unacked(self) -> int:
        return self.slack.workspace.courier.counts(SOUL.id)["unacked"]


def _ts(stamp: int) -> str:
    return f"{stamp // 10**6}.{stamp % 10**6:06}"


@asynccontextmanager
async def cluster_world(
    folder: Path, names: tuple[str, ...], pace: float = 0.02
) -> AsyncIterator[ClusterWorld]:
    """Yield a world with an address for each daemon."""
    clock = SystemClock()
    listeners = {name: bind("127.0.0.1", 0) for name in (*names, "people")}
    ports = {one.getsockname()[1]: name for name, one in listeners.items()}
    made: list[ClusterWorld] = []

    @web.middleware
    async def note(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        name = request.match_info.get("method", request.path)
        if made and name.startswith((*EFFECTS, MODEL)):
            about = ""
            if name != MODEL:  # the model reads the stream itself
                about = (await request.read()).decode(errors="replace")
            port = request.transport.get_extra_info("sockname")[1] if request.transport else 0
            made[0].effects.append(Effect(daemon=ports.get(port, ""), name=name, about=about, at=time()))
        return await handler(request)

    def think(body: Body) -> str:
        saw = hash_of(body)
        made[0].asked.append({"saw": saw, "recorded": made[0].is_recorded(saw)})
        return usual(body)

    app = web.Application(client_max_size=2**24, middlewares=[note])
    model = ClaudeUnderstudy(clock, pace)
    usual = model.script
    model.script = think
    model.mount(app)
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(LocalSlack(folder / "slack.db", clock))
        slack.mount(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        for listener in listeners.values():
            await web.SockSite(runner, listener).start()
        session = await stack.enter_async_context(ClientSession())
        urls = {name: url_of_socket(one) for name, one in listeners.items()}
        people = {
            who: AsyncWebClient(token=f"xoxp-{who}", base_url=f"{urls['people']}/api/", session=session)
            for who in PEOPLE
        }
        made.append(ClusterWorld(slack=slack, model=model, urls=urls, people=people))
        yield made[0]
