"""Cost of an inner-life tick without its model; it must not grow with the notes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks.bare import streamed
from benchmarks.figure import Figure, seconds, side_by_side
from benchmarks.ground import Ground, ground
from daemon.actions.registry import help_text
from daemon.app.discovery import PROCESSES, ProcessDependencies, all_actions, bind_processes
from daemon.app.wiring import make_index, make_state
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import InnerLifeSetup
from daemon.inner_life.tick_log import InnerLifeState
from daemon.kinds import INNER, AmbientMessage, ModelCall, TickDue
from daemon.settings.limits import InnerLimits, Limits
from daemon.turn.usage_limits import LimitChecker

AT_ONCE = 2_000
"""Notes per commit."""
MORE = 3.0
"""Maximum ratio to the tick with fewest notes."""


async def ticks(
    folder: Path, *, notes: Sequence[int] = (100, 10_000, 100_000), rounds: int = 20
) -> Sequence[Figure]:
    """Measure ticks beside unread notes, and the first read after a start. Floor: a bare call."""
    figures = list[Figure]()
    fewest = 0.0
    for number in notes:
        place = folder / str(number)
        place.mkdir()
        async with ground(place) as here:
            thread = await here.open("channel")
            await _pile_up(here.world.journal, thread, number)
            state = make_state(here.world.journal, make_index(here.world.journal))
            looked = await seconds(state.update)
            floor, ours = await _ticked(here, state, rounds)
        fewest = fewest or ours
        figures += [
            Figure(
                name=f"a tick beside {number:,} notes",
                value=ours * 1e3,
                unit="ms",
                floor=floor * 1e3,
                aim=f"at most {MORE:g} times that beside the fewest",
                met=ours <= MORE * fewest,
            ),
            Figure(name=f"… the first look at {number:,} notes after a start", value=looked, unit="s"),
        ]
    return figures


async def _ticked(here: Ground, state: InnerLifeState, rounds: int) -> tuple[float, float]:
    """Return seconds of a bare call and of a tick."""
    journal = here.world.journal

    def said(seq: int) -> str:
        entry: Entry[ModelCall] = journal.entry(seq)
        return entry.event.text

    commands = all_actions().commands
    life = InnerLifeSetup(
        state=state,
        definitions={one.name: one for one in commands},
        help=help_text(commands),
        limits=InnerLimits(pause=0.0, usd=1e9),
        said=said,
    )
    any_ = Limits()
    gauge = LimitChecker(
        journal, here.world.clock, here.world.budget, turn=any_, thread=any_, person=any_, inner=1e9
    )
    soul = replace(
        here,
        world=replace(
            here.world, processes=bind_processes(PROCESSES, ProcessDependencies(life=life)), gauge=gauge
        ),
    )
    taker, numbers = soul.turns(), count()
    request = here.request(await here.turn("any"))

    async def tick() -> None:
        event = TickDue(why="the pause is over")
        await journal.append(INNER, event, key=f"due:{next(numbers)}")
        assert await taker.take_turn(INNER)

    await tick()
    floor, ours = await side_by_side(rounds, lambda: streamed(here.bare, request), tick)
    return floor, ours


async def _pile_up(journal: Journal, thread: str, number: int) -> None:
    async def say(place: int) -> None:
        said = AmbientMessage(
            user=f"U{place % 50}", name=f"Person {place % 50}", text=f"Line {place} of talk.", ts=f"{place}.5"
        )
        await journal.append(thread, said, key=f"noticed:T:channel:{place}.5", author=said.user)

    for start in range(0, number, AT_ONCE):
        await asyncio.gather(*map(say, range(start, min(start + AT_ONCE, number))))
