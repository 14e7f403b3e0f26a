"""The crash harness: a case kills, stutters or stops a life at a boundary, lets others go on, and checks."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.core.boundary import Boundary
from tests.core.checks import check, finished, verdict
from tests.core.lives import fork, home_for, life
from tests.core.scenarios import SCENARIOS, Scenario

MANY_LIVES = 60
"""A story that takes more makes no progress."""


def phases(story: Scenario) -> range:
    return range(1 + max(story.last_phase, *(event.phase for event in story.events)))


def edit(home: Path, story: Scenario) -> None:
    """What the owner does after a crash, where the story says so."""
    if story.changes:
        for path in (home / "texts" / "soul.md", home / "texts" / "prompts" / "pipeline.md"):
            path.write_text(path.read_text() + "\nEdited.\n")


def points(name: str) -> list[int]:
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


def stopped(name: str, phase: int, at: int, meet: int = 0) -> str | None:
    """SIGSTOP at a boundary, the lock deleted, a second daemon takes over; then the first one wakes up again.

    With `meet` the second one is stopped too, at that boundary, and both go on at once.
    """
    story = SCENARIOS[name]
    with home_for(name) as home:
        for current in range(phase):
            life(home, story, current)
        Boundary.set(at, sent=signal.SIGSTOP)
        zombie = fork(home, story, phase)
        _, status = os.waitpid(zombie, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return None
        (home / "journal.db.lock").unlink(missing_ok=True)
        second = 0
        if meet:
            Boundary.set(meet, sent=signal.SIGSTOP)
            second = fork(home, story, phase)
            os.waitpid(second, os.WUNTRACED)
        else:
            for current in range(phase, phases(story).stop):
                life(home, story, current)
        for pid in filter(None, (zombie, second)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for pid in filter(None, (zombie, second)):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        if meet:
            if problem := finished(home):
                return problem
            for current in range(phase, phases(story).stop):
                life(home, story, current)
        return verdict(home, story)


def problem_of(job: tuple[object, ...]) -> str | None:
    """What a case came to. A job is (function, *arguments), so that it can be sent to another process."""
    function, *arguments = job
    return {"killed": killed, "stopped": stopped}[str(function)](*arguments)  # type: ignore[arg-type]


def jobs(name: str, *, meets: Sequence[int] = ()) -> list[tuple[object, ...]]:
    """Every case of a scenario: each boundary killed and stopped, stutters, and daemons that meet."""
    counts = points(name)
    every = [(phase, at) for phase, count in enumerate(counts) for at in range(1, count + 1)]
    return [
        *(("killed", name, phase, at) for phase, at in every),
        *(("killed", name, -1, 0, k) for k in (13, 17, 23)),
        *(("stopped", name, phase, at) for phase, at in every if SCENARIOS[name].stops),
        *(("stopped", name, 0, at, meet) for at in range(1, counts[0] + 1) for meet in meets),
    ]


def first_failure(name: str) -> str | None:
    """The first case of a scenario that goes wrong, with what went wrong."""
    name, _, meet = name.partition("+")
    try:
        cases = jobs(name, meets=(4, 8) if meet else ())
    except AssertionError as error:
        return str(error) or repr(error)
    return next((f"{case}: {problem}" for case in cases if (problem := problem_of(case))), None)


if __name__ == "__main__":
    failures = {name: problem for name in sys.argv[1:] or SCENARIOS if (problem := first_failure(name))}
    for name, problem in failures.items():
        print(f"{name}: {re.sub(chr(10), ' ', problem)[:400]}")
    sys.exit(bool(failures))
