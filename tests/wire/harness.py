"""Crash harness over the wire: kills or stops a daemon at a named boundary."""

from __future__ import annotations

import functools
import signal
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from daemon.engine.event import Input
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS
from tests.cases import UNREACHED, Case, Unreached, tried
from tests.lives import ended, paused, wake
from tests.wire.checks import verdict
from tests.wire.lives import home_for, soul, world
from tests.wire.mark import Boundary, Mark, passed
from tests.wire.scenarios import SCENARIOS

NEVER_ALONE = ("before apps.", "before chat.", "before /", "setStatus")
"""Boundaries at which a pause would fall into an HTTP request, which fencing cannot prevent."""


@functools.cache
def boundaries(name: str) -> Sequence[Boundary]:
    """Return the boundaries of a checked run without crash."""
    scenario = SCENARIOS[name]
    with home_for(name) as (home, page):
        mark = Mark(home)
        with world(page, scenario, mark):
            status = ended(soul(page, scenario, mark))
        assert not status, f"{name}: fails without a crash (exit {status})"
        assert not (problem := verdict(home, scenario)), f"{name}: without a crash, {problem}"
        return passed(home)


def _killed(case: Case[Boundary]) -> str | None:
    scenario = SCENARIOS[case.scenario]
    with home_for(case.scenario) as (home, page):
        mark = Mark(home, case.at)
        with world(page, scenario, mark):
            status = ended(soul(page, scenario, mark))
            if not status:
                raise Unreached
            if status == -signal.SIGKILL:
                status = ended(soul(page, scenario, Mark(home)))
            if status:
                return f"a life ended with exit {status}"
        return verdict(home, scenario)


def _stopped(case: Case[Boundary]) -> str | None:
    scenario = SCENARIOS[case.scenario]
    with home_for(case.scenario) as (home, page):
        mark = Mark(home, case.at, signal.SIGSTOP)
        with world(page, scenario, mark):
            first = soul(page, scenario, mark)
            end = paused(first)
            if end == 0:
                raise Unreached
            if end:
                return f"the first life ended with exit {end}"
            (home / "journal.db.lock").unlink(missing_ok=True)
            second = ended(soul(page, scenario, Mark(home)))
            if any(statuses := (second, *wake(first))):
                return f"the lives ended with exit {statuses}"
            if _left(home) and (status := ended(soul(page, scenario, Mark(home)))):
                return f"the third life ended with exit {status}"
        return verdict(home, scenario)


def _left(home: Path) -> bool:
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        return bool(journal.pending_entries(Input))


def outcome(case: Case[Boundary]) -> str | None:
    wrong = tried(case, _killed if case.way == "kill" else _stopped)
    if wrong == UNREACHED and "setStatus" in case.at:
        return None  # the number of status calls depends on timing
    return wrong


def kills(name: str) -> list[Case[Boundary]]:
    return [Case(scenario=name, way="kill", at=one) for one in boundaries(name)]


def pauses(name: str) -> list[Case[Boundary]]:
    """Return pauses where no HTTP request is under way."""
    if SCENARIOS[name].crowded:
        return []
    alone = [one for one in boundaries(name) if not any(word in one for word in NEVER_ALONE)]
    return [Case(scenario=name, way="pause", at=one) for one in alone]


def cases(name: str) -> list[Case[Boundary]]:
    return [*kills(name), *pauses(name)]


def covering(name: str) -> list[Case[Boundary]]:
    """Return a case for each commit and effect, alternating ways."""
    chosen = []
    for number, (_, found) in enumerate(groupby(sorted(cases(name), key=_what), key=_what)):
        ways = sorted(found)
        chosen.append(ways[number % len(ways)])
    return chosen


def _what(case: Case[Boundary]) -> str:
    return case.at.partition(" ")[2]
