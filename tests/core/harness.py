"""Crash harness of the core. `python -m tests.core.harness SCENARIO/FAULTS …` prints violations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tests.core.checks import check_outcome, unfinished_work
from tests.core.scenario import CoreScenario
from tests.core.scenarios import SCENARIOS
from tests.core.worker_run import open_home, work
from tests.crashes.cases import CrashCase, Injection
from tests.crashes.harness import CrashHarness
from tests.crashes.trial import CountingTrial

SECONDS = (4, 8)
"""Kill points of the second worker of a split brain."""


class CoreTrial(CountingTrial[CoreScenario]):
    async def work(self, phase: int, *, replays: bool) -> None:
        await work(self.home, self.scenario, phase, replays=replays)

    def after_kill(self) -> None:
        """Edit prompts if the scenario says so."""
        if self.scenario.changes:
            texts = self.home / "texts"
            for path in (texts / "soul.md", texts / "prompts" / "pipeline.md"):
                path.write_text(path.read_text() + "\nEdited.\n")

    def after_split_brain(self) -> str | None:
        return unfinished_work(self.home)

    def check(self) -> None:
        check_outcome(self.home, self.scenario)


class CoreHarness(CrashHarness[CoreScenario, int]):
    scenarios = SCENARIOS

    @contextmanager
    def open_trial(self, scenario: CoreScenario, injection: Injection[int]) -> Iterator[CoreTrial]:
        with open_home("core") as home:
            yield CoreTrial(home, scenario)

    def scenario_of(self, case: CrashCase[int]) -> CoreScenario:
        scenario = super().scenario_of(case)
        if case.fault != "split-brain":
            return scenario
        return replace(scenario, endings=[*scenario.endings, *scenario.split_brain_endings])

    def may_miss(self, case: CrashCase[int]) -> bool:
        """True for counted kill points: a run that batches its commits has fewer."""
        return (case.phase, case.at or case.every) in self.kill_points(case.scenario)

    def second_kill_points(self, first: CrashCase[int]) -> Sequence[int]:
        return SECONDS


CORE = CoreHarness()
CASES = {"kills": CORE.kills, "pauses": CORE.pauses, "split-brains": CORE.split_brains}


def first_violation(name: str, faults: str) -> str | None:
    try:
        cases = CASES[faults](name)
    except AssertionError as error:
        return str(error) or repr(error)
    return next((f"{case}: {violation}" for case in cases if (violation := CORE.violation(case))), None)


def main(chosen: Sequence[str]) -> int:
    """Run `SCENARIO/FAULTS …` (default: kills and pauses); return 1 on violations."""
    pairs = [
        (name, faults)
        for name, _, given in (one.partition("/") for one in chosen or SCENARIOS)
        for faults in ([given] if given else ["kills", "pauses"])
    ]
    violations = {pair: violation for pair in pairs if (violation := first_violation(*pair))}
    for (name, faults), violation in violations.items():
        print(f"{name}/{faults}: {re.sub(chr(10), ' ', violation)[:400]}")
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
