"""Cost of the first search after a start, and of building its index. Floor: a bare FTS5 table."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.figure import Figure, seconds, side_by_side
from benchmarks.records import FIND, fill_bare, open_one, queries_of, texts_of
from daemon.app.wiring import make_index
from daemon.engine.clock import SystemClock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import SOUL_KINDS, IncomingMessage, MoodChanged, SpeechFinished
from daemon.knowledge.search import HITS, MessageSearch, fts_query
from daemon.knowledge.visibility import KnownChannels

AT_ONCE = 500
"""Exchanges per commit."""
EACH = 8
"""Entries per turn; two are searchable."""


async def looking_up(
    folder: Path, *, entries: int = 100_000, conversations: int = 100, rounds: int = 10
) -> Sequence[Figure]:
    """Search many conversations from one."""
    said = entries // EACH * 2
    texts, query = texts_of(said), queries_of()[0]
    file = folder / "bare.db"

    async def fill() -> None:
        with closing(sqlite3.connect(file)) as bare:
            fill_bare(bare, texts)

    async def find() -> None:
        with closing(sqlite3.connect(file)) as bare:
            assert bare.execute(FIND, (fts_query(query), HITS)).fetchall()

    async with Journal(folder / "journal.db", SystemClock(), SOUL_KINDS) as journal:
        threads = [await open_one(journal, number) for number in range(conversations)]
        for start in range(0, said, 2 * AT_ONCE):
            part = range(start, min(start + 2 * AT_ONCE, said), 2)
            await asyncio.gather(
                *(_exchange(journal, threads[n // 2 % conversations], n, texts) for n in part)
            )

        async def make() -> None:
            with make_index(journal) as index:
                while not await index.update():
                    pass

        async def search() -> None:
            with make_index(journal) as index:
                assert await MessageSearch(journal, KnownChannels(journal), index).search(
                    query, threads[0], ALWAYS
                )

        filled, made = await seconds(fill), await seconds(make)
        floor, ours = await side_by_side(rounds, find, search)
    name = f"what was said in {entries:,} entries"
    return [
        Figure(name=f"{name}: its index, made anew", value=made, unit="s", floor=filled),
        Figure(name="… the first search after a start", value=ours * 1e3, unit="ms", floor=floor * 1e3),
    ]


async def _exchange(journal: Journal, thread: str, number: int, texts: Sequence[str]) -> None:
    now = f"{1_700_000_000 + number}.5"
    said = IncomingMessage(address="dm", user="U1", name="Ann", text=texts[number], ts=now)
    spoken = SpeechFinished(ts=f"{now}1", text=texts[number + 1])
    others = [MoodChanged(mood="calm") for _ in range(EACH - 2)]
    events: Sequence[Event] = (said, *others, spoken)
    for place, event in enumerate(events):
        await journal.append(thread, event, key=f"{number}/{place}")
