"""An understudy on a loopback port, the bare SDK before it, and our client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from anthropic import AsyncAnthropic

from daemon.claude.client import ClaudeClient
from daemon.engine.event import canonical_json
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.model import Hear, ModelReply
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.attention import PATIENCE
from tests.attention import until as until
from tests.claude.hasty import HastyClock
from tests.claude.raw import Raw, serving

KEY = "sk-rehearsal"
MODELS = {"speak": "claude-sonnet-5-5", "fast": "claude-haiku-5-5"}
MEMORY = working_memory(
    [
        Memory(role="system", content="You are Claudius.", region="core"),
        Memory(role="user", content="Alice: hello"),
    ]
)


async def free() -> None:
    """Accept: the lease is still held."""


async def ask(
    claude: ClaudeClient,
    memory: WorkingMemory = MEMORY,
    hear: Hear | None = None,
    *,
    schema: Mapping[str, Any] | None = None,
    stop: asyncio.Event | None = None,
) -> ModelReply:
    async with asyncio.timeout(PATIENCE):
        return await claude.call(claude.request(memory, "speak", schema), hear, free, stop or asyncio.Event())


def reserved(claude: ClaudeClient, memory: WorkingMemory) -> float:
    """Return the cost reserved for a call with this memory."""
    request = claude.request(memory, "speak")
    return claude.highest_cost(request, len(canonical_json(request)))


@pytest.fixture
def clock() -> HastyClock:
    return HastyClock()


@pytest.fixture
def understudy(clock: HastyClock) -> ClaudeUnderstudy:
    return ClaudeUnderstudy(clock, pace=0)


@asynccontextmanager
async def served(understudy: ClaudeUnderstudy) -> AsyncIterator[str]:
    app = web.Application()
    understudy.mount(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def url(understudy: ClaudeUnderstudy) -> AsyncIterator[str]:
    async with served(understudy) as url:
        yield url


@pytest.fixture
async def sdk(url: str) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:
        yield client


Build = Callable[..., Awaitable[ClaudeClient]]


@pytest.fixture
async def build(url: str, clock: HastyClock) -> AsyncIterator[Build]:
    """Return a builder of clients as in app.py, with a test's own values."""
    made: list[ClaudeClient] = []

    async def build(**other: Any) -> ClaudeClient:
        values = {"api_key": KEY, "models": MODELS, "clock": clock, "base_url": url}
        made.append(await ClaudeClient(**{**values, **other}).__aenter__())
        return made[-1]

    yield build
    for client in made:
        await client.__aexit__(None, None, None)


@pytest.fixture
async def claude(build: Build) -> ClaudeClient:
    return await build()


@pytest.fixture
def raw() -> Raw:
    return Raw()


@pytest.fixture
async def before(build: Build, raw: Raw) -> AsyncIterator[ClaudeClient]:
    """Client before a server that sends a test's bytes."""
    async with serving(raw) as url:
        yield await build(base_url=url)
