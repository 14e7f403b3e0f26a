"""Vocabulary of the crash harnesses.

A *scenario* has *phases*, between which time passes. In a phase *lives* (processes) follow each other until
nothing is left to do; each may be stopped at a *boundary*. A *case* runs a scenario in one Way and returns a
problem or None.
"""

from __future__ import annotations

import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from tests.lives import LIVES, Boundary, ended, fork, lives_in, note, paused, read, wake

MANY_LIVES = 60
TRIES = 5
"""Tries until a case reaches its boundary: batches of commits differ."""
UNREACHED = "its boundary was never reached"
Way = Literal["kill", "stutter", "pause", "meeting", "replay"]
"""Ways of a case:

- *kill*: a life is killed at a boundary; the next one continues;
- *stutter*: each life is killed at every n-th boundary;
- *pause*: a life is stopped, another takes over, then the first wakes up;
- *meeting*: the other is stopped, too, and both continue at once;
- *replay*: no kill; each execution runs again after each step.
"""


Place = TypeVar("Place", int, str)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Case(Generic[Place]):
    """Way and boundary of a run.

    `at`: name or number of a boundary, or the interval of a stutter. `other`: boundary of a meeting's second
    life.
    """

    scenario: str
    way: Way
    at: Place
    phase: int = 0
    other: int = 0


def replay(name: str) -> Case[int]:
    return Case(scenario=name, way="replay", at=0)


class Unreached(Exception): ...


class Scenario(Protocol):
    @property
    def phases(self) -> int: ...

    @property
    def stutters(self) -> Sequence[int]:
        """Intervals of kills that still allow progress."""

    @property
    def pausable(self) -> bool:
        """True if a second life may take over from a stopped one."""


Told = TypeVar("Told", bound=Scenario)
Tried = TypeVar("Tried")


