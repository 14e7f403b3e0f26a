"""Load of the console's event loop, and memory of clients that never read.

Floor: SQLite reading the same rows, joined as text.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.console import THREAD, WORD, House, house, live
from benchmarks.figure import Figure

AIM = 20.0
"""Maximum milliseconds of the loop per answer."""
UNNOTICED = f"at most {AIM:g} ms"
MEMORY = 40.0
"""Maximum megabytes for all such clients."""
PAGE = 200
ROW = "seq, thread, kind, author, body, key, cause, closes, at"
SETTLED = 3.0
"""Seconds until the buffers are full."""


async def pages(
    folder: Path, *, entries: int = 10_000, searched: int = 100_000, readers: int = 300, rounds: int = 10
) -> Sequence[Figure]:
    await asyncio.to_thread(live, folder / "journal.db", searched, entries)
    async with house(folder) as here:
        with closing(sqlite3.connect(folder / "journal.db")) as db:
            figures = [
                *await _page(here, db, entries, rounds),
                *await _whole(here, db, entries, max(rounds // 3, 1)),
                *await _search(here, db, searched, max(rounds // 3, 1)),
            ]
    for what, path in (("the journal", "journal?since=0"), ("a thread", f"threads/{THREAD}")):
        async with house(folder) as here:
            figures.append(await _deaf(here, readers, what, path))
    return figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Best times of several rounds, in milliseconds.

    `loop` and `all` are CPU time of the loop and of all threads, `late` its delay, `idle` that without load,
    `waited` the time to the answer.
    """

    loop: float
    all: float
    late: float
    idle: float
    waited: float
    floor: float


async def _page(here: House, db: sqlite3.Connection, entries: int, rounds: int) -> Sequence[Figure]:
    def floor() -> None:
        where = "where thread = ? order by seq desc limit ?"
        text = f"select {ROW} from entry where seq in (select seq from entry {where})"
        _joined(db.execute(text, (THREAD, PAGE)))

    took = await _side_by_side(here, f"/console/threads/{THREAD}?limit={PAGE}", floor, rounds)
    name = f"a page of {PAGE} in a thread of {entries:,}, on the loop"
    return [
        Figure(name=name, value=took.loop, unit="ms", floor=took.floor, aim=UNNOTICED, met=took.loop <= AIM),
        Figure(name="… with the thread beside it", value=took.all, unit="ms", floor=took.floor),
        _late(took),
    ]


async def _whole(here: House, db: sqlite3.Connection, entries: int, rounds: int) -> Sequence[Figure]:
    def floor() -> None:
        _joined(db.execute(f"select {ROW} from entry where thread = ? order by seq", (THREAD,)))

    took = await _side_by_side(here, f"/console/threads/{THREAD}", floor, rounds)
    name = f"all of a thread of {entries:,}, on the loop"
    return [Figure(name=name, value=took.loop, unit="ms", floor=took.floor), _late(took)]


async def _search(here: House, db: sqlite3.Connection, searched: int, rounds: int) -> Sequence[Figure]:
    def floor() -> None:
        [_] = db.execute("select seq from entry where body like ?", (f"%{WORD}%",)).fetchall()

    found = json.loads(await here.get(f"/console/search?words={WORD}"))
    assert len(found["entries"]) == 1
    took = await _side_by_side(here, f"/console/search?words={WORD.upper()}", floor, rounds)
    name = f"a search in {searched:,} entries"
    return [Figure(name=name, value=took.waited, unit="ms", floor=took.floor), _late(took)]


def _late(took: Took) -> Figure:
    name = "… how late the loop is at the latest"
    return Figure(name=name, value=took.late, unit="ms", floor=took.idle, aim=UNNOTICED, met=took.late <= AIM)


async def _side_by_side(here: House, path: str, floor: Callable[[], None], rounds: int) -> Took:
    found = []
    for _ in range(rounds + 1):
        loop, all_of_it, _ = await here.loop()
        began = time.perf_counter()
        await here.get(path)
        waited = time.perf_counter() - began
        loop_then, all_then, late = await here.loop()
        await asyncio.sleep(waited)
        _, _, idle = await here.loop()
        began = time.thread_time()
        floor()
        took = time.thread_time() - began
        found.append((loop_then - loop, all_then - all_of_it, late, idle, waited, took))
    best = [min(column) * 1e3 for column in zip(*found[1:], strict=True)]
    names = ("loop", "all", "late", "idle", "waited", "floor")
    return Took(**dict(zip(names, best, strict=True)))


def _joined(rows: sqlite3.Cursor) -> str:
    told = [f'{{"seq": {row[0]}, "body": {row[4]}, "key": "{row[5]}", "at": {row[8]}}}' for row in rows]
    return f"[{', '.join(told)}]"


async def _deaf(here: House, count: int, what: str, path: str) -> Figure:
    await here.get("/loop")
    before = here.child.memory
    deaf = [await _asked(here, path) for _ in range(count)]
    most = before
    until = time.perf_counter() + SETTLED
    while time.perf_counter() < until:
        await asyncio.sleep(SETTLED / 20)
        most = max(most, here.child.memory)
    for one in deaf:
        one.close()
    return Figure(
        name=f"memory beside {count} readers of {what} who never read",
        value=most,
        unit="MB",
        floor=before,
        aim=f"at most {MEMORY:g} MB over the floor",
        met=most - before <= MEMORY,
    )


async def _asked(here: House, path: str) -> socket.socket:
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", here.port))
    await loop.sock_sendall(deaf, f"GET /console/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return deaf
