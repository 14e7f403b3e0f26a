"""The crash harness of the engine alone: a case kills a life at a boundary, lets others go on, and checks.

A life runs a scenario's program over a journal. It imports `daemon.engine` and nothing else of the daemon.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from daemon.engine.event import Event, Input, Rank
from daemon.engine.journal import Journal
from daemon.engine.kinds import Asked, Waiting
from daemon.engine.program import Program
from daemon.engine.reading import reading
from daemon.engine.verify import verify
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.lives import Boundary, MortalWriter, ended, paused, wake
from tests.lives import fork as forked
from tests.machine import folder

HOUR = 3600.0
"""Lies between two phases."""
MANY_LIVES = 40
STUTTERS = (13, 11, 17, 23)
"""Every life of a case is killed at so many boundaries; the first few go by until it can take a step."""


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
    answers: str = ""
    text: str


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
    ahead: Sequence[float] = ()
    """Seconds that the clock is ahead in the first phases."""


async def live(
    home: Path, scenario: Scenario, phase: int, lives: int, *, replays_always: bool = False
) -> None:
    """One life: take what the world brings, and go on until nothing is left to do now."""
    began = 1_790_000_000.0 + phase * HOUR
    world, clock = World(home), FakeClock(began)
    clock.set_ahead(sum(scenario.ahead[phase : phase + 1]))
    number = phase if scenario.by_phase else lives
    program = scenario.programs[min(number, len(scenario.programs) - 1)](world)
    async with Journal(home / "journal.db", clock, scenario.kinds, MortalWriter) as journal:
        await _bring(journal, scenario, phase)
        async with Worker(journal, clock, program, replays_always=replays_always) as worker:
            await worker.idle()
            while (
                journal.busy_threads() and clock.steady() < began + HOUR / 2
            ):  # it rests, or must be controlled
                await clock.advance(5)
                await worker.idle()
    (home / f"points.{phase}").write_text(str(Boundary.count))


async def _bring(journal: Journal, scenario: Scenario, phase: int) -> None:
    for number, comes in enumerate(scenario.comes):
        if comes.phase > phase or journal.get(f"comes:{number}"):
            continue
        event = comes.event
        if isinstance(event, Pressed):
            asked = [entry for entry in journal.pending(Asked) if comes.answers in entry.key]
            if not asked:
                continue
            event = replace(event, answers=asked[-1].key)
        await journal.append(comes.thread, event, key=f"comes:{number}", author="world")


def fork(home: Path, scenario: Scenario, phase: int) -> int:
    """A life in a process of its own; the caller has set its boundary. Returns its pid."""
    counter = home / "lives"
    lives = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(lives + 1))
    return forked(lambda: live(home, scenario, phase, lives))


def life(home: Path, scenario: Scenario, phase: int, at: int = 0, every: int = 0) -> int:
    """A whole life; returns its exit status, negative for the signal that ended it."""
    Boundary.set(at, every)
    return ended(fork(home, scenario, phase))


def stopped(scenario: Scenario, at: int, *, meets: bool = False) -> str | None:
    """SIGSTOP at a boundary, the lock deleted, a second worker takes over; then the first one wakes up again.

    With `meets` the second one is stopped there, too, and both go on at once. Returns what went wrong.
    """
    with folder("engine") as home:
        sleeping = []
        for _ in range(2 if meets else 1):
            Boundary.set(at, sent=signal.SIGSTOP)
            pid = fork(home, scenario, 0)
            if paused(pid):
                sleeping.append(pid)
            (home / "journal.db.lock").unlink(missing_ok=True)
        wrong = None if meets else _without_a_kill(home, scenario)
        wake(*sleeping)
        return wrong or _without_a_kill(home, scenario) or verdict(home, scenario)


def _without_a_kill(home: Path, scenario: Scenario) -> str | None:
    """One life in each phase. Returns what went wrong."""
    for phase in range(scenario.phases):
        status = life(home, scenario, phase)
        if status:
            return f"a life ended with exit {status}"
    return None


def killed(scenario: Scenario, phase: int = -1, at: int = 0, every: int = 0) -> str | None:
    """SIGKILL at a boundary (or at each k-th one of every life), then go on. Returns what went wrong."""
    with folder("engine") as home:
        for current in range(scenario.phases):
            dies_at = at if current == phase else 0
            for _ in range(MANY_LIVES):
                status = life(home, scenario, current, dies_at, every)
                dies_at = 0
                if status != -signal.SIGKILL:
                    break
            if status:
                return f"a life ended with exit {status}"
        return verdict(home, scenario)


def verdict(home: Path, scenario: Scenario) -> str | None:
    """What is wrong in the end: with the journal, with what is left to do, with what the world saw."""
    with reading(home / "journal.db", scenario.kinds) as journal:
        broken = verify(journal).violations
        if broken:
            return "; ".join(map(str, broken[:3]))
        left = [
            entry for entry in journal.pending(*journal.kinds) if not isinstance(entry.event, Asked | Waiting)
        ]
        if left:
            return f"left open: {[(entry.kind, entry.key) for entry in left]}"
        waits = journal.pending(Asked, Waiting)
        if waits and not scenario.may_wait:
            return f"still waits: {[entry.key for entry in waits]}"
        return scenario.check(World(home), journal.since(0, 100_000))


async def replayed(scenario: Scenario) -> str | None:
    """Nobody kills it, but it runs again from the top after each step. What went wrong, if anything."""
    with folder("engine") as home:
        Boundary.set(0)
        for phase in range(scenario.phases):
            await live(home, scenario, phase, phase, replays_always=True)
        return verdict(home, scenario)


def points(scenario: Scenario) -> list[int]:
    """How many boundaries each phase has, from a story without a crash, which is checked, too."""
    with folder("engine") as home:
        wrong = _without_a_kill(home, scenario) or verdict(home, scenario)
        assert not wrong, f"wrong without a crash: {wrong}"
        return [int((home / f"points.{phase}").read_text()) for phase in range(scenario.phases)]


def pauses(scenario: Scenario, first: int = 1, each: int = 1) -> dict[str, str]:
    """What goes wrong when a worker stops at each boundary of the first phase, or two meet there."""
    found = {}
    for at in range(first, points(scenario)[0] + 1, each):
        for meets in (False, True):
            wrong = stopped(scenario, at, meets=meets)
            if wrong:
                found[f"boundary {at}, {'met' if meets else 'stopped'}"] = wrong
    return found


def failures(
    scenario: Scenario, first: int = 1, each: int = 1, stutters: Sequence[int] = STUTTERS[:1]
) -> dict[str, str]:
    """What goes wrong when it is killed at each boundary, and at every so many of all lives."""
    found = {}
    for phase, count in enumerate(points(scenario)):
        for at in range(first, count + 1, each):
            wrong = killed(scenario, phase, at)
            if wrong:
                found[f"phase {phase}, boundary {at}"] = wrong
    for every in stutters:
        wrong = killed(scenario, every=every)
        if wrong and "exit -9" not in wrong:
            found[f"each {every}th"] = wrong
    return found
