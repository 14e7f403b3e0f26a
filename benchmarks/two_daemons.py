"""Cost of a turn with two daemons that both take turns (AT_WORK=all), and their shares of many threads.

Floor: one daemon, alternating with them. Each has a rehearsed Slack, an instant model and a log of its own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Self

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.figure import Figure
from benchmarks.idle import COUNTED
from benchmarks.resident import Child, child, resident
from benchmarks.shared_log import let_in
from benchmarks.speech import SOULS_DM
from benchmarks.town import town
from daemon.engine.journal.postgres_log import Connection, connect
from rehearsal.people import ALICE
from rehearsal.postgres_server import programs_folder, run_postgres

TIMES = 1.2
"""Most times the processor time of one daemon."""
MOST = 70.0
"""Most percent of the threads that one daemon may take."""
LOOK = 0.02
"""Seconds between two looks at the log."""
WAIT = 300.0
"""Most seconds until all is answered."""

ENDED = "select count(*) from entry where kind = 'turn-ended'"
TAKEN = "select count(*) from entry where kind = 'turn-began' and seq > %s group by writer"
LAST = "select coalesce(max(seq), 0) from entry"


async def two_daemons(
    folder: Path, *, rounds: int = 3, threads: int = 200, singles: int = 40
) -> Sequence[Figure]:
    """Begin threads one after the other and many at once, with one daemon and with two."""
    if programs_folder() is None or not COUNTED:
        return []
    let_in(folder)
    async with AsyncExitStack() as stack:
        one, two = [await Workspace.of(stack, folder, number) for number in (1, 2)]
        for each in (one, two):
            await each.answer(max(1, threads // 10))  # a warm-up
        single = [(await one.answer(1), await two.answer(1)) for _ in range(singles)]
        found = [(await one.answer(threads), await two.answer(threads)) for _ in range(rounds)]
    alone, both = zip(*found, strict=True)
    return [_of_a_turn("one after the other", single, 1), *_at_once(alone, both, threads)]


def _of_a_turn(when: str, found: Sequence[tuple[Burst, Burst]], threads: int) -> Figure:
    floor, seconds = (
        mean(burst.processor for burst in bursts) / threads for bursts in zip(*found, strict=True)
    )
    return Figure(
        name=f"processor time of a turn, two daemons, {when}",
        value=seconds * 1e3,
        unit="ms",
        floor=floor * 1e3,
        aim=f"at most {TIMES:g} times the floor",
        met=seconds <= TIMES * floor,
    )


def _at_once(alone: Sequence[Burst], both: Sequence[Burst], threads: int) -> list[Figure]:
    most = max(burst.most for burst in both) * 100
    return [
        _of_a_turn(f"{threads} at once", [*zip(alone, both, strict=True)], threads),
        Figure(
            name=f"most of {threads} threads at once that one of two daemons takes",
            value=most,
            unit="%",
            aim=f"at most {MOST:g} %",
            met=most <= MOST,
        ),
        Figure(
            name=f"turns a second, two daemons, {threads} at once",
            value=threads / median(burst.took for burst in both),
            unit="/s",
            floor=threads / median(burst.took for burst in alone),
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Threads that began at once: processor seconds of all daemons, seconds, largest share of a daemon."""

    processor: float
    took: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Daemons of one log and one rehearsed Slack."""

    daemons: Sequence[Child]
    log: Connection
    alice: AsyncWebClient

    @classmethod
    async def of(cls, stack: AsyncExitStack, folder: Path, number: int) -> Self:
        place = folder / f"daemons-{number}"
        place.mkdir()
        let_in(place)
        database = stack.enter_context(run_postgres(place / "postgres"))
        world = await stack.enter_async_context(town(place))
        daemons = [
            await stack.enter_async_context(child(("-m", "daemon"), **_env(world, place, database, name)))
            for name in ("oak", "elm")[:number]
        ]
        log = stack.enter_context(closing(connect(database, "benchmark")))
        session = await stack.enter_async_context(ClientSession())
        alice = AsyncWebClient(token=ALICE.token, base_url=f"{world}/api/", session=session)
        return cls(daemons=daemons, log=log, alice=alice)

    async def answer(self, threads: int) -> Burst:
        """Begin so many threads at once, and wait until all have been answered."""
        before, since, ended = self._processor(), self._count(LAST), self._count(ENDED)
        clock = asyncio.get_running_loop().time
        began = clock()
        for number in range(threads):
            await self.alice.chat_postMessage(channel=SOULS_DM, text=f"What about {number}?")
        await _until(lambda: self._count(ENDED) - ended >= threads)
        took = clock() - began
        taken = [count for (count,) in self.log.execute(TAKEN, (since,)).fetchall()]
        return Burst(processor=self._processor() - before, took=took, most=max(taken) / sum(taken))

    def _processor(self) -> float:
        return sum(daemon.processor for daemon in self.daemons)

    def _count(self, query: str) -> int:
        row = self.log.execute(query.encode()).fetchone()
        assert row
        return int(row[0])


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT):
        while not holds():  # noqa: ASYNC110  the log tells nobody here
            await asyncio.sleep(LOOK)


def _env(world: str, place: Path, database: str, name: str) -> dict[str, str]:
    return {
        **resident(world, place / name),
        "DATABASE_URL": database,
        "MACHINE": name,
        "AT_WORK": "all",
        "LOG_LEVEL": "warning",
        "TMPDIR": os.environ.get("TMPDIR", ""),
    }
