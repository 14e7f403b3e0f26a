"""Crashes simulated in virtual time over a real journal and the engine's own crash records."""

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
from daemon.engine.worker import SWEEP_SECONDS

PAUSE = 0.2
"""Seconds until a dead worker restarts."""
MOST_RUNS = 150
"""Longer simulations make no progress."""


@dataclass(kw_only=True)
class SimulatedThread:
    """Turn of steps of equal length in seconds; one may be `deadly`."""

    name: str
    steps: int = 3
    model: float = 1.5
    deadly: int | None = None
    fuse: float = 0.3
    frail: bool = False
    """True if the worker dies after each step, never twice at the same one."""
    done: int = 0
    ended: bool = False
    given_up: bool = False
    run: int = 0
    """Worker run that ended it."""


@dataclass(frozen=True, kw_only=True)
class SimulationResult:
    threads: Sequence[SimulatedThread]
    crashes: int
    suspicions: int

    @property
    def wronged(self) -> list[str]:
        """Innocent turns that were given up."""
        return [thread.name for thread in self.threads if thread.given_up and thread.deadly is None]

    @property
    def unsettled(self) -> list[str]:
        """Innocent turns without an answer, and deadly ones not given up."""
        return [
            thread.name
            for thread in self.threads
            if not (thread.given_up if thread.deadly is not None else thread.ended)
        ]


@dataclass(kw_only=True)
class SimulatedWorld:
    """Clock and worker runs; `stops`: kills are orderly stops."""

    threads: Sequence[SimulatedThread]
    kills: list[float]
    draw: random.Random
    stops: bool = False
    now: float = 1_790_000_000.0
    crashes: int = 0
    run: int = 1
    began: dict[str, Entry[TurnBegan]] = field(default_factory=dict)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class SimulatedClock:
    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world

    def now(self) -> float:
        return self._world.now

    def steady(self) -> float:
        return self._world.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def draw_short_runs(draw: random.Random, count: int) -> list[float]:
    return [draw.uniform(0.3, 1.2) for _ in range(count)]


async def simulate(
    folder: Path, threads: Sequence[SimulatedThread], kills: Sequence[float], seed: int, stops: bool = False
) -> SimulationResult:
    world = SimulatedWorld(threads=threads, kills=list(kills), draw=random.Random(seed), stops=stops)
    async with Journal(folder / f"simulation-{seed}.db", SimulatedClock(world), []) as journal:
        for thread in threads:
            event = TurnBegan(execution=f"{thread.name}@1", inputs=())
            key = f"{thread.name}@1/began"
            world.began[thread.name], _ = await journal.append(thread.name, event, key=key)
        while world.run < MOST_RUNS and await SimulatedRun(world, journal).run():
            world.now += PAUSE
            world.run += 1
        suspicions = sum(bool(started.event.standings) for started in journal.entries_of_kind(WorkerStarted))
    return SimulationResult(threads=threads, crashes=world.crashes, suspicions=suspicions)


class SimulatedRun:
    def __init__(self, world: SimulatedWorld, journal: Journal) -> None:
        self._world = world
        self._journal = journal
        self._working: set[str] = set()
        self._events: list[tuple[float, str, str]] = []

    async def run(self) -> bool:
        """Run until all threads have ended; return True if killed before."""
        world = self._world
        self._suspects = await record_worker_start(self._journal, SimulatedClock(world), "worker")
        self._life = self._suspects.life
        doom = world.now + world.kills.pop(0) if world.kills else float("inf")
        heapq.heappush(self._events, (world.now + SWEEP_SECONDS, "", "second"))
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
                world.crashes += 1
                return True
            await (self._second() if what == "second" else self._step(name))
            await self._sweep()
        return False

    def _left(self) -> list[SimulatedThread]:
        return [thread for thread in self._world.threads if not thread.ended]

    async def _second(self) -> None:
        await self._suspects.record_lifetime(SWEEP_SECONDS)
        heapq.heappush(self._events, (self._world.now + SWEEP_SECONDS, "", "second"))

    async def _sweep(self) -> None:
        for thread in self._left():
            if thread.name not in self._working and self._suspects.may_take_turn(thread.name):
                await self._begin(thread)

    async def _begin(self, thread: SimulatedThread) -> None:
        began = self._world.began[thread.name]
        key = f"{thread.name}@1!attempt#{self._life}"
        event = TurnResumed(attempt=2, life=self._life)
        await self._journal.append(thread.name, event, key=key, cause=began.seq)
        if crash_record(self._journal, self._life, began).counted >= MAX_FAILURES:
            thread.given_up = True
            await self._end(thread)
        else:
            self._working.add(thread.name)
            self._go_on(thread)

    def _go_on(self, thread: SimulatedThread) -> None:
        dies = thread.deadly == thread.done
        seconds = thread.fuse if dies else thread.model * self._world.draw.uniform(0.9, 1.1)
        heapq.heappush(self._events, (self._world.now + seconds, thread.name, "dies" if dies else "step"))

    async def _step(self, name: str) -> None:
        thread = next(thread for thread in self._world.threads if thread.name == name)
        thread.done += 1
        await self._journal.append(name, StepResult(), key=f"{name}@1/step#{thread.done}")
        if thread.done == thread.steps:
            await self._end(thread)
        elif thread.frail:
            heapq.heappush(self._events, (self._world.now + thread.fuse, thread.name, "dies"))
        else:
            self._go_on(thread)

    async def _end(self, thread: SimulatedThread) -> None:
        thread.ended = True
        thread.run = self._world.run
        self._working.discard(thread.name)
        closes = [self._world.began[thread.name].seq]
        event = TurnEnded(outcome="completed")
        await self._journal.append(thread.name, event, key=f"{thread.name}@1/ended", closes=closes)
