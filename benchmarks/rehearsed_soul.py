"""Complete soul in a rehearsed Slack, with the script or any backend as model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.conversation import NAME, Line
from config import Settings
from daemon.app.daemon import RunningDaemon, start_daemon
from daemon.claude.models import is_listed
from daemon.engine.clock import SystemClock
from daemon.engine.event import Entry, Input
from daemon.engine.kinds import TurnBegan
from daemon.kinds import ModelCall
from daemon.settings.home import project_root
from daemon.settings.limits import FREE_PRICE
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import PEOPLE, SOUL

PATIENCE = 1_800.0
"""Seconds per message, for slow models."""
LOOK = 0.05
"""Seconds between checks for an answer."""
MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Model server, as in ANTHROPIC_BASE_URL and CLAUDE_MODEL; without a `url` the script answers.

    `openai`: it speaks chat completions; `form` is MODEL_FORM.
    """

    url: str = ""
    model: str = ""
    key: str = ""
    openai: bool = False
    form: str = ""

    def settings(self, script: str) -> dict[str, Any]:
        """Return settings; `script` is the script's address."""
        if not self.url:
            return {"anthropic_base_url": script, "anthropic_api_key": "any"}
        api = "openai" if self.openai else "anthropic"
        values: dict[str, Any] = {f"{api}_base_url": self.url, f"{api}_api_key": self.key or "any"}
        if self.model:
            values |= {"claude_model": self.model, "claude_model_fast": self.model}
            if not is_listed(self.model):
                values["model_prices"] = ((self.model, FREE_PRICE),)
        if self.form:
            values["model_form"] = self.form
        return values


@dataclass(kw_only=True)
class RehearsedSoul:
    """Soul with its workspace. `model` is the script."""

    url: str
    world: LocalSlack
    model: ClaudeUnderstudy
    soul: RunningDaemon
    session: ClientSession

    def calls(self) -> list[Entry[ModelCall]]:
        journal = self.soul.journal
        return journal.readable_entries(
            [head.seq for head in journal.heads_since(0, limit=MOST) if head.kind == ModelCall.kind]
        )

    def client(self, name: str) -> AsyncWebClient:
        [token] = [person.token for person in PEOPLE if person.name == name]
        return AsyncWebClient(token=token, base_url=f"{self.url}/api/", session=self.session)

    async def say(self, line: Line, thread: str) -> tuple[str, str]:
        """Post a line in a thread ("": a new one); return the soul's answer and the line's ts."""
        client = self.client(line.by)
        channel = await self.channel(client, line.channel)
        text = line.text.replace(NAME, f"<@{SOUL.user}>")
        sent = await client.chat_postMessage(channel=channel, text=text, thread_ts=thread or None)
        ts = str(sent["ts"])
        await self.settled()
        replies = await client.conversations_replies(channel=channel, ts=thread or ts, limit=1_000)
        ours = [one for one in replies["messages"] if one["user"] == SOUL.user and one["ts"] > ts]
        return "\n".join(str(one["text"]) for one in ours), ts

    async def channel(self, client: AsyncWebClient, name: str) -> str:
        if not name:
            opened = await client.conversations_open(users=SOUL.user)
            return str(opened["channel"]["id"])
        listed = await client.conversations_list(limit=100)
        [found] = [str(one["id"]) for one in listed["channels"] if one["name"] == name]
        return found

    async def settled(self) -> None:
        await self.until(self._is_settled)

    async def until(self, there: Callable[[], bool]) -> None:
        """Wait for a condition. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while not there():  # noqa: ASYNC110
                await asyncio.sleep(LOOK)

    def _is_settled(self) -> bool:
        if self.soul.worker.is_busy or self.soul.slack.speaker.busy:
            return False
        if self.world.workspace.courier.counts(SOUL.id)["unacked"]:
            return False
        return not self.soul.journal.pending_entries(Input, TurnBegan)


@asynccontextmanager
async def rehearsed_soul(folder: Path, backend: Backend, **settings: Any) -> AsyncIterator[RehearsedSoul]:
    """Run a soul in its own workspace, with additional settings."""
    clock = SystemClock()
    app = web.Application(client_max_size=2**24)
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(LocalSlack(folder / "rehearsal.db", clock))
        session = await stack.enter_async_context(ClientSession())
        world.mount(app)
        model = ClaudeUnderstudy(clock, pace=0)
        model.mount(app)
        url = await _served(stack, app)
        found = Settings(
            slack_bot_token=SOUL.bot_token,
            slack_app_token=SOUL.app_token,
            slack_api_url=f"{url}/api/",
            port=0,
            soul_home=folder / "home",
            **backend.settings(url),
            **settings,
        )
        soul = await stack.enter_async_context(start_daemon(found, clock, project_root(), grace=0.2))
        yield RehearsedSoul(url=url, world=world, model=model, soul=soul, session=session)


async def _served(stack: AsyncExitStack, app: web.Application) -> str:
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"
