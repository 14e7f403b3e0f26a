"""Speed of journal appends. Floor: rows of equal size by sqlite3."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from benchmarks.bare import rows, write
from benchmarks.figure import Figure, side_by_side
from daemon.engine.clock import SystemClock
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, MemoryNote

TEXT = "x" * 700


async def appends(folder: Path, *, rounds: int = 400, at_once: int = 200) -> Sequence[Figure]:
    """Measure appends one by one, then `at_once` concurrent ones, which share commits."""
    keys = count()
    with rows(folder / "rows.db") as bare:
        async with Journal(folder / "journal.db", SystemClock(), SOUL_KINDS) as journal:

            async def append() -> None:
                await journal.append("thread", MemoryNote(text=TEXT), key=f"key-{next(keys)}")

            async def append_all() -> None:
                await asyncio.gather(*(append() for _ in range(at_once)))

            async def insert(number: int = 1) -> None:
                write(bare, keys, TEXT, number)

            one_floor, one = await side_by_side(rounds, insert, append)
            all_floor, all_ = await side_by_side(max(1, rounds // 20), lambda: insert(at_once), append_all)
    return [
        Figure(name="journal appends, one at a time", value=1 / one, unit="/s", floor=1 / one_floor),
        Figure(
            name=f"journal appends, {at_once} at once",
            value=at_once / all_,
            unit="/s",
            floor=at_once / all_floor,
        ),
    ]
