"""Crash harness over the wire: a daemon is killed or paused at a named kill point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path

from daemon.engine.event import Input
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS
from tests.attention import PATIENCE
from tests.crashes.cases import CrashCase, Injection
from tests.crashes.harness import CrashHarness
from tests.crashes.trial import Trial
from tests.crashes.worker_runs import WorkerRun, fork
from tests.wire.checks import check_outcome
from tests.wire.kill_points import ArmedKillPoint, KillPointName, reached_kill_points
from tests.wire.scenario import WireScenario
from tests.wire.scenarios import SCENARIOS
from tests.wire.shared_page import SharedPage
from tests.wire.worker_runs import open_home, run_world, work

NEVER_ALONE = ("before apps.", "before chat.", "before /", "setStatus")
"""Kill points at which a pause would fall into an HTTP request, which fencing cannot prevent."""


class WireTrial(Trial[WireScenario, KillPointName]):
    """Trial whose world is a process of its own, and moves the phases on."""

    seconds = PATIENCE
    """Longest run."""

    def __init__(
        self, home: Path, scenario: WireScenario, page: SharedPage, stop_world: Callable[[], None]
    ) -> None:
        super().__init__(home, scenario)
        self.page = page
        self._stop_world = stop_world

    @property
    def phases(self) -> range:
        return range(1)

    def armed(self, injection: Injection[KillPointName]) -> ArmedKillPoint:
        """Return the kill point of the next run."""
        return ArmedKillPoint(self.home, injection.at or "", injection.sent)

    def fork_worker(self, phase: int, injection: Injection[KillPointName]) -> WorkerRun:
        armed = self.armed(injection)
        return fork(lambda: work(self.page, self.scenario, armed), self.seconds)

    def kill_points(self) -> Sequence[tuple[int, KillPointName]]:
        return [(0, name) for name in reached_kill_points(self.home)]

    def has_unfinished_work(self) -> bool:
        with open_reader(self.home / "journal.db", SOUL_KINDS) as journal:
            return bool(journal.pending_entries(Input))

    def check(self) -> None:
        self._stop_world()
        check_outcome(self.home, self.scenario)


class WireHarness(CrashHarness[WireScenario, KillPointName]):
    scenarios = SCENARIOS

    @contextmanager
    def open_trial(self, scenario: WireScenario, injection: Injection[KillPointName]) -> Iterator[WireTrial]:
        with open_home("wire") as (home, page), ExitStack() as world:
            armed = ArmedKillPoint(home, injection.at or "", injection.sent)
            world.enter_context(run_world(page, scenario, armed))
            yield WireTrial(home, scenario, page, world.close)

    def may_miss(self, case: CrashCase[KillPointName]) -> bool:
        """True for status calls, whose number depends on timing."""
        return "setStatus" in (case.at or "")

    def pauses(self, name: str) -> list[CrashCase[KillPointName]]:
        """Return pauses where no HTTP request is under way."""
        return [
            case for case in super().pauses(name) if not any(word in (case.at or "") for word in NEVER_ALONE)
        ]

    def covering_cases(self, name: str) -> list[CrashCase[KillPointName]]:
        """Return a case for each commit and effect, alternating faults."""
        chosen = []
        for number, (_, found) in enumerate(groupby(sorted(self.cases(name), key=_subject), key=_subject)):
            cases = sorted(found)
            chosen.append(cases[number % len(cases)])
        return chosen


def _subject(case: CrashCase[KillPointName]) -> str:
    return (case.at or "").partition(" ")[2]


WIRE = WireHarness()
