"""Cost of a sweep beside many waits: idle, after an event and after a start. Floor: one query of an indexed
table.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure, seconds, side_by_side
from benchmarks.ground import ground
from benchmarks.lag import BREATH, Lag
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import EntryMatch, WaitBegan
from daemon.engine.worker import Worker
from daemon.kinds import OverheardMessage
from daemon.turn.soul_program import SoulProgram

AIM = 1.0
"""Maximum milliseconds per sweep."""
DAY = 86_400.0
AT_ONCE = 2_000
"""Appends per commit."""


async def waits(folder: Path, *, number: int = 20_000, rounds: int = 200) -> Sequence[Figure]:
    """Measure with equally many waits for a time, a message and a closed entry."""
    async with ground(folder) as here:
        journal, clock = here.world.journal, here.world.clock
        due = clock.now() + DAY
        first = await _wait(journal, 0, due)
        for start in range(1, number, AT_ONCE):
            part = range(start, min(start + AT_ONCE, number))
            await asyncio.gather(*(_wait(journal, n, due, first) for n in part))
        late = Lag()
        async with Worker(journal, clock, SoulProgram(here.world)) as worker:
            async with late:
                began = await seconds(worker.sweep)
                await asyncio.sleep(2 * BREATH)
            with closing(_indexed(number)) as bare:

                async def ask() -> None:
                    bare.execute("select seq from wait where due <= ? order by due", (1.0,)).fetchall()

                floor, swept = await side_by_side(rounds, ask, worker.sweep)
            came = [await _came(journal, worker, n % number, n) for n in range(rounds)]
    return [
        _below(f"a sweep beside {number:,} waits", swept, floor),
        _below("… when somebody said something where one waits", median(came), floor),
        Figure(name="… the first after a start", value=began, unit="s"),
        Figure(name="… how late the loop is then, at the latest", value=late.most * 1e3, unit="ms"),
    ]


def _below(name: str, took: float, floor: float) -> Figure:
    return Figure(
        name=name,
        value=took * 1e3,
        unit="ms",
        floor=floor * 1e3,
        aim=f"below {AIM:g} ms",
        met=took * 1e3 < AIM,
    )


async def _wait(journal: Journal, number: int, due: float, first: int = 0) -> int:
    thread = _thread(number)
    event = WaitBegan(due=due + number)
    if number % 3 == 1:
        event = replace(
            event, matching=EntryMatch(kinds=(OverheardMessage.kind,), thread=thread, fields={"user": "U9"})
        )
    elif number % 3 == 2:
        event = replace(event, closed=(first,), want="any")
    waiting, _ = await journal.append(thread, event, key=f"{thread}@1/wait#1")
    return waiting.seq


async def _came(journal: Journal, worker: Worker, number: int, n: int) -> float:
    """Append a message that almost ends a wait; return the sweep's seconds."""
    heard = OverheardMessage(user="U1", name="Alice", text="It rains.", ts=str(n))
    await journal.append(_thread(number), heard, key=f"heard:T:{number}:{n}")
    return await seconds(worker.sweep)


def _thread(number: int) -> str:
    return f"sess-{number:012x}"


def _indexed(number: int) -> sqlite3.Connection:
    bare = sqlite3.connect(":memory:")
    bare.execute("create table wait (seq integer primary key, due real)")
    bare.execute("create index wait_by_due on wait (due)")
    bare.executemany("insert into wait values (?, ?)", ((n, DAY + n) for n in range(number)))
    return bare
