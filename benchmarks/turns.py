"""Cost of a complete turn without Slack, all recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from benchmarks.bare import rows, streamed, write
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from daemon.engine.worker import TurnRunner

PART = 0.25
"""Minimum share of the bare calls per second."""


async def turns(folder: Path, *, rounds: int = 100, conversations: int = 200) -> Sequence[Figure]:
    """Measure turns in sequence, then concurrently. Floors: a bare call, also with as many commits."""
    with rows(folder / "rows.db") as bare:
        async with ground(folder) as here:
            taker, numbers, keys = here.turns(), count(), count()
            request = here.request(await here.turn("any"))
            await _turn(here, taker, next(numbers))  # greets, so it writes more
            texts = await _written(here, taker, next(numbers))

            async def bare_at_once() -> None:
                await asyncio.gather(*(streamed(here.bare, request) for _ in range(conversations)))

            async def as_much(turns: int = 1) -> None:
                await asyncio.gather(*(streamed(here.bare, request) for _ in range(turns)))
                for text in texts:
                    write(bare, keys, text, turns)

            async def at_once() -> None:
                await asyncio.gather(*(_turn(here, taker, next(numbers)) for _ in range(conversations)))

            one_floor, one_work, one = await side_by_side(
                rounds,
                lambda: streamed(here.bare, request),
                as_much,
                lambda: _turn(here, taker, next(numbers)),
            )
            all_floor, all_work, all_ = await side_by_side(
                max(1, rounds // 20), bare_at_once, lambda: as_much(conversations), at_once
            )
    return [
        Figure(name="whole turn", value=one * 1e3, unit="ms", floor=one_floor * 1e3),
        Figure(
            name=f"… floor: a call and {len(texts)} commits", value=one * 1e3, unit="ms", floor=one_work * 1e3
        ),
        Figure(
            name=f"whole turns, {conversations} at once",
            value=conversations / all_,
            unit="/s",
            floor=conversations / all_floor,
            aim=f"at least {PART} of the floor",
            met=all_floor >= PART * all_,
        ),
        Figure(
            name=f"… floor: as many calls, and {len(texts)} commits together",
            value=conversations / all_,
            unit="/s",
            floor=conversations / all_work,
        ),
    ]


async def _written(here: Ground, taker: TurnRunner, number: int) -> Sequence[str]:
    """Return the bodies written by one turn."""
    before = here.world.journal.last_seq_of_all()
    await _turn(here, taker, number)
    kinds = here.world.journal.kinds
    return [kinds.dump(entry.event) for entry in here.world.journal.entries_since(before)]


async def _turn(here: Ground, taker: TurnRunner, number: int) -> None:
    said = await here.call(f"turn {number}", "What would you do with a free afternoon?")
    assert await taker.take_turn(said.thread)
