"""Time to a message's ack while many threads are answered. Floor: a bot without storage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.bot import bot
from benchmarks.figure import Figure
from benchmarks.resident import child, resident
from benchmarks.speech import BOTS_DM, SOULS_DM
from benchmarks.talker import talker
from benchmarks.town import town
from rehearsal.people import ALICE, ECHO, SOUL

AIM = 1_000.0
"""Maximum milliseconds to an ack; Slack allows three seconds."""
PAUSE = 0.1
"""Seconds between later messages."""
WARM = 3
"""Unmeasured messages."""


async def crowd(
    folder: Path, *, threads: int = 100, pings: int = 30, seconds: float = 20.0
) -> Sequence[Figure]:
    """Begin many threads at once, then post more during the answers."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(talker(seconds))
        url = await stack.enter_async_context(town(folder))
        home = {**resident(url, folder / "home"), "ANTHROPIC_BASE_URL": model}
        await stack.enter_async_context(child(("-m", "daemon"), **home))
        session = await stack.enter_async_context(ClientSession())
        await stack.enter_async_context(bot(url, model, session))
        alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
        bots, souls = [
            await Crowd(url, session, alice, app, channel).times(threads, pings, seconds)
            for app, channel in ((ECHO.id, BOTS_DM), (SOUL.id, SOULS_DM))
        ]
    return [
        *_figures(f"message to ack, {threads} at once", souls[:threads], bots[:threads]),
        *_figures(f"message to ack while {threads} threads are busy", souls[threads:], bots[threads:]),
    ]


def _figures(name: str, souls: Sequence[float], bots: Sequence[float]) -> list[Figure]:
    slowest = Figure(
        name="… the slowest of them",
        value=max(souls),
        unit="ms",
        floor=max(bots),
        aim=f"below {AIM / 1e3:g} s",
        met=max(souls) < AIM,
    )
    return [Figure(name=name, value=median(souls), unit="ms", floor=median(bots)), slowest]


@dataclass(frozen=True, slots=True)
class Crowd:
    url: str
    session: ClientSession
    alice: AsyncWebClient
    app: str
    channel: str

    async def times(self, threads: int, pings: int, seconds: float) -> Sequence[float]:
        """Return milliseconds to each ack, of initial messages, then of later ones."""
        await self._acked([await self._say(number) for number in range(WARM)])
        await asyncio.sleep(PAUSE)
        said = [await self._say(number) for number in range(threads)]
        await self._acked(said)
        await asyncio.sleep(seconds / 4)
        for number in range(pings):
            said.append(await self._say(number))
            await asyncio.sleep(PAUSE)
        found = await self._acked(said)
        await asyncio.sleep(seconds)
        return found

    async def _say(self, number: int) -> tuple[str, float]:
        answer = await self.alice.chat_postMessage(channel=self.channel, text=f"What about {number}?")
        return str(answer["ts"]), time.time()

    async def _acked(self, said: Sequence[tuple[str, float]]) -> list[float]:
        """Return milliseconds to all acks."""
        async with asyncio.timeout(60):
            while True:
                async with self.session.get(f"{self.url}/acks") as response:
                    acks = await response.json()
                acked = {ts: at for app, ts, _, at, _ in acks if app == self.app and at}
                if all(ts in acked for ts, _ in said):
                    return [(acked[ts] - at) * 1e3 for ts, at in said]
                await asyncio.sleep(PAUSE)
