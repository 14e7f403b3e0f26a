"""A train of thought: all that a thread does from where it begins to think in the open until that is over.

Each step of open thought is an execution of its own. One that belongs to no such train stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.event import Entry
from daemon.engine.reading import Reading
from daemon.kinds import PlanMade, TurnBegan, TurnEnded
from daemon.soul.taking import THINKING


def began_after(journal: Reading, thread: str, before: int) -> int:
    """Return the seq after which the train began that goes on before `before`: the end of what was before it.

    Where none goes on, that is the end of the last turn that was about the thread's matter; 0 is the thread's
    beginning.
    """
    for ended in journal.latest_first(thread, TurnEnded, before=before):
        if ended.event.process not in (None, THINKING):
            return ended.seq
    return 0


def executions(journal: Reading, thread: str, last: Entry[TurnBegan]) -> Sequence[Entry[TurnBegan]]:
    """Return where the executions of a train began, in order, up to this one; none that stood beside it."""
    found: dict[str, Entry[TurnBegan]] = {}
    since = began_after(journal, thread, last.seq)
    for began in journal.thread_entries(thread, TurnBegan, since=since):
        if began.seq <= last.seq and began.event.apart is None:
            found.setdefault(began.event.execution, began)
    return tuple(found.values())


def plans(journal: Reading, thread: str, before: int) -> Sequence[PlanMade]:
    """Return the plans of the train that goes on before `before`, in order."""
    since = began_after(journal, thread, before)
    found = journal.thread_entries(thread, PlanMade, since=since)
    return [plan.event for plan in found if plan.seq < before]
