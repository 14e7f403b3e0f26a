"""Daemon as a separate process; its world lives in the test's process."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.clock import SystemClock
from daemon.settings.home import project_root
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.messages import FOREVER, StoredMessage, find, replies
from rehearsal.people import SOUL
from tests.attention import PATIENCE as PATIENCE
from tests.stories.born import Born, born
from tests.stories.stage import ALICE

Daemon = Process | Born


async def start(home: Path, *command: str, **env: str) -> Daemon:
    """Start `python -m daemon …` from the nursery, with these variables only."""
    return await born(command, variables(home, env))


async def start_anew(home: Path, *command: str, within: Sequence[str] = (), **env: str) -> Daemon:
    """Start a new program, which takes seconds; `within` is a wrapping command."""
    return await asyncio.create_subprocess_exec(
        *(*within, sys.executable, "-m", "daemon", *command),
        cwd=project_root(),
        env=variables(home, env),
        stdout=PIPE,
        stderr=PIPE,
    )


def variables(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **inherited,
        "PORT": "0",
        "SOUL_HOME": str(home),
        "SSL_CERT_DIR": os.devnull,  # all is on the loopback
        "PYTHONWARNINGS": "error",
        **env,
    }


async def ready(process: Daemon) -> list[str]:
    """Return the output until the ready line."""
    assert process.stdout
    lines: list[str] = []
    async with asyncio.timeout(PATIENCE):
        async for line in process.stdout:
            lines.append(line.decode().rstrip())
            if lines[-1].startswith("ready"):
                return lines
    assert process.stderr
    raise AssertionError(f"never ready: {lines} {(await process.stderr.read()).decode()}")


def address_in(lines: Sequence[str]) -> str:
    """Return the URL of the ready line."""
    return lines[-1].split()[-1].partition("/?token=")[0]


async def ended(process: Daemon) -> tuple[int, str]:
    assert process.stderr
    async with asyncio.timeout(PATIENCE):
        said = (await process.stderr.read()).decode()
        return await process.wait(), said


@asynccontextmanager
async def running(home: Path, *command: str, **env: str) -> AsyncIterator[tuple[Daemon, str]]:
    """Yield a ready daemon and its URL; kill it at the end."""
    process = await start(home, *command, **env)
    try:
        yield process, address_in(await ready(process))
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def lived(home: Path) -> None:
    async with running(home) as (process, _):
        process.terminate()
        assert (await ended(process))[0] == 0


def into(world: str) -> dict[str, str]:
    """Return variables for this world."""
    return {
        "SLACK_API_URL": f"{world}/api/",
        "SLACK_BOT_TOKEN": SOUL.bot_token,
        "SLACK_APP_TOKEN": SOUL.app_token,
        "ANTHROPIC_BASE_URL": world,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """World in real time, with Alice."""

    url: str
    world: LocalSlack
    model: ClaudeUnderstudy
    alice: AsyncWebClient

    async def say(self, text: str, root: str | None = None) -> str:
        return str((await self.alice.chat_postMessage(channel=ALICE, text=text, thread_ts=root))["ts"])

    def answers(self, ts: str) -> list[StoredMessage]:
        """Return the soul's messages of a thread."""
        db = self.world.workspace.db
        said = replies(db, find(db, ALICE, ts), 0, FOREVER, limit=100)
        return [message for message in said if message.body["user"] == SOUL.user]

    def texts(self, ts: str) -> list[str]:
        return [str(message.body["text"]) for message in self.answers(ts)]

    @property
    def working(self) -> list[str]:
        """Threads that show a Stop button or status."""
        statuses = self.world.workspace.statuses
        shown = (*statuses.sessions(), *(line.json() for line in statuses.all()))
        return [one["thread_ts"] for one in shown]


@asynccontextmanager
async def around(folder: Path, pace: float = 0.0) -> AsyncIterator[Around]:
    """Yield a world; `pace`: seconds between pieces."""
    clock, app, listener = SystemClock(), web.Application(), bind("127.0.0.1", 0)
    model = ClaudeUnderstudy(clock, pace=pace)
    model.mount(app)
    async with LocalSlack(folder / "rehearsal.db", clock) as world, ClientSession() as session:
        world.mount(app)
        async with serve_app(app, listener):
            url = url_of_socket(listener)
            alice = AsyncWebClient(token="xoxp-alice", base_url=f"{url}/api/", session=session)
            yield Around(url=url, world=world, model=model, alice=alice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Alice in a world of another process."""

    world: str
    session: ClientSession
    slack: AsyncWebClient

    async def say(self, text: str) -> str:
        return str((await self.slack.chat_postMessage(channel=ALICE, text=text))["ts"])

    async def answers(self, ts: str) -> list[dict[str, Any]]:
        replies = await self.slack.conversations_replies(channel=ALICE, ts=ts)
        return [message for message in replies["messages"] if message["user"] == SOUL.user]


@asynccontextmanager
async def visit(world: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[Visit]:
    async with ClientSession(headers=headers) as session:
        alice = AsyncWebClient(token="xoxp-alice", base_url=f"{world}/api/", session=session)
        yield Visit(world=world, session=session, slack=alice)
