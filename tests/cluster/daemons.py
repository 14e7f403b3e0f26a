"""Daemons as processes of their own, on one log and in one rehearsed Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from tests.attention import PATIENCE
from tests.stories.process import Around, Daemon, address_in, into, ready, start

TOKEN = "a-token-that-all-pages-have"
SIGNED_IN = {"X-Console-Token": TOKEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A daemon that has printed its ready line."""

    name: str
    process: Daemon
    lines: Sequence[str]
    session: ClientSession

    @property
    def url(self) -> str:
        return address_in(self.lines)

    @property
    def stands_by(self) -> bool:
        return self.lines[-1].startswith("ready, standing by")

    async def health(self) -> tuple[int, Mapping[str, Any]]:
        async with self.session.get(f"{self.url}/healthz") as response:
            return response.status, await response.json()

    async def get(self, path: str) -> Any:
        async with self.session.get(f"{self.url}{path}", headers=SIGNED_IN) as response:
            return await response.json()

    async def text(self, path: str) -> str:
        async with self.session.get(f"{self.url}{path}", headers=SIGNED_IN) as response:
            return await response.text()

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        async with self.session.post(f"{self.url}{path}", headers=SIGNED_IN, json=body) as response:
            return response.status, await response.json()

    async def wait_until_at_work(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not (await self.health())[1]["at_work"]:
                pass

    async def wait_until_sees(self, **at_work: bool) -> None:
        """Wait until it knows these daemons and no others, at work or not."""
        async with asyncio.timeout(PATIENCE):
            while {one["machine"]: one["at_work"] for one in (await self.health())[1]["machines"]} != at_work:
                pass


def cluster_env(place: Around, log: str, name: str, **more: str) -> dict[str, str]:
    """Return the variables of a daemon of this name."""
    return {**into(place.url), "DATABASE_URL": log, "MACHINE": name, "CONSOLE_TOKEN": TOKEN, **more}


@asynccontextmanager
async def machine(home: Path, place: Around, log: str, name: str, **more: str) -> AsyncIterator[Machine]:
    """Yield a ready daemon; kill it at the end."""
    process = await start(home / name, **cluster_env(place, log, name, **more))
    try:
        async with ClientSession() as session:
            yield Machine(name=name, process=process, lines=await ready(process), session=session)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
