"""Time from a message to the answer's first words in Slack. Floor: a bot without storage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.bot import bot
from benchmarks.figure import Figure
from benchmarks.resident import child, resident
from benchmarks.town import town
from rehearsal.people import ALICE

SOULS_DM, BOTS_DM = "D0ALICE0001", "D0ALICE0002"
AIM = 20.0
"""Maximum milliseconds from the first token to visible text."""
TIMES = 1.5
"""Maximum ratio to the floor when idle."""
WARM = 3
"""Unmeasured answers, which open connections and greet Alice."""
REST = 0.1
"""Seconds to finish work after each answer."""


async def speech(folder: Path, *, rounds: int = 30) -> Sequence[Figure]:
    """Post to soul and bot in turns, in new threads."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(town(folder))
        await stack.enter_async_context(child(("-m", "daemon"), **resident(url, folder / "home")))
        session = await stack.enter_async_context(ClientSession())
        await stack.enter_async_context(bot(url, url, session))
        times = [
            [await _answered(url, session, channel) for channel in (SOULS_DM, BOTS_DM)]
            for _ in range(WARM + rounds)
        ][WARM:]
    soul, floor = ([median(of) for of in zip(*column, strict=True)] for column in zip(*times, strict=True))
    return [
        _beside("message to ack", soul[0], floor[0]),
        _beside("message to first visible text", soul[1], floor[1]),
        Figure(
            name="model's first token to first visible text",
            value=soul[2],
            unit="ms",
            floor=floor[2],
            aim=f"within {AIM:g} ms",
            met=soul[2] <= AIM,
        ),
    ]


def _beside(name: str, soul: float, bot: float) -> Figure:
    met = soul <= TIMES * bot
    return Figure(
        name=name, value=soul, unit="ms", floor=bot, aim=f"at most {TIMES:g} times the floor", met=met
    )


async def _answered(url: str, session: ClientSession, channel: str) -> tuple[float, float, float]:
    """Return milliseconds from message to ack and to visible text, and from first token to visible text."""
    alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
    await alice.chat_postMessage(channel=channel, text="What would you do with a free afternoon?")
    async with session.get(f"{url}/notes") as response:
        at = await response.json()
    await asyncio.sleep(REST)
    since = (("said", "acked"), ("said", "shown"), ("token", "shown"))
    acked, shown, spoken = ((at[then] - at[first]) * 1e3 for first, then in since)
    return acked, shown, spoken
