"""The crash harness: a case kills or stops a daemon at one boundary, lets another go on, and checks."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from daemon.engine.event import Input
from daemon.engine.reading import reading
from daemon.kinds import SOUL_KINDS
from tests.lives import ended, paused, wake
from tests.wire.checks import verdict
from tests.wire.lives import case, soul, world
from tests.wire.mark import Boundary, Mark, passed
from tests.wire.stories import STORIES

Job = tuple[str, str, Boundary]
"""A case: killed or stopped, the story, and where."""
KILLED, STOPPED = "killed", "stopped"
TRIES = 5
"""How often a story is told until it comes to a boundary: a status line may come once later or earlier."""
NEVER_ALONE = ("before apps.", "before chat.", "before /", "setStatus")
"""Where a pause could fall into the length of one HTTP request, which is what remains of a fenced daemon's
power: on the way to an effect, and at a status line, which is shown while the model is being asked."""


class Unreached(Exception):
    """This time the daemon did not come to the boundary of its case."""


@functools.cache
def boundaries(name: str) -> Sequence[Boundary]:
    """What a daemon goes through in a story without a crash; checks that story, too."""
    story = STORIES[name]
    with case(name) as (home, page):
        mark = Mark(home)
        with world(page, story, mark):
            status = ended(soul(page, story, mark))
        assert not status, f"{name}: fails without a crash (exit {status})"
        assert not (problem := verdict(home, story)), f"{name}: without a crash, {problem}"
        return passed(home)


def killed(name: str, boundary: Boundary) -> str | None:
    """SIGKILL there, then another life. Returns what went wrong."""
    story = STORIES[name]
    with case(name) as (home, page):
        mark = Mark(home, boundary)
        with world(page, story, mark):
            if ended(soul(page, story, mark)) != -signal.SIGKILL:
                raise Unreached
            if status := ended(soul(page, story, Mark(home))):
                return f"the next life ended with exit {status}"
        return verdict(home, story)


def stopped(name: str, boundary: Boundary) -> str | None:
    """SIGSTOP there, the lock deleted, a second daemon takes over; then the first one wakes up again."""
    story = STORIES[name]
    with case(name) as (home, page):
        mark = Mark(home, boundary, signal.SIGSTOP)
        with world(page, story, mark):
            first = soul(page, story, mark)
            if not paused(first):
                raise Unreached
            (home / "journal.db.lock").unlink(missing_ok=True)
            second = ended(soul(page, story, Mark(home)))
            if any(statuses := (second, *wake(first))):
                return f"the lives ended with exit {statuses}"
            if left(home) and (status := ended(soul(page, story, Mark(home)))):
                return f"the third life ended with exit {status}"
        return verdict(home, story)


def left(home: Path) -> bool:
    """Did a daemon commit something as it woke that the other one, which owns the thread, would take up?"""
    with reading(home / "journal.db", SOUL_KINDS) as journal:
        return bool(journal.pending(Input))


def problem_of(job: Job) -> str | None:
    """What a case came to: nothing, or what went wrong."""
    way, name, boundary = job
    for _ in range(TRIES):
        with contextlib.suppress(Unreached):
            return killed(name, boundary) if way == KILLED else stopped(name, boundary)
    if "setStatus" in boundary:
        return None  # how often Slack is told depends on how fast it was told before
    return f"a boundary that was never killed: {boundary}"


def every(name: str) -> list[Job]:
    """A kill at each boundary of a story, and a pause at each where its turn waits for nothing else."""
    pauses = [one for one in boundaries(name) if not any(word in one for word in NEVER_ALONE)]
    if STORIES[name].crowded:
        pauses = []
    return [(KILLED, name, one) for one in boundaries(name)] + [(STOPPED, name, one) for one in pauses]


def covering(name: str) -> list[Job]:
    """One case for each commit and effect of a story: killed before it, after it, or stopped, in turn."""
    chosen = []
    for number, (_, cases) in enumerate(groupby(sorted(every(name), key=_what), key=_what)):
        ways = sorted(cases)
        chosen.append(ways[number % len(ways)])
    return chosen


def _what(job: Job) -> str:
    return job[2].partition(" ")[2]


def problems(jobs: Iterable[Job]) -> dict[Job, str]:
    """What went wrong in these cases."""
    return {job: problem for job in jobs if (problem := problem_of(job))}
