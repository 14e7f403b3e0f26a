"""Crash harness: cases of scenarios, and their violations."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Generic

from tests.crashes.cases import CrashCase, Fault, Injection, KillPointNotReached, Place
from tests.crashes.trial import AnyScenario, Trial

TRIES = 5
"""Tries until a case reaches its kill point: batches of commits differ."""
NOT_REACHED = "its kill point was never reached"


class CrashHarness(ABC, Generic[AnyScenario, Place]):
    """Scenarios of one layer, with the faults that fit them."""

    scenarios: Mapping[str, AnyScenario]
    """Attribute of the class: other processes get no copy."""
    spare = 0
    """Kill points that a run may lack when commits are batched."""

    def __init__(self) -> None:
        self._kill_points: dict[str, Sequence[tuple[int, Place]]] = {}

    # Differences between harnesses

    @abstractmethod
    def open_trial(
        self, scenario: AnyScenario, injection: Injection[Place]
    ) -> AbstractContextManager[Trial[AnyScenario, Place]]:
        """Open a home and world; `injection`: of the first run with a fault."""

    def scenario_of(self, case: CrashCase[Place]) -> AnyScenario:
        return self.scenarios[case.scenario]

    def may_miss(self, case: CrashCase[Place]) -> bool:
        """True if a kill point exists only in some runs."""
        return False

    # Cases

    def kill_points(self, name: str) -> Sequence[tuple[int, Place]]:
        """Return phase and place of each kill point of a checked run without fault."""
        if name not in self._kill_points:
            with self.open_trial(self.scenarios[name], Injection()) as trial:
                violation = trial.run_phases(trial.phases) or trial.violation()
                assert not violation, f"{name}: without a fault, {violation}"
                self._kill_points[name] = trial.kill_points()
        return self._kill_points[name]

    def cases(self, name: str) -> list[CrashCase[Place]]:
        return [*self.kills(name), *self.pauses(name), *self.split_brains(name)]

    def kills(self, name: str) -> list[CrashCase[Place]]:
        """Return a kill at each kill point, then the repeated kills."""
        longest = max(Counter(phase for phase, _ in self.kill_points(name)).values()) - self.spare
        intervals = [every for every in self.scenarios[name].kill_intervals if every <= longest]
        repeated: list[CrashCase[Place]] = [
            CrashCase(scenario=name, fault="repeated-kill", every=every) for every in intervals
        ]
        return [*self._at_each_point(name, "kill"), *repeated]

    def pauses(self, name: str) -> list[CrashCase[Place]]:
        return self._at_each_point(name, "pause") if self.scenarios[name].pausable else []

    def split_brains(self, name: str) -> list[CrashCase[Place]]:
        """Return pauses in the first phase, with another at each second kill point."""
        firsts = [case for case in self.pauses(name) if not case.phase]
        return [
            replace(case, fault="split-brain", other=other)
            for case in firsts
            for other in self.second_kill_points(case)
        ]

    def second_kill_points(self, first: CrashCase[Place]) -> Sequence[Place]:
        """Return kill points of the second worker of a split brain."""
        return ()

    def _at_each_point(self, name: str, fault: Fault) -> list[CrashCase[Place]]:
        points = self.kill_points(name)
        return [CrashCase(scenario=name, fault=fault, phase=phase, at=at) for phase, at in points]

    # Violations

    def violation(self, case: CrashCase[Place]) -> str | None:
        """Run a case, again if it missed its kill point."""
        for _ in range(TRIES):
            with contextlib.suppress(KillPointNotReached):
                return self._run(case)
        return None if self.may_miss(case) else NOT_REACHED

    def violations(self, cases: Sequence[CrashCase[Place]]) -> dict[CrashCase[Place], str]:
        assert cases, "there is nothing to try"
        return {case: violation for case in cases if (violation := self.violation(case))}

    def _run(self, case: CrashCase[Place]) -> str | None:
        with self.open_trial(self.scenario_of(case), case.injection()) as trial:
            return trial.inject(case) or trial.violation()


def report_all(harness: CrashHarness[Any, Any], names: Iterable[str] = ()) -> int:
    """Run and print all cases of all or these scenarios; return the number of violations."""
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names or harness.scenarios:
            cases = harness.cases(name)
            outcomes = zip(cases, pool.map(harness.violation, cases), strict=True)
            found = [f"{case}: {violation}" for case, violation in outcomes if violation]
            counted = f"{name:28} {len(cases):5} cases  {len(found)} violations"
            print(counted, *found[:3], sep="\n    ", flush=True)
            wrong += len(found)
    return wrong
