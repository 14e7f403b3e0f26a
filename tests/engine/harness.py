"""The crash harness of the engine alone: a case kills a life at a boundary, lets others go on, and checks.

A life is a forked process that runs a scenario's program over a journal. Boundaries are before and after each
commit, and after each effect. It imports `daemon.engine` and nothing else of the daemon.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from daemon.engine.event import Event, Input, Rank
from daemon.engine.journal import Journal, reading
from daemon.engine.kinds import Asked, Waiting
from daemon.engine.verify import verify
from daemon.engine.worker import Program, Worker
from daemon.engine.writer import Append, Result, Writer

MEMORY = Path("/dev/shm")
"""A kill loses no page of memory: journals live there where they can, and their fsync is free."""
LIFE_SECONDS = 20
MANY_LIVES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Input):
    """Somebody said something."""

    kind: ClassVar[str] = "said"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed(Input):
    """Somebody pressed a button."""

    kind: ClassVar[str] = "pressed"
    rank: ClassVar[Rank] = Rank.ANSWER
    text: str


class Boundary:
    """The counter of one life; told a number, it kills its process there."""

    count = 0
    at = 0
    every = 0

    @classmethod
    def reach(cls) -> None:
        cls.count += 1
        if cls.count == cls.at or (cls.every and cls.count % cls.every == 0):
            signal.pthread_kill(threading.get_ident(), signal.SIGKILL)


class MortalWriter(Writer):
    """The journal's writer, with a boundary before and after each commit."""

    def commit(self, batch: Sequence[Append]) -> list[Result]:
        Boundary.reach()
        results = super().commit(batch)
        Boundary.reach()
        return results


class PhaseClock:
    """Time stands still in a phase, and an hour lies between two."""

    def __init__(self, phase: int) -> None:
        self._now = 1_790_000_000.0 + 3600 * phase

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comes:
    """An input that the world brings. `answers` is a part of the key of a question that waits then."""

    thread: str
    event: Input
    phase: int = 0
    answers: str = ""


class World:
    """What lives outside: its effects are lines in a file."""

    def __init__(self, home: Path) -> None:
        self._path = home / "world.jsonl"

    async def do(self, name: str, **more: Any) -> str:
        """An effect, after which one may be killed."""
        await asyncio.sleep(0)
        with self._path.open("a") as file:
            file.write(json.dumps({"name": name, **more}) + "\n")
        Boundary.reach()
        return f"{name} done"

    def done(self) -> list[dict[str, Any]]:
        """All effects, in order."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text().splitlines()]


Build = Callable[[World], Program]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Programs by life (the last one stays), what comes, and what must be true in the end."""

    programs: Sequence[Build]
    comes: Sequence[Comes]
    check: Callable[[World, Sequence[Any]], str | None]
    kinds: Sequence[type[Event]] = (Said, Pressed)
    phases: int = 1
    may_wait: bool = False
    by_phase: bool = False
    """Are the programs those of the phases, and not of the lives?"""


async def live(
    home: Path, scenario: Scenario, phase: int, lives: int, *, replays_always: bool = False
) -> None:
    """One life: take what the world brings, and go on until nothing is left to do now."""
    world, clock = World(home), PhaseClock(phase)
    number = phase if scenario.by_phase else lives
    program = scenario.programs[min(number, len(scenario.programs) - 1)](world)
    async with Journal(home / "journal.db", clock, scenario.kinds, MortalWriter) as journal:
        await _bring(journal, scenario, phase)
        async with Worker(journal, clock, program, replays_always=replays_always) as worker:
            await worker.idle()
    (home / f"points.{phase}").write_text(str(Boundary.count))


async def _bring(journal: Journal, scenario: Scenario, phase: int) -> None:
    for number, comes in enumerate(scenario.comes):
        if comes.phase > phase or journal.get(f"comes:{number}"):
            continue
        event = comes.event
        if comes.answers:
            asked = [entry for entry in journal.pending(Asked) if comes.answers in entry.key]
            if not asked:
                continue
            event = replace(event, answers=asked[-1].key)
        await journal.append(comes.thread, event, key=f"comes:{number}", author="world")