class Harness(ABC, Generic[Told]):
    scenarios: Mapping[str, Told]

    def __init__(self) -> None:
        self._boundaries: dict[str, Sequence[tuple[int, int]]] = {}

    # Differences between harnesses

    @abstractmethod
    def home_for(self, name: str) -> AbstractContextManager[Path]: ...

    @abstractmethod
    async def live(self, home: Path, scenario: Told, phase: int, *, replays: bool) -> None:
        """Run one life."""

    @abstractmethod
    def after_kill(self, home: Path, scenario: Told) -> None:
        """Change the outside before the next life."""

    @abstractmethod
    def after_meeting(self, home: Path) -> str | None: ...

    @abstractmethod
    def verdict(self, home: Path, scenario: Told) -> str | None: ...

    @abstractmethod
    def meetings(self, name: str) -> list[Case[int]]: ...

    # Cases

    def boundaries(self, name: str) -> Sequence[tuple[int, int]]:
        """Return (phase, number) of each boundary of a checked run without crash."""
        if name not in self._boundaries:
            scenario = self.scenarios[name]
            phases = range(scenario.phases)
            with self.home_for(name) as home:
                wrong = self._phases(home, scenario, phases) or self.verdict(home, scenario)
                assert not wrong, f"{name}: without a crash, {wrong}"
                counts = [read(home / f"boundaries.{phase}")[-1] for phase in phases]
            self._boundaries[name] = [(phase, at) for phase in phases for at in range(1, counts[phase] + 1)]
        return self._boundaries[name]

    def kills(self, name: str) -> list[Case[int]]:
        """Return a kill at each boundary, then the stutters."""
        kills = [Case(scenario=name, way="kill", phase=phase, at=at) for phase, at in self.boundaries(name)]
        longest = max(at for _, at in self.boundaries(name))
        stutters = [every for every in self.scenarios[name].stutters if every <= longest]
        return kills + [Case(scenario=name, way="stutter", at=every) for every in stutters]

    def pauses(self, name: str) -> list[Case[int]]:
        if not self.scenarios[name].pausable:
            return []
        return [Case(scenario=name, way="pause", phase=phase, at=at) for phase, at in self.boundaries(name)]

    def cases(self, name: str) -> list[Case[int]]:
        return [*self.kills(name), *self.pauses(name), *self.meetings(name)]

    # Outcomes

    def scenario_of(self, case: Case[int]) -> Told:
        return self.scenarios[case.scenario]

    def outcome(self, case: Case[int]) -> str | None:
        """Return the problem of a case or None."""
        wrong = tried(case, self._told)
        if wrong == UNREACHED and (case.phase, case.at) in self.boundaries(case.scenario):
            return None  # the last boundaries exist only if commits are single
        return wrong

    def _told(self, case: Case[int]) -> str | None:
        scenario = self.scenario_of(case)
        tell = self._stopped if case.way in ("pause", "meeting") else self._killed
        with self.home_for(case.scenario) as home:
            return tell(home, scenario, case) or self.verdict(home, scenario)

    def _killed(self, home: Path, scenario: Told, case: Case[int]) -> str | None:
        every = case.at if case.way == "stutter" else 0
        for phase in range(scenario.phases):
            at = case.at if case.way == "kill" and phase == case.phase else 0
            if wrong := self._phase(home, scenario, phase, at, every, replays=case.way == "replay"):
                return wrong
        if case.way != "replay" and lives_in(home) == scenario.phases:
            raise Unreached
        return None

    def _stopped(self, home: Path, scenario: Told, case: Case[int]) -> str | None:
        if wrong := self._phases(home, scenario, range(case.phase)):
            return wrong
        left = range(case.phase, scenario.phases)
        sleeping, ends = list[int](), list[int]()
        for at in (case.at, case.other) if case.way == "meeting" else (case.at,):
            Boundary.set(at, sent=signal.SIGSTOP)
            pid = self.fork(home, scenario, case.phase)
            end = paused(pid)
            if end is None:
                sleeping.append(pid)
            else:
                ends.append(end)
            (home / "journal.db.lock").unlink(missing_ok=True)
        if not (sleeping or any(ends)):
            raise Unreached
        wrong = None if case.way == "meeting" else self._phases(home, scenario, left)
        ends += wake(*sleeping)
        if any(ends):
            return f"the lives ended with exit {ends}"
        if case.way == "meeting":
            return self.after_meeting(home) or self._phases(home, scenario, left)
        return wrong

    def _phases(self, home: Path, scenario: Told, phases: Iterable[int]) -> str | None:
        return next(filter(None, (self._phase(home, scenario, phase) for phase in phases)), None)

    def _phase(
        self, home: Path, scenario: Told, phase: int, at: int = 0, every: int = 0, *, replays: bool = False
    ) -> str | None:
        """Run lives until one ends; only the first is killed `at` a boundary."""
        for _ in range(MANY_LIVES):
            status = self.life(home, scenario, phase, at, every, replays=replays)
            if status != -signal.SIGKILL:
                return f"a life ended with exit {status}" if status else None
            self.after_kill(home, scenario)
            at = 0
        return "no progress"

    def life(
        self, home: Path, scenario: Told, phase: int, at: int = 0, every: int = 0, *, replays: bool = False
    ) -> int:
        """Run a life; return its exit status."""
        Boundary.set(at, every)
        return ended(self.fork(home, scenario, phase, replays=replays))

    def fork(self, home: Path, scenario: Told, phase: int, *, replays: bool = False) -> int:
        note(home / LIVES, phase)

        async def life() -> None:
            await self.live(home, scenario, phase, replays=replays)
            note(home / f"boundaries.{phase}", Boundary.count)

        return fork(life)


def tried(case: Case[Place], tell: Callable[[Case[Place]], str | None]) -> str | None:
    """Retry a case that missed its boundary."""
    for _ in range(TRIES):
        with contextlib.suppress(Unreached):
            return tell(case)
    return UNREACHED


def problems(cases: Sequence[Tried], outcome: Callable[[Tried], str | None]) -> dict[Tried, str]:
    assert cases, "there is nothing to try"
    return {case: wrong for case in cases if (wrong := outcome(case))}


def soak(
    names: Iterable[str], cases: Callable[[str], Sequence[Tried]], outcome: Callable[[Tried], str | None]
) -> int:
    """Run and print all cases; return the number of failures."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            tried = cases(name)
            outcomes = zip(tried, pool.map(outcome, tried), strict=True)
            found = [f"{case}: {problem}" for case, problem in outcomes if problem]
            counted = f"{name:28} {len(tried):5} cases  {len(found)} went wrong"
            print(counted, *found[:3], sep="\n    ", flush=True)
            wrong += len(found)
    return wrong
