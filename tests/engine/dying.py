"""Crashes simulated in virtual time over a real journal and the daemon's own crash records."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import StepResult, TurnBegan, TurnEnded, TurnResumed, WorkerStarted
from daemon.engine.retries import MAX_FAILURES, crash_record, record_worker_start
from daemon.engine.worker import SWEEP

PAUSE = 0.2
"""Seconds until a dead daemon restarts."""
MANY_LIVES = 150
"""Longer histories make no progress."""


@dataclass(kw_only=True)
class Talk:
    """Conversation of steps of equal length in seconds; one may be `deadly`."""

    name: str
    steps: int = 3
    model: float = 1.5
    deadly: int | None = None
    fuse: float = 0.3
    frail: bool = False
    """True if the daemon dies after each step, never twice at the same one."""
    done: int = 0
    ended: bool = False
    given_up: bool = False
    life: int = 0


@dataclass(frozen=True, kw_only=True)
class History:
    talks: Sequence[Talk]
    deaths: int
    suspicions: int

    @property
    def wronged(self) -> list[str]:
        """Innocent turns that were given up."""
        return [talk.name for talk in self.talks if talk.given_up and talk.deadly is None]

    @property
    def unsettled(self) -> list[str]:
        """Innocent turns without an answer, and deadly ones not given up."""
        return [
            talk.name for talk in self.talks if not (talk.given_up if talk.deadly is not None else talk.ended)
        ]


@dataclass(kw_only=True)
class World:
    """Clock and lives; `stops`: kills are orderly stops."""

    talks: Sequence[Talk]
    kills: list[float]
    draw: random.Random
    stops: bool = False
    now: float = 1_790_000_000.0
    deaths: int = 0
    life: int = 1
    began: dict[str, Entry[TurnBegan]] = field(default_factory=dict)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Clock:
    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> float:
        return self._world.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def short(draw: random.Random, count: int) -> list[float]:
    return [draw.uniform(0.3, 1.2) for _ in range(count)]


async def history(
    folder: Path, talks: Sequence[Talk], kills: Sequence[float], seed: int, stops: bool = False
) -> History:
    world = World(talks=talks, kills=list(kills), draw=random.Random(seed), stops=stops)
    async with Journal(folder / f"dying-{seed}.db", Clock(world), []) as journal:
        for talk in talks:
            event = TurnBegan(execution=f"{talk.name}@1", inputs=())
            key = f"{talk.name}@1/began"
            world.began[talk.name], _ = await journal.append(talk.name, event, key=key)
        while world.life < MANY_LIVES and await Life(world, journal).killed():
            world.now += PAUSE
            world.life += 1
        suspicions = sum(bool(life.event.standings) for life in journal.entries_of_kind(WorkerStarted))
    return History(talks=talks, deaths=world.deaths, suspicions=suspicions)


class Life:
    def __init__(self, world: World, journal: Journal) -> None:
        self._world = world
        self._journal = journal
        self._working: set[str] = set()
        self._events: list[tuple[float, str, str]] = []

    async def killed(self) -> bool:
        """Run until done, or return True when killed."""
        world = self._world
        self._suspects = await record_worker_start(self._journal, Clock(world), "worker")
        self._life = self._suspects.life
        doom = world.now + world.kills.pop(0) if world.kills else float("inf")
        heapq.heappush(self._events, (world.now + SWEEP, "", "second"))
        await self._sweep()
        while self._left():
            at, name, what = heapq.heappop(self._events)
            if at >= doom:
                world.now = doom
                if world.stops:
                    await self._suspects.end_life()
                return True
            world.now = at
            if what == "dies":
                world.deaths += 1
                return True
            await (self._second() if what == "second" else self._step(name))
            await self._sweep()
        return False

    def _left(self) -> list[Talk]:
        return [talk for talk in self._world.talks if not talk.ended]

    async def _second(self) -> None:
        await self._suspects.record_lifetime(SWEEP)
        heapq.heappush(self._events, (self._world.now + SWEEP, "", "second"))

    async def _sweep(self) -> None:
        for talk in self._left():
            if talk.name not in self._working and self._suspects.may_take_turn(talk.name):
                await self._begin(talk)

    async def _begin(self, talk: Talk) -> None:
        began = self._world.began[talk.name]
        key = f"{talk.name}@1!attempt#{self._life}"
        event = TurnResumed(attempt=2, life=self._life)
        await self._journal.append(talk.name, event, key=key, cause=began.seq)
        if crash_record(self._journal, self._life, began).counted >= MAX_FAILURES:
            talk.given_up = True
            await self._end(talk)
        else:
            self._working.add(talk.name)
            self._go_on(talk)

    def _go_on(self, talk: Talk) -> None:
        dies = talk.deadly == talk.done
        seconds = talk.fuse if dies else talk.model * self._world.draw.uniform(0.9, 1.1)
        heapq.heappush(self._events, (self._world.now + seconds, talk.name, "dies" if dies else "step"))

    async def _step(self, name: str) -> None:
        talk = next(talk for talk in self._world.talks if talk.name == name)
        talk.done += 1
        await self._journal.append(name, StepResult(), key=f"{name}@1/step#{talk.done}")
        if talk.done == talk.steps:
            await self._end(talk)
        elif talk.frail:
            heapq.heappush(self._events, (self._world.now + talk.fuse, talk.name, "dies"))
        else:
            self._go_on(talk)

    async def _end(self, talk: Talk) -> None:
        talk.ended = True
        talk.life = self._world.life
        self._working.discard(talk.name)
        closes = [self._world.began[talk.name].seq]
        event = TurnEnded(outcome="completed")
        await self._journal.append(talk.name, event, key=f"{talk.name}@1/ended", closes=closes)
