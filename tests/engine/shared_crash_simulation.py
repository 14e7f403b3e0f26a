"""Crashes of several daemons that share a journal, simulated in virtual time with the engine's own judges."""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import StepResult, TurnBegan, TurnEnded, TurnResumed, WorkerDied
from daemon.engine.retries import MAX_FAILURES, CrashGuard
from daemon.engine.shared_suspects import begin_life
from daemon.engine.tree_share import RunTree, WorkerName
from daemon.engine.worker import SWEEP_SECONDS
from tests.engine.crash_simulation import SimulatedClock, SimulatedThread, SimulatedWorld, SimulationResult

COUNTED_AFTER = (1.5, 4.0)
"""Seconds until a daemon counts as dead: killed, and silent."""
RESTART = (0.2, 20.0)
"""Least and most seconds until a dead daemon is started again."""
MOST_EVENTS = 40_000
"""A longer simulation makes no progress."""


@dataclass(frozen=True, kw_only=True)
class SharedResult(SimulationResult):
    deaths_by_turn: dict[str, int]
    """Deaths of daemons by which thread killed them."""


@dataclass(eq=False)
class SimulatedDaemon:
    """Daemon of one machine; `guard` is None while it is dead."""

    machine: str
    guard: CrashGuard | None = None
    worker: WorkerName | None = None
    runs: set[str] = field(default_factory=set)
    lives: int = 0


class SimulatedShare:
    """Share of one simulated daemon."""

    follows = True
    is_sure = True

    def __init__(self, simulation: SharedSimulation, name: WorkerName) -> None:
        self._simulation = simulation
        self.name = name

    def may_take(self, thread: str) -> bool:
        return True

    def note_busy(self, thread: str, *, keeps: bool = False) -> None:
        raise NotImplementedError

    def take_no_more(self) -> None:
        raise NotImplementedError

    def serve(self, run_tree: RunTree) -> Any:
        return nullcontext()

    async def find_dead(self, workers: Collection[WorkerName]) -> Collection[WorkerName]:
        return [one for one in workers if one in self._simulation.counted]


