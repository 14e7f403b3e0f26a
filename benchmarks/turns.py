"""A whole turn without Slack: a message in, thought, speech and receipt, all on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from benchmarks.bare import streamed
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from daemon.engine.turns import Turns


async def turns(folder: Path, *, rounds: int = 100, conversations: int = 200) -> Sequence[Figure]:
    """One after the other, in conversations of their own, then many at once; the floor is one bare call."""
    async with ground(folder) as here:
        taker, numbers = here.turns(), count()
        request = here.request(await here.turn("any"))

        async def bare_at_once() -> None:
            await asyncio.gather(*(streamed(here.bare, request) for _ in range(conversations)))

        async def at_once() -> None:
            await asyncio.gather(*(_turn(here, taker, next(numbers)) for _ in range(conversations)))

        one_floor, one = await side_by_side(
            rounds, lambda: streamed(here.bare, request), lambda: _turn(here, taker, next(numbers))
        )
        all_floor, all_ = await side_by_side(max(1, rounds // 20), bare_at_once, at_once)
    return [
        Figure(name="whole turn", value=one * 1e3, unit="ms", floor=one_floor * 1e3),
        Figure(
            name=f"whole turns, {conversations} at once",
            value=conversations / all_,
            unit="/s",
            floor=conversations / all_floor,
        ),
    ]


async def _turn(here: Ground, taker: Turns, number: int) -> None:
    """A new conversation is opened, spoken to, and has answered."""
    thread = await here.open(f"turn {number}")
    await here.say(thread, "What would you do with a free afternoon?", "1")
    assert await taker.take(thread)
