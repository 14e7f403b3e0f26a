"""Whole daemons over one log: started, killed, paused, cut off, and started again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from rehearsal.people import SOUL
from tests.cluster.proxy import TcpProxy
from tests.stories.born import born
from tests.stories.process import Daemon, variables

LOUD = "CRITICAL"
"""Level of log lines that no hit excuses."""


@dataclass(slots=True, kw_only=True)
class Member:
    """A daemon. `paused_until` and `cut_until` are the ends of its hits, `again_at` is its next start."""

    name: str
    home: Path
    env: Mapping[str, str]
    proxy: TcpProxy
    process: Daemon | None = None
    said: list[str] = field(default_factory=list)
    paused_until: float = 0.0
    cut_until: float = 0.0
    again_at: float = 0.0
    _readers: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def is_up(self) -> bool:
        running = self.process is not None and self.process.returncode is None
        return running and not self.paused_until and not self.cut_until

    async def start(self) -> None:
        self.process = await born((), variables(self.home, self.env))
        self._readers = [
            asyncio.create_task(self._read(stream))
            for stream in (self.process.stdout, self.process.stderr)
            if stream
        ]

    async def _read(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self.said.append(line.decode(errors="replace").rstrip())

    def kill(self) -> None:
        assert self.process
        with suppress(ProcessLookupError):
            self.process.kill()

    def pause(self, seconds: float) -> None:
        assert self.process
        os.kill(self.process.pid, signal.SIGSTOP)
        self.paused_until = monotonic() + seconds

    def resume(self) -> None:
        assert self.process
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGCONT)
        self.paused_until = 0.0

    async def end(self) -> None:
        if self.process is None:
            return
        if self.paused_until:
            self.resume()
        with suppress(ProcessLookupError):
            self.process.terminate()
        try:
            async with asyncio.timeout(20):
                await self.process.wait()
        except TimeoutError:
            self.kill()
            await self.process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)


@dataclass(slots=True, kw_only=True)
class Members:
    """All daemons of a run, and what happened to them."""

    all: Mapping[str, Member]
    exits: Counter[int] = field(default_factory=Counter)

    @property
    def up(self) -> list[Member]:
        return [one for one in self.all.values() if one.is_up]

    @property
    def are_settled(self) -> bool:
        return len(self.up) == len(self.all)

    async def tend(self, draw: random.Random) -> None:
        """End hits whose time has come, and start daemons that have ended again."""
        now = monotonic()
        for one in self.all.values():
            if one.paused_until and now >= one.paused_until:
                one.resume()
            if one.cut_until and now >= one.cut_until:
                one.proxy.mend()
                one.proxy.delay = 0.0
                one.cut_until = 0.0
            if one.process is None or one.process.returncode is None:
                continue
            if not one.again_at:
                self.exits[one.process.returncode] += 1
                one.again_at = now + draw.uniform(0.2, 1.5)
            elif now >= one.again_at:
                one.again_at = 0.0
                await one.start()


@asynccontextmanager
async def members(folder: Path, url: str, world: Mapping[str, str], **given: str) -> AsyncIterator[Members]:
    """Start a daemon for each address of the world, each with a home, a name and a proxy to the log."""
    async with AsyncExitStack() as stack:
        found = {}
        for name, address in world.items():
            home = folder / name
            home.mkdir(exist_ok=True)
            proxy = stack.enter_context(TcpProxy(url))
            found[name] = Member(name=name, home=home, env=_env(name, address, proxy.url, given), proxy=proxy)
        everybody = Members(all=found)
        for one in found.values():
            stack.push_async_callback(one.end)
            await one.start()
        yield everybody


def _env(name: str, world: str, url: str, given: Mapping[str, str]) -> dict[str, str]:
    return {
        "SLACK_API_URL": f"{world}/api/",
        "SLACK_BOT_TOKEN": SOUL.bot_token,
        "SLACK_APP_TOKEN": SOUL.app_token,
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_BASE_URL": world,
        "DATABASE_URL": url,
        "MACHINE": name,
        "LOG_LEVEL": "warning",
        "BUDGET_DAILY_USD": "1000",
        **given,
    }
