"""What the crash harnesses try, in one vocabulary.

A *scenario* is told in *phases*, between which time goes by. In a phase one *life* follows another: a process
that takes what the world brings and goes on until nothing is left to do, or until it is cut off at one of its
*boundaries* (tests/lives.py). A *case* tells a scenario in one Way, and comes to nothing or to a problem.
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
"""A phase that takes more makes no progress."""
TRIES = 5
"""How often a case is tried until it comes to its boundary: what is committed together may differ."""
UNREACHED = "its boundary was never reached"
Way = Literal["kill", "stutter", "pause", "meeting", "replay"]
"""How a case goes:

- *kill*: a life is killed at a boundary, and the next one goes on;
- *stutter*: each life is killed at every so-manieth boundary;
- *pause*: a life is stopped at a boundary, another one takes over, and then the first one wakes up;
- *meeting*: the other one is stopped, too, and both go on at once;
- *replay*: none is killed, and each execution runs again from the top after each of its steps.
"""


Place = TypeVar("Place", int, str)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Case(Generic[Place]):
    """A way to tell a scenario, and where.

    `at` is the name of a boundary, or its number in this phase; in a stutter, each so-manieth one of all
    lives. `other` is where the second life of a meeting is stopped.
    """

    scenario: str
    way: Way
    at: Place
    phase: int = 0
    other: int = 0


def replay(name: str) -> Case[int]:
    """The case in which no life is killed, and all is read back at once."""
    return Case(scenario=name, way="replay", at=0)


class Unreached(Exception):
    """This time no life came to the boundary of its case."""


class Scenario(Protocol):
    """What every harness has to know of a scenario."""

    @property
    def phases(self) -> int:
        """How many there are."""

    @property
    def stutters(self) -> Sequence[int]:
        """Every how many boundaries all lives may be killed, so that each still gets somewhere."""

    @property
    def pausable(self) -> bool:
        """Whether a second life may take over from one that is stopped."""


Told = TypeVar("Told", bound=Scenario)
Tried = TypeVar("Tried")


class Harness(ABC, Generic[Told]):
    """Scenarios by name, the cases of each, and what a case comes to."""

    scenarios: Mapping[str, Told]

    def __init__(self) -> None:
        self._boundaries: dict[str, Sequence[tuple[int, int]]] = {}

    # What one harness does otherwise than another

    @abstractmethod
    def home_for(self, name: str) -> AbstractContextManager[Path]:
        """A folder in which a scenario is told once."""

    @abstractmethod
    async def live(self, home: Path, scenario: Told, phase: int, *, replays: bool) -> None:
        """One life."""

    @abstractmethod
    def after_kill(self, home: Path, scenario: Told) -> None:
        """What happens outside before the next life."""

    @abstractmethod
    def after_meeting(self, home: Path) -> str | None:
        """What is wrong as soon as two that met have ended."""

    @abstractmethod
    def verdict(self, home: Path, scenario: Told) -> str | None:
        """What is wrong in the end."""

    @abstractmethod
    def meetings(self, name: str) -> list[Case[int]]:
        """Meetings in the first phase."""

    # Which cases there are

    def boundaries(self, name: str) -> Sequence[tuple[int, int]]:
        """The phase and the number of each, from a telling without a crash, which is checked, too."""
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
        """A kill at each boundary, and then the stutters that a phase is long enough for."""
        kills = [Case(scenario=name, way="kill", phase=phase, at=at) for phase, at in self.boundaries(name)]
        longest = max(at for _, at in self.boundaries(name))
        stutters = [every for every in self.scenarios[name].stutters if every <= longest]
        return kills + [Case(scenario=name, way="stutter", at=every) for every in stutters]

    def pauses(self, name: str) -> list[Case[int]]:
        """A pause at each boundary."""
        if not self.scenarios[name].pausable:
            return []
        return [Case(scenario=name, way="pause", phase=phase, at=at) for phase, at in self.boundaries(name)]

    def cases(self, name: str) -> list[Case[int]]:
        """All that there are to be tried."""
        return [*self.kills(name), *self.pauses(name), *self.meetings(name)]

    # What a case comes to

    def scenario_of(self, case: Case[int]) -> Told:
        """The scenario of a case."""
        return self.scenarios[case.scenario]

    def outcome(self, case: Case[int]) -> str | None:
        """Tell it. Returns what went wrong."""
        wrong = tried(case, self._told)
        if wrong == UNREACHED and (case.phase, case.at) in self.boundaries(case.scenario):
            return None  # the last ones are there only where commits are made singly
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
        """Lives, up to one that is not killed; only the first one is killed `at` a boundary."""
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
        """A whole life; returns its exit status, negative for the signal that ended it."""
        Boundary.set(at, every)
        return ended(self.fork(home, scenario, phase, replays=replays))

    def fork(self, home: Path, scenario: Told, phase: int, *, replays: bool = False) -> int:
        """A life in a process of its own, whose boundary is set. Returns its pid."""
        note(home / LIVES, phase)

        async def life() -> None:
            await self.live(home, scenario, phase, replays=replays)
            note(home / f"boundaries.{phase}", Boundary.count)

        return fork(life)


def tried(case: Case[Place], tell: Callable[[Case[Place]], str | None]) -> str | None:
    """What went wrong in a case, which is told again where this time it did not come to its boundary."""
    for _ in range(TRIES):
        with contextlib.suppress(Unreached):
            return tell(case)
    return UNREACHED


def problems(cases: Sequence[Tried], outcome: Callable[[Tried], str | None]) -> dict[Tried, str]:
    """What went wrong in these cases."""
    assert cases, "there is nothing to try"
    return {case: wrong for case in cases if (wrong := outcome(case))}


def soak(
    names: Iterable[str], cases: Callable[[str], Sequence[Tried]], outcome: Callable[[Tried], str | None]
) -> int:
    """Try all cases of these scenarios, and print a line for each. Returns how many went wrong."""
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
