"""A train of thought: all that a thread does from where it begins to think in the open until that is over.

Each step of open thought is an execution of its own. One that belongs to no such train stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.event import Entry
from daemon.engine.reading import JournalReader
from daemon.kinds import PlanChanged, SoulTurnBegan, SoulTurnEnded
from daemon.soul.taking import THINKING_PROCESS


def train_start(journal: JournalReader, thread: str, before: int) -> int:
    """Return the seq after which the train began that goes on before `before`: the end of what was before it.

    Where none goes on, that is the end of the last turn that was about the thread's matter; 0 is the thread's
    beginning.
    """
    for ended in journal.latest_first(thread, SoulTurnEnded, before=before):
        if ended.event.process not in (None, THINKING_PROCESS):
            return ended.seq
    return 0


def executions_of_train(
    journal: JournalReader, thread: str, last: Entry[SoulTurnBegan]
) -> Sequence[Entry[SoulTurnBegan]]:
    """Return where the executions of a train began, in order, up to this one; none that stood beside it."""
    found: dict[str, Entry[SoulTurnBegan]] = {}
    since = train_start(journal, thread, last.seq)
    for began in journal.thread_entries(thread, SoulTurnBegan, since=since):
        if began.seq <= last.seq and began.event.apart is None:
            found.setdefault(began.event.execution, began)
    return tuple(found.values())


def plans_of_train(journal: JournalReader, thread: str, before: int) -> Sequence[PlanChanged]:
    """Return the plans of the train that goes on before `before`, in order."""
    since = train_start(journal, thread, before)
    found = journal.thread_entries(thread, PlanChanged, since=since)
    return [plan.event for plan in found if plan.seq < before]
