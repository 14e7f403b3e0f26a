"""Crash harness of the core. `python -m tests.core.harness SCENARIO/WAY …` prints problems."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from tests.cases import Case, Harness
from tests.core.checks import finished, verdict
from tests.core.lives import home_for, live
from tests.core.scenario import Scenario
from tests.core.scenarios import SCENARIOS

OTHERS = (4, 8)
"""Boundaries of the second daemon in a meeting."""


class Soul(Harness[Scenario]):
    scenarios = SCENARIOS

    def home_for(self, name: str) -> AbstractContextManager[Path]:
        return home_for(name)

    async def live(self, home: Path, scenario: Scenario, phase: int, *, replays: bool) -> None:
        await live(home, scenario, phase, replays=replays)

    def after_kill(self, home: Path, scenario: Scenario) -> None:
        """Edit prompts if the scenario says so."""
        if scenario.changes:
            for path in (home / "texts" / "soul.md", home / "texts" / "prompts" / "pipeline.md"):
                path.write_text(path.read_text() + "\nEdited.\n")

    def scenario_of(self, case: Case[int]) -> Scenario:
        scenario = super().scenario_of(case)
        if case.way != "meeting":
            return scenario
        return replace(scenario, endings=[*scenario.endings, *scenario.endings_met])

    def after_meeting(self, home: Path) -> str | None:
        return finished(home)

    def verdict(self, home: Path, scenario: Scenario) -> str | None:
        return verdict(home, scenario)

    def meetings(self, name: str) -> list[Case[int]]:
        firsts = [case for case in self.pauses(name) if not case.phase]
        return [replace(case, way="meeting", other=other) for case in firsts for other in OTHERS]


SOUL = Soul()
WAYS = {"kills": SOUL.kills, "pauses": SOUL.pauses, "meetings": SOUL.meetings}


def first_failure(name: str, way: str) -> str | None:
    try:
        cases = WAYS[way](name)
    except AssertionError as error:
        return str(error) or repr(error)
    return next((f"{case}: {problem}" for case in cases if (problem := SOUL.outcome(case))), None)


def main(chosen: Sequence[str]) -> int:
    """Run `SCENARIO/WAY …` (default: kills and pauses); return 1 on problems."""
    pairs = [
        (name, way)
        for name, _, given in (one.partition("/") for one in chosen or SCENARIOS)
        for way in ([given] if given else ["kills", "pauses"])
    ]
    failures = {pair: problem for pair in pairs if (problem := first_failure(*pair))}
    for (name, way), problem in failures.items():
        print(f"{name}/{way}: {re.sub(chr(10), ' ', problem)[:400]}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
