"""Cost of calls and turns over a log in PostgreSQL. Floor: the same on SQLite, alternating with it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from daemon.engine.clock import Clock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.worker import TurnRunner
from daemon.turn.model_calls import call_model
from rehearsal.postgres_server import programs_folder, run_postgres

SLOWER = 2.0
"""Most times as long as on SQLite that a turn may take."""

SHARE = 0.4
"""Least share of the turns a second on SQLite."""

QUESTION = "What would you do with a free afternoon?"


async def shared_turns(folder: Path, *, rounds: int = 100, conversations: int = 200) -> Sequence[Figure]:
    """Measure a durable call, a turn, and many turns at once; nothing without PostgreSQL."""
    if programs_folder() is None:
        return []
    with _empty_log() as url:
        return await _turns(folder, url, rounds, conversations)


@contextmanager
def _empty_log() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="soul-postgres-") as home:
        os.chmod(home, 0o755)  # noqa: PTH101  the server is another user
        with run_postgres(Path(home)) as url:
            with closing(connect(url, "benchmark")) as connection:
                install_log(connection)
            yield url


async def _turns(folder: Path, url: str, rounds: int, conversations: int) -> list[Figure]:
    async with _grounds(folder, url) as (local, shared):
        lanes = [_lane(local), _lane(shared)]
        calls = [partial(_call, await one.turn("call")) for one in (local, shared)]
        call_floor, call = await side_by_side(rounds, *calls)
        floor, turn = await side_by_side(rounds, *lanes)
        at_once = [partial(_together, lane, conversations) for lane in lanes]
        all_floor, all_ = await side_by_side(max(1, rounds // 20), *at_once)
    return [
        Figure(
            name="durable model call, log in PostgreSQL", value=call * 1e3, unit="ms", floor=call_floor * 1e3
        ),
        Figure(
            name="whole turn, log in PostgreSQL",
            value=turn * 1e3,
            unit="ms",
            floor=floor * 1e3,
            aim=f"at most {SLOWER} times the floor",
            met=turn <= SLOWER * floor,
        ),
        Figure(
            name=f"whole turns, {conversations} at once, log in PostgreSQL",
            value=conversations / all_,
            unit="/s",
            floor=conversations / all_floor,
            aim=f"at least {SHARE} of the floor",
            met=all_floor >= SHARE * all_,
        ),
    ]


@asynccontextmanager
async def _grounds(folder: Path, url: str) -> AsyncIterator[tuple[Ground, Ground]]:
    def kept(path: Path, clock: Clock, kinds: Iterable[type[Event]]) -> Journal:
        return SharedJournal(path, clock, kinds, url=url)

    homes = [folder / "local", folder / "shared"]
    for home in homes:
        home.mkdir()
    async with ground(homes[0]) as local, ground(homes[1], kept_by=cast(Any, kept)) as shared:
        yield local, shared


def _lane(here: Ground) -> Callable[[], Any]:
    taker, numbers = here.turns(), count()
    return lambda: _turn(here, taker, next(numbers))


async def _together(lane: Callable[[], Any], many: int) -> None:
    await asyncio.gather(*(lane() for _ in range(many)))


async def _turn(here: Ground, taker: TurnRunner, number: int) -> None:
    said = await here.call(f"turn {number}", QUESTION)
    assert await taker.take_turn(said.thread)


async def _call(turn: Any) -> None:
    call = await call_model(turn, "step", turn.memory, "speak", _hear)
    assert call.event.outcome == "ok", call.event


async def _hear(_delta: str) -> None: ...
