"""When the time of a watch has come, on a machine whose clock may have been ahead when it was set.

Such a watch lasts as long as it was to, from when the clock was right again: from the first entry after it
that is not of the future. Where nobody writes one, its own thread does.
"""

from __future__ import annotations

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.journal.reading import Reading
from daemon.ports import Clock


def is_due(journal: Reading, watch: Entry, now: float) -> bool:
    """Has the time of this watch come, or must its thread note first that the clock was set right?"""
    due = float(watch.body["due"])
    if watch.at > now:
        right = journal.first_after(watch.seq, now)
        return right is None or right + (due - watch.at) <= now
    return due <= now


async def is_ripe(journal: Journal, clock: Clock, watch: Entry) -> bool:
    """Has the time of this watch come?"""
    now = clock.now()
    if watch.at > now and journal.first_after(watch.seq, now) is None:
        key = f"{watch.key}/clock"
        await journal.append(watch.thread, "clock", {"ahead": watch.at}, key=key, author="core")
    return is_due(journal, watch, now)