class SharedSimulation:
    """Daemons, each of which takes turns that no other runs.

    `kills` from outside are pairs: seconds, and number of daemons.
    """

    def __init__(self, journal: Journal, world: SimulatedWorld, machines: int) -> None:
        self._journal = journal
        self._world = world
        self._daemons = [SimulatedDaemon(f"m{n}") for n in range(machines)]
        self._events: list[tuple[float, int, str, Any]] = []
        self._order = count()
        self._ids = count(1)
        self.counted = set[WorkerName]()
        self.deaths: dict[str, int] = {}

    def at(self, seconds: float, what: str, about: Any = None) -> None:
        heapq.heappush(self._events, (self._world.now + seconds, next(self._order), what, about))

    async def run(self, kills: Sequence[tuple[float, int]]) -> None:
        for daemon in self._daemons:
            await self._start(daemon)
        for at, number in kills:
            self.at(at, "kill", number)
        self.at(0, "sweep")
        for _ in range(MOST_EVENTS):
            if all(thread.ended for thread in self._world.threads):
                return
            at, _, what, about = heapq.heappop(self._events)
            self._world.now = at
            await self._happen(what, about)

    async def _happen(self, what: str, about: Any) -> None:
        draw = self._world.draw
        if what == "sweep":
            await self._sweep()
            self.at(SWEEP_SECONDS / 4, "sweep")
        elif what == "second":
            await self._second(*about)
        elif what == "start":
            await self._start(about)
        elif what == "counted":
            self.counted.add(about)
        elif what == "kill":
            living = [daemon for daemon in self._daemons if daemon.guard]
            for daemon in draw.sample(living, min(about, len(living))):
                self._die(daemon)
        else:
            await self._go_on(what, *about)

    async def _start(self, daemon: SimulatedDaemon) -> None:
        if daemon.worker and daemon.worker not in self.counted:
            self.at(0.5, "start", daemon)
            return
        daemon.worker = WorkerName(daemon.machine, next(self._ids))
        share = SimulatedShare(self, daemon.worker)
        daemon.guard = await begin_life(self._journal, SimulatedClock(self._world), "worker", share)
        daemon.lives += 1
        self.at(SWEEP_SECONDS, "second", (daemon, daemon.lives))

    def _die(self, daemon: SimulatedDaemon) -> None:
        daemon.guard = None
        daemon.runs.clear()
        self.at(self._world.draw.choice(COUNTED_AFTER), "counted", daemon.worker)
        self.at(self._world.draw.uniform(*RESTART), "start", daemon)

    async def _second(self, daemon: SimulatedDaemon, life: int) -> None:
        if daemon.guard and daemon.lives == life:
            await daemon.guard.judge_dead_workers()
            await daemon.guard.record_lifetime(SWEEP_SECONDS)
            self.at(SWEEP_SECONDS, "second", (daemon, life))

    async def _sweep(self) -> None:
        """Give each thread that nobody runs to any daemon that may take its turn."""
        for thread in self._world.threads:
            if thread.ended:
                continue
            living = [daemon for daemon in self._daemons if daemon.guard]
            self._world.draw.shuffle(living)
            for daemon in living:
                assert daemon.guard
                if not daemon.guard.keeper_of(thread.name) and daemon.guard.may_take_turn(thread.name):
                    await self._begin(thread, daemon, daemon.guard)
                    break

    async def _begin(self, thread: SimulatedThread, daemon: SimulatedDaemon, guard: CrashGuard) -> None:
        began = self._world.began[thread.name]
        thread.run += 1
        event = TurnResumed(attempt=thread.run, life=guard.life)
        key = f"{thread.name}@1!attempt#{thread.run}"
        await self._journal.append(thread.name, event, key=key, cause=began.seq)
        if guard.record_of(began).counted >= MAX_FAILURES:
            thread.given_up = True
            await self._end(thread)
            return
        daemon.runs.add(thread.name)
        self._plan(thread, daemon)

    def _plan(self, thread: SimulatedThread, daemon: SimulatedDaemon) -> None:
        dies = thread.deadly == thread.done
        seconds = thread.fuse if dies else thread.model * self._world.draw.uniform(0.9, 1.1)
        self.at(seconds, "dies" if dies else "step", (thread, daemon, daemon.lives, thread.run))

    async def _go_on(
        self, what: str, thread: SimulatedThread, daemon: SimulatedDaemon, life: int, run: int
    ) -> None:
        if daemon.lives != life or thread.name not in daemon.runs or thread.run != run:
            return
        if what == "dies":
            self._world.crashes += 1
            self.deaths[thread.name] = self.deaths.get(thread.name, 0) + 1
            self._die(daemon)
            return
        thread.done += 1
        await self._journal.append(thread.name, StepResult(), key=f"{thread.name}@1/step#{thread.done}")
        if thread.done == thread.steps:
            daemon.runs.discard(thread.name)
            await self._end(thread)
        elif thread.frail:
            self.at(thread.fuse, "dies", (thread, daemon, life, run))
        else:
            self._plan(thread, daemon)

    async def _end(self, thread: SimulatedThread) -> None:
        thread.ended = True
        closes = [self._world.began[thread.name].seq]
        event = TurnEnded(outcome="completed")
        await self._journal.append(thread.name, event, key=f"{thread.name}@1/ended", closes=closes)


async def simulate_shared(
    folder: Path,
    threads: Sequence[SimulatedThread],
    *,
    seed: int,
    machines: int = 3,
    kills: Sequence[tuple[float, int]] = (),
) -> SharedResult:
    """Simulate until all turns have ended or were given up; `kills` are (second, number of daemons)."""
    world = SimulatedWorld(threads=threads, kills=[], draw=random.Random(seed))
    async with Journal(folder / f"shared-{seed}.db", SimulatedClock(world), []) as journal:
        for thread in threads:
            event = TurnBegan(execution=f"{thread.name}@1", inputs=())
            key = f"{thread.name}@1/began"
            world.began[thread.name], _ = await journal.append(thread.name, event, key=key)
        simulation = SharedSimulation(journal, world, machines)
        await simulation.run(kills)
        verdicts = journal.entries_of_kind(WorkerDied)
    suspicions = sum(bool(died.event.standings) for died in verdicts)
    return SharedResult(
        threads=threads, crashes=world.crashes, suspicions=suspicions, deaths_by_turn=simulation.deaths
    )
