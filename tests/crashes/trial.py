"""Trials: worker runs of a scenario, one after another until nothing is left to do, then a check."""

from __future__ import annotations

import signal
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from tests.crashes.cases import CrashCase, Injection, KillPointNotReached, Place
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint
from tests.crashes.scenario import Scenario
from tests.crashes.worker_runs import RUNS, WorkerRun, count_runs, fork, resume

AnyScenario = TypeVar("AnyScenario", bound=Scenario)


class Trial(ABC, Generic[AnyScenario, Place]):
    """Scenario in a home, which outlives worker runs."""

    most_runs = 60
    """Runs of a phase; more make no progress."""

    def __init__(self, home: Path, scenario: AnyScenario) -> None:
        self.home = home
        self.scenario = scenario

    @property
    def phases(self) -> range:
        """Phases with worker runs of their own."""
        return range(self.scenario.phases)

    # Differences between harnesses

    @abstractmethod
    def fork_worker(self, phase: int, injection: Injection[Place]) -> WorkerRun: ...

    @abstractmethod
    def kill_points(self) -> Sequence[tuple[int, Place]]:
        """Return phase and place of each kill point of the runs so far, which had no fault."""

    @abstractmethod
    def check(self) -> None:
        """Raise AssertionError with a violation of the scenario's rules."""

    def after_kill(self) -> None:
        """Change the world before the next run."""

    def after_split_brain(self) -> str | None:
        """Return a violation by the two resumed workers."""
        return None

    def has_unfinished_work(self) -> bool:
        """True if a resumed worker left work to the next run."""
        return False

    # Worker runs

    def start(self, phase: int, injection: Injection[Place]) -> WorkerRun:
        append_line(self.home / RUNS, phase)
        return self.fork_worker(phase, injection)

    def run(self, phase: int, injection: Injection[Place] | None = None) -> int:
        """Return the exit status of one run."""
        return self.start(phase, injection or Injection()).wait()

    def run_phase(self, phase: int, injection: Injection[Place] | None = None) -> str | None:
        """Run workers until one ends by itself; `at` a kill point, kill only the first."""
        for _ in range(self.most_runs):
            status = self.run(phase, injection)
            if status != -signal.SIGKILL:
                return f"a run ended with exit {status}" if status else None
            self.after_kill()
            injection = replace(injection, at=None) if injection else None
        return "no progress"

    def run_phases(self, phases: Iterable[int]) -> str | None:
        return next(filter(None, map(self.run_phase, phases)), None)

    # Faults

    def inject(self, case: CrashCase[Place]) -> str | None:
        """Run the scenario with the case's fault; return a violation."""
        if case.fault == "pause":
            return self._pause(case)
        if case.fault == "split-brain":
            return self._split_brain(case)
        return self._kill(case)

    def _kill(self, case: CrashCase[Place]) -> str | None:
        first = case.injection()
        later = replace(first, at=None)
        for phase in self.phases:
            if violation := self.run_phase(phase, first if phase == case.phase else later):
                return violation
        if case.fault != "replay" and count_runs(self.home) == len(self.phases):
            raise KillPointNotReached
        return None

    def _pause(self, case: CrashCase[Place]) -> str | None:
        rest = self.phases[case.phase :]
        if violation := self.run_phases(self.phases[: case.phase]):
            return violation
        paused, statuses = self._start_paused(case.phase, [case.injection()])
        violation = self.run_phases(rest)
        statuses += resume(*paused)
        if any(statuses):
            return f"the runs ended with exit {statuses}"
        if not violation and self.has_unfinished_work():
            return self.run_phases(rest)
        return violation

    def _split_brain(self, case: CrashCase[Place]) -> str | None:
        if violation := self.run_phases(self.phases[: case.phase]):
            return violation
        both = [case.injection(), replace(case.injection(), at=case.other)]
        paused, statuses = self._start_paused(case.phase, both)
        statuses += resume(*paused)
        if any(statuses):
            return f"the runs ended with exit {statuses}"
        return self.after_split_brain() or self.run_phases(self.phases[case.phase :])

    def _start_paused(
        self, phase: int, injections: Sequence[Injection[Place]]
    ) -> tuple[list[WorkerRun], list[int]]:
        """Return paused runs, and exit statuses of those that missed their kill points."""
        paused, statuses = list[WorkerRun](), list[int]()
        for injection in injections:
            worker = self.start(phase, injection)
            status = worker.wait_until_paused()
            if status is None:
                paused.append(worker)
            else:
                statuses.append(status)
            (self.home / "journal.db.lock").unlink(missing_ok=True)
        if not (paused or any(statuses)):
            raise KillPointNotReached
        return paused, statuses

    # Check

    def violation(self) -> str | None:
        return violation_of(self.check)


def violation_of(check: Callable[[], None]) -> str | None:
    """Return the message of a failed check."""
    try:
        check()
    except AssertionError as error:
        return str(error) or "".join(traceback.format_exception(error))
    return None


class CountingTrial(Trial[AnyScenario, int]):
    """Trial whose runs count their kill points."""

    @abstractmethod
    async def work(self, phase: int, *, replays: bool) -> None:
        """Work in a process of its own until nothing is left to do."""

    def fork_worker(self, phase: int, injection: Injection[int]) -> WorkerRun:
        KillPoint.arm(injection.at or 0, injection.every, injection.sent)

        async def work() -> None:
            await self.work(phase, replays=injection.replays)
            append_line(self._counts(phase), KillPoint.count)

        return fork(work)

    def kill_points(self) -> Sequence[tuple[int, int]]:
        counts = {phase: read_lines(self._counts(phase))[-1] for phase in self.phases}
        return [(phase, at) for phase, count in counts.items() for at in range(1, count + 1)]

    def _counts(self, phase: int) -> Path:
        return self.home / f"kill-points.{phase}"
