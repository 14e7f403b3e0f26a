"""An understudy on a loopback port, the bare SDK in front of it, and our own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from anthropic import AsyncAnthropic

from daemon.claude.client import Claude
from daemon.rehearsal.claude.understudy import Understudy
from tests.clock import FakeClock

KEY = "sk-rehearsal"
MODELS = {"speak": "claude-sonnet-5-5", "fast": "claude-haiku-5-5"}


async def until(happened: Callable[[], object]) -> None:
    """Let everybody go on until this is so."""
    async with asyncio.timeout(10):
        while True:
            if happened():
                return
            await asyncio.sleep(0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def understudy(clock: FakeClock) -> Understudy:
    return Understudy(clock, pace=0)


@asynccontextmanager
async def served(understudy: Understudy) -> AsyncIterator[str]:
    """Where this understudy stands, without a slash at the end."""
    app = web.Application()
    understudy.mount(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture
async def url(understudy: Understudy) -> AsyncIterator[str]:
    async with served(understudy) as url:
        yield url


@pytest.fixture
async def sdk(url: str) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:
        yield client


Build = Callable[..., Awaitable[Claude]]


@pytest.fixture
async def build(url: str, clock: FakeClock) -> AsyncIterator[Build]:
    """Makes clients as app.py does, with other values where a test gives them."""
    made: list[Claude] = []

    async def build(**other: Any) -> Claude:
        values = {"api_key": KEY, "models": MODELS, "clock": clock, "base_url": url}
        made.append(await Claude(**{**values, **other}).__aenter__())
        return made[-1]

    yield build
    for client in made:
        await client.__aexit__(None, None, None)


@pytest.fixture
async def claude(build: Build) -> Claude:
    return await build()
