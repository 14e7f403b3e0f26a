"""How a wait ends: when what it waits for is closed, or its time has come, it becomes exactly one input."""

from __future__ import annotations

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.keys import part
from daemon.engine.kinds import Reminder, Waiting, Woke


async def end_waits(journal: Journal, now: float, thread: str | None = None) -> list[str]:
    """End every wait that is over, of one thread or of all; returns the threads that were waiting."""
    woken = []
    for waiting in journal.pending(Waiting, thread=thread):
        if waiting.event.resumes and journal.get(part(waiting.key, "woke")):
            continue  # it is over, and its execution has not read so yet
        missing = journal.still_pending(waiting.event.closed)
        if _is_over(waiting, missing, now):
            await _end(journal, waiting, missing)
            woken.append(waiting.thread)
    return woken


def _is_over(waiting: Entry[Waiting], missing: list[int], now: float) -> bool:
    event = waiting.event
    if event.due is not None and event.due <= now:
        return True
    if not event.closed:
        return False
    if event.want == "all":
        return not missing
    return len(missing) < len(event.closed)


async def _end(journal: Journal, waiting: Entry[Waiting], missing: list[int]) -> None:
    """A wait that an execution is suspended on stays pending until that has read its answer."""
    kind = Woke if waiting.event.resumes else Reminder
    event = kind(answers=waiting.key, missing=tuple(missing), note=waiting.event.note)
    await journal.append(
        waiting.thread,
        event,
        key=part(waiting.key, "woke"),
        cause=waiting.seq,
        closes=() if waiting.event.resumes else [waiting.seq],
    )
