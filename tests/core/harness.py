"""The crash harness: a case kills, stutters or stops a life at a boundary, lets others go on, and checks."""

from __future__ import annotations

import functools
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.core.checks import check, finished, verdict
from tests.core.lives import fork, home_for, life
from tests.core.scenarios import SCENARIOS
from tests.core.story import Scenario
from tests.lives import Boundary, paused, wake

Job = tuple[Any, ...]
"""A case: killed or stopped, the scenario, the phase, and where."""
MANY_LIVES = 60
"""A story that takes more makes no progress."""


def phases(story: Scenario) -> range:
    return range(1 + max(story.last_phase, *(event.phase for event in story.events)))


def edit(home: Path, story: Scenario) -> None:
    """What the owner does after a crash, where the story says so."""
    if story.changes:
        for path in (home / "texts" / "soul.md", home / "texts" / "prompts" / "pipeline.md"):
            path.write_text(path.read_text() + "\nEdited.\n")


@functools.cache
def points(name: str) -> Sequence[int]:
    """How many boundaries each phase has, from a story without a crash; checks that story, too."""
    story = SCENARIOS[name]
    with home_for(name) as home:
        for phase in phases(story):
            statuses = (life(home, story, phase) for _ in range(MANY_LIVES))
            if status := next((s for s in statuses if s != -signal.SIGKILL), -signal.SIGKILL):
                raise AssertionError(f"{name}: fails without a crash (exit {status})")
        check(home, story)
        return [int((home / f"points.{phase}").read_text()) for phase in phases(story)]


def killed(name: str, phase: int, at: int, every: int = 0) -> str | None:
    """SIGKILL at a boundary (or at each k-th one), then go on. Returns what went wrong."""
    story = SCENARIOS[name]
    with home_for(name) as home:
        for current in phases(story):
            lives = 0
            dies_at = at if current == phase else 0
            while status := life(home, story, current, dies_at, every):
                if status != -signal.SIGKILL:
                    return f"a life ended with exit {status}"
                dies_at, lives = 0, lives + 1
                edit(home, story)
                if lives > MANY_LIVES:
                    return "no progress"
        return verdict(home, story)


def replayed(name: str) -> str | None:
    """A story whose executions run again from the top after each of their steps. Returns what went wrong."""
    story = SCENARIOS[name]
    with home_for(name) as home:
        for phase in phases(story):
            statuses = (life(home, story, phase, replays=True) for _ in range(MANY_LIVES))
            if status := next((s for s in statuses if s != -signal.SIGKILL), -signal.SIGKILL):
                return f"a life ended with exit {status}"
        return verdict(home, story)


def stopped(name: str, phase: int, at: int, meet: int = 0) -> str | None:
    """SIGSTOP at a boundary, the lock deleted, a second daemon takes over; then the first one wakes up again.

    With `meet` the second one is stopped too, at that boundary, and both go on at once.
    """
    story = SCENARIOS[name]
    with home_for(name) as home:
        for current in range(phase):
            life(home, story, current)
        Boundary.set(at, sent=signal.SIGSTOP)
        first = fork(home, story, phase)
        if not paused(first):
            return None
        sleeping = [first]
        (home / "journal.db.lock").unlink(missing_ok=True)
        if meet:
            Boundary.set(meet, sent=signal.SIGSTOP)
            second = fork(home, story, phase)
            if paused(second):
                sleeping.append(second)
        else:
            for current in range(phase, phases(story).stop):
                life(home, story, current)
        wake(*sleeping)
        if meet:
            if problem := finished(home):
                return problem
            for current in range(phase, phases(story).stop):
                life(home, story, current)
        return verdict(home, story)


def problem_of(job: Job) -> str | None:
    """What a case came to: nothing, or what went wrong."""
    way, name, phase, *more = job
    return (stopped if way == "stopped" else killed)(name, phase, *more)


def kills(name: str) -> list[Job]:
    """A kill at each boundary, and stutters: kills at each k-th boundary of every life."""
    stuttered: list[Job] = [("killed", name, -1, 0, k) for k in SCENARIOS[name].stutters]
    return [("killed", name, phase, at) for phase, at in boundaries(name)] + stuttered


def pauses(name: str) -> list[Job]:
    """A pause at each boundary, while another daemon takes over."""
    every = boundaries(name) if SCENARIOS[name].stops else []
    return [("stopped", name, phase, at) for phase, at in every]


def meetings(name: str, others: Sequence[int] = (4, 8)) -> list[Job]:
    """Two daemons that are paused and go on at once."""
    first = [at for phase, at in boundaries(name) if not phase] if SCENARIOS[name].stops else []
    return [("stopped", name, 0, at, meet) for at in first for meet in others]


def boundaries(name: str) -> list[tuple[int, int]]:
    return [(phase, at) for phase, count in enumerate(points(name)) for at in range(1, count + 1)]


WAYS = {"kills": kills, "pauses": pauses, "meetings": meetings}


def first_failure(name: str, way: str) -> str | None:
    """The first case of a scenario that goes wrong, with what went wrong."""
    try:
        cases = WAYS[way](name)
    except AssertionError as error:
        return str(error) or repr(error)
    return next((f"{case}: {problem}" for case in cases if (problem := problem_of(case))), None)


def main(chosen: Sequence[str]) -> int:
    """`SCENARIO/WAY …`; without a way, kills and pauses. Prints what goes wrong; 1 if anything does."""
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
