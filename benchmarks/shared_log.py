"""Journal over a log in PostgreSQL, beside the journal in SQLite as its floor; nothing without PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from itertools import count
from pathlib import Path

from benchmarks.figure import Figure, Work, seconds, side_by_side
from daemon.engine.clock import SystemClock
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.log_erasing import rewrite_table
from daemon.engine.journal.postgres_log import PostgresLog, connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.kinds import SOUL_KINDS, MemoryNote
from rehearsal.postgres_server import programs_folder, run_postgres

TEXT = "x" * 700

FILL = """
    insert into entry select n, 'old', 'memory-note', 'core',
      json_build_object('text', repeat('x', 700))::text, 'old-' || n, null, '{}', 1790000000, false, false, 0
    from generate_series((select coalesce(max(seq), 0) + 1 from entry), %s) n
"""


async def shared_log(
    folder: Path, *, rounds: int = 400, at_once: int = 200, many: int = 100_000
) -> Sequence[Figure]:
    """Measure appends by SQLite, by one daemon over the log, and beside a second one; then what follows.

    `many` is the number of entries of the log whose copy is made anew.
    """
    if programs_folder() is None:
        return []
    let_in(folder)
    with run_postgres(folder / "postgres") as url:
        with closing(connect(url, "benchmark")) as connection:
            install_log(connection)
        async with Daemons.of(folder, url) as daemons:
            figures = await daemons.appends(rounds, at_once)
            figures += await daemons.lag(rounds)
        with closing(connect(url, "benchmark")) as connection:
            connection.execute(FILL, (many,))
        return [*figures, await copy_anew(folder, url, many), rewrite(url, many)]


def let_in(folder: Path) -> None:
    """Let the server in, which may run as another user."""
    folder.chmod(0o755)


class Daemons:
    """A journal in SQLite, and two daemons of one log."""

    def __init__(self, alone: Journal, oak: Journal, elm: Journal) -> None:
        self._alone = alone
        self._oak = oak
        self._elm = elm
        self._keys = count()

    @classmethod
    @asynccontextmanager
    async def of(cls, folder: Path, url: str) -> AsyncIterator[Daemons]:
        async with AsyncExitStack() as stack:
            alone = await stack.enter_async_context(Journal(folder / "a.db", SystemClock(), SOUL_KINDS))
            oak, elm = [
                await stack.enter_async_context(journal_of(folder, url, name)) for name in ("oak", "elm")
            ]
            yield cls(alone, oak, elm)

    async def appends(self, rounds: int, at_once: int) -> list[Figure]:
        floor, one = await side_by_side(rounds, self._append(self._alone), self._append(self._oak))
        all_floor, all_ = await side_by_side(
            max(1, rounds // 20), self._append(self._alone, at_once), self._append(self._oak, at_once)
        )
        return [
            Figure(name="append to the log", value=one * 1e3, unit="ms", floor=floor * 1e3),
            Figure(
                name=f"appends to the log, {at_once} at once",
                value=at_once / all_,
                unit="/s",
                floor=at_once / all_floor,
            ),
        ]

    def _append(self, journal: Journal, number: int = 1) -> Work:
        async def append() -> None:
            keys = [f"key-{next(self._keys)}" for _ in range(number)]
            await asyncio.gather(*(journal.append("t", MemoryNote(text=TEXT), key=key) for key in keys))

        return append

    async def lag(self, rounds: int) -> list[Figure]:
        """Measure from an append's answer until the other daemon has the entry; 0 if it came before."""
        late = sorted([await self._late() for _ in range(rounds)])
        named = {"median": late[len(late) // 2], "99 %": late[len(late) * 99 // 100], "most": late[-1]}
        return [
            Figure(name=f"a follower's lag, {name}", value=value * 1e3, unit="ms")
            for name, value in named.items()
        ]

    async def _late(self) -> float:
        written, _ = await self._oak.append("t", MemoryNote(text=TEXT), key=f"key-{next(self._keys)}")
        began = time.perf_counter()
        while self._elm.last_seq_of_all() < written.seq:
            await self._elm.next_change.wait()
        return time.perf_counter() - began


def journal_of(folder: Path, url: str, name: str) -> SharedJournal:
    home = folder / name
    home.mkdir(exist_ok=True)
    return SharedJournal(home / "journal.db", SystemClock(), SOUL_KINDS, url=url, machine=name)


async def copy_anew(folder: Path, url: str, many: int) -> Figure:
    async def make() -> None:
        async with journal_of(folder, url, "new") as new:
            assert new.last_seq_of_all() == many

    return Figure(name=f"a copy of {many:,} entries, made anew", value=await seconds(make), unit="s")


def rewrite(url: str, many: int) -> Figure:
    """Measure for how long an erasure lets nobody append."""
    with closing(PostgresLog(url, "benchmark")) as shared:
        began = time.perf_counter()
        rewrite_table(shared)
        took = time.perf_counter() - began
    return Figure(name=f"pause of an erasure, {many:,} entries", value=took, unit="s")
