"""Cost of a durable model call. Floor: the SDK's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bare import streamed, whole
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from daemon.turn.model_calls import call_model
from daemon.turn.turn import Turn

DURABLE = 1.5
"""Maximum ratio to the bare call."""


async def calls(folder: Path, *, rounds: int = 400, conversations: int = 200) -> Sequence[Figure]:
    """Measure calls in sequence, then in many conversations at once."""
    async with ground(folder) as here:
        return [*await _in_sequence(here, rounds), await _at_once(here, conversations)]


async def _in_sequence(here: Ground, rounds: int) -> list[Figure]:
    turn = await here.turn("sequence")
    request = here.request(turn)
    floor, durable, unstreamed = await side_by_side(
        rounds,
        lambda: streamed(here.bare, request),
        lambda: _call(turn),
        lambda: whole(here.bare, request),
    )
    return [
        Figure(
            name="durable model call",
            value=durable * 1e3,
            unit="ms",
            floor=floor * 1e3,
            aim=f"at most {DURABLE} times the floor",
            met=durable <= DURABLE * floor,
        ),
        Figure(name="bare call, not streamed", value=unstreamed * 1e3, unit="ms", floor=floor * 1e3),
    ]


async def _at_once(here: Ground, conversations: int, each: int = 5, rounds: int = 5) -> Figure:
    turns = await asyncio.gather(*(here.turn(f"conversation {n}") for n in range(conversations)))
    request = here.request(turns[0])

    async def bare_lane() -> None:
        for _ in range(each):
            await streamed(here.bare, request)

    async def durable_lane(turn: Turn) -> None:
        for _ in range(each):
            await _call(turn)

    floor, durable = await side_by_side(
        rounds,
        lambda: asyncio.gather(*(bare_lane() for _ in turns)),
        lambda: asyncio.gather(*(durable_lane(turn) for turn in turns)),
    )
    count = conversations * each
    return Figure(
        name=f"durable model calls, {conversations} conversations at once",
        value=count / durable,
        unit="/s",
        floor=count / floor,
        aim=f"at most {DURABLE} times the floor",
        met=durable <= DURABLE * floor,
    )


async def _call(turn: Turn) -> None:
    call = await call_model(turn, "step", turn.memory, "speak", _hear)
    assert call.event.outcome == "ok", call.event


async def _hear(_delta: str) -> None: ...