def life(home: Path, scenario: Scenario, phase: int, at: int = 0, every: int = 0) -> int:
    """One life in a process of its own; returns its exit status, negative for a signal."""
    counter = home / "lives"
    lives = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(lives + 1))
    pid = os.fork()
    if pid == 0:
        try:
            Boundary.count, Boundary.at, Boundary.every = 0, at, every
            asyncio.run(asyncio.wait_for(live(home, scenario, phase, lives), LIFE_SECONDS))
            os._exit(0)
        except BaseException:  # noqa: BLE001  whatever ends a life, the process ends with it
            with (home / "errors").open("a") as file:
                traceback.print_exc(file=file)
            os._exit(3)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def case(scenario: Scenario, phase: int = -1, at: int = 0, every: int = 0) -> str | None:
    """Kill at a boundary of a phase (or at each so many of every life), then go on. What went wrong."""
    with home() as folder:
        for current in range(scenario.phases):
            dies_at = at if current == phase else 0
            for _ in range(MANY_LIVES):
                status = life(folder, scenario, current, dies_at, every)
                dies_at = 0
                if status != -signal.SIGKILL:
                    break
            if status:
                errors = folder / "errors"
                return f"a life ended with {status}: {errors.read_text()[-1500:] if errors.exists() else ''}"
        return verdict(folder, scenario)


def verdict(folder: Path, scenario: Scenario) -> str | None:
    """What is wrong in the end: with the journal, with what is left to do, with what the world saw."""
    with reading(folder / "journal.db", scenario.kinds) as journal:
        faults = verify(journal)
        if faults:
            return "; ".join(map(str, faults[:3]))
        left = [
            entry for entry in journal.pending(*journal.kinds) if not isinstance(entry.event, Asked | Waiting)
        ]
        if left:
            return f"left open: {[(entry.kind, entry.key) for entry in left]}"
        waits = journal.pending(Asked, Waiting)
        if waits and not scenario.may_wait:
            return f"still waits: {[entry.key for entry in waits]}"
        return scenario.check(World(folder), journal.since(0, 100_000))


async def replayed(scenario: Scenario) -> str | None:
    """Nobody kills it, but it runs again from the top after each step. What went wrong, if anything."""
    with home() as folder:
        Boundary.at = Boundary.every = 0
        for phase in range(scenario.phases):
            await live(folder, scenario, phase, phase, replays_always=True)
        return verdict(folder, scenario)


def points(scenario: Scenario) -> list[int]:
    """How many boundaries each phase has, from a story without a crash, which is checked, too."""
    with home() as folder:
        for phase in range(scenario.phases):
            status = life(folder, scenario, phase)
            if status:
                raise AssertionError(f"fails without a crash: {(folder / 'errors').read_text()}")
        wrong = verdict(folder, scenario)
        if wrong:
            raise AssertionError(f"wrong without a crash: {wrong}")
        return [int((folder / f"points.{phase}").read_text()) for phase in range(scenario.phases)]


def failures(scenario: Scenario, first: int = 1, each: int = 1) -> dict[str, str]:
    """What goes wrong when it is killed at each boundary, and at every so many of all lives."""
    found = {}
    for phase, count in enumerate(points(scenario)):
        for at in range(first, count + 1, each):
            wrong = case(scenario, phase, at)
            if wrong:
                found[f"phase {phase}, boundary {at}"] = wrong
    for every in (5, 7, 11):
        wrong = case(scenario, every=every)
        if wrong and "ended with -9" not in wrong:
            found[f"each {every}th"] = wrong
    return found


@contextmanager
def home() -> Iterator[Path]:
    """A folder for one case."""
    folder = Path(tempfile.mkdtemp(prefix="engine-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
