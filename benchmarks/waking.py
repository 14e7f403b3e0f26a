"""Folds after a start: duration, and longest block of the loop. Floor: SQLite with JSON parsing."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.lag import Held
from daemon.engine.clock import SystemClock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import (
    SOUL_KINDS,
    ConversationOpened,
    IncomingMessage,
    MoodChanged,
    PersonModelWritten,
    SoulTurnEnded,
)
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.visibility import KnownChannels
from daemon.slack.backfill import active_own_threads
from daemon.turn.execution_figures import last_execution

LENGTH = 10
"""Entries per conversation."""
CHANNELS, PEOPLE = 500, 1_000
AIM = 20.0
"""Maximum milliseconds that the loop is blocked."""
INSERT = "insert into entry(thread, kind, author, body, key, closes, at) values (?, ?, 'soul', ?, ?, ?, ?)"
READ = "select thread, body from entry where kind in (?, ?) order by seq"


async def waking(folder: Path, *, entries: int = 100_000) -> Sequence[Figure]:
    path, clock = folder / "journal.db", SystemClock()
    async with Journal(path, clock, SOUL_KINDS):
        ...
    with closing(sqlite3.connect(path)) as db:
        _fill(db, entries, clock.now())
        floors = [
            _read(db, ConversationOpened.kind, ConversationOpened.kind),
            _read(db, PersonModelWritten.kind, ConversationOpened.kind),
        ]
    async with Journal(path, clock, SOUL_KINDS) as journal:
        places = KnownChannels(journal)
        models = PersonModels(journal, places)
        since = clock.now() - 30 * 86_400.0
        name = f"{entries:,} entries"
        figures = await _folded(f"places of {name}, after a start", places.update, floors[0])
        figures += await _folded(
            f"what is known of somebody, of {name}, after a start",
            lambda: models.load(["U1"], "s1"),
            floors[1],
        )
        own = await _folded(
            "", lambda: journal.read_in_background(lambda one: active_own_threads(one, "T", since)), floors[0]
        )
        figures.append(_late(f"the own threads of {name}: the longest that it holds the loop", own[1].value))
        figures.append(_pause(f"what was done here last, of {name}", lambda: last_execution(journal, "s0")))
        figures.append(
            _pause(f"what is known of somebody, of {name}", lambda: models.known_lines("U1", "s1"))
        )
    return figures


async def _folded(name: str, fold: Callable[[], Awaitable[object]], floor: float) -> list[Figure]:
    """Measure CPU time of the loop, total and longest block."""
    held, began = Held(), time.thread_time()
    async with held:
        await fold()
    took = time.thread_time() - began
    return [
        Figure(name=name, value=took * 1e3, unit="ms", floor=floor * 1e3),
        _late("… the longest that it holds the loop", held.most * 1e3),
    ]


def _pause(name: str, ask: Callable[[], object]) -> Figure:
    began = time.thread_time()
    ask()
    return _late(name, (time.thread_time() - began) * 1e3)


def _late(name: str, value: float) -> Figure:
    return Figure(name=name, value=value, unit="ms", aim=f"below {AIM:g} ms", met=value < AIM)


def _read(db: sqlite3.Connection, *kinds: str) -> float:
    began = time.process_time()
    for _, body in db.execute(READ, kinds):
        json.loads(body)
    return time.process_time() - began


def _fill(db: sqlite3.Connection, entries: int, now: float) -> None:
    dump = with_engine_kinds(SOUL_KINDS).dump
    with db:
        for number, (thread, event) in enumerate(islice(_lived(), entries)):
            closes = [number // LENGTH * LENGTH + 2] if isinstance(event, SoulTurnEnded) else []
            row = (thread, event.kind, dump(event), str(number), json.dumps(closes), now - 86_400.0)
            db.execute(INSERT, row)


def _lived() -> Iterator[tuple[str, Event]]:
    learned: dict[tuple[int, int], int] = {}
    for number in range(sys.maxsize):
        channel, person = number % CHANNELS, number % PEOPLE
        opened = ConversationOpened(
            team="T",
            channel=f"C{channel}",
            ts=f"{number}.000001",
            where="channel",
            place=f"#c{channel}",
            audience="public",
            user=f"U{person}",
            called_by=f"{number}.000001",
        )
        since = learned.get((channel, person), 0)
        learned[channel, person] = number * LENGTH + LENGTH
        said = IncomingMessage(address="mention", user=f"U{person}", name="Alice", text="hello " * 30, ts="1")
        ended = SoulTurnEnded(outcome="completed")
        knows = PersonModelWritten(person=f"U{person}", name="Alice", text="likes tea", since=since)
        moods = [MoodChanged(mood="calm")] * (LENGTH - 4)
        for event in (opened, said, *moods, ended, knows):
            yield f"s{number}", event
