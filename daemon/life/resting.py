"""How long a thread is left alone after an attempt at its turn failed. Asked by the waker.

All of it is read from the journal: when the last attempts began, and when they failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.entry import Entry, rank
from daemon.journal.reading import Reading

MAX_BACKOFF = 300.0
"""Seconds between two attempts at a turn, at the most."""
SPEAKING = frozenset({"message", "answer"})
"""Ranks of what somebody says: they would rather not wait."""


def rest(journal: Reading, thread: str, now: float) -> float:
    """Seconds for which this thread is still to be left alone; 0: none.

    A stop that came since is heard at once. What somebody said since cuts one pause short, but not two in a
    row: a flood of messages doubles the attempts, and no more.
    """
    failures = failed(journal, thread)
    if not failures:
        return 0.0
    last, pause = failures[-1], _pause(len(failures))
    left = last.at + pause - now
    if not 0 < left <= pause:  # more is left than there was: the clock was set back
        return 0.0
    came = {rank(e) for e in journal.open("perception", thread=thread) if e.seq > last.seq}
    if "stop" in came or (came & SPEAKING and not _early(journal, failures)):
        return 0.0
    return left


def failed(journal: Reading, thread: str) -> Sequence[Entry]:
    """The failed attempts at the half turn of this thread, or at beginning one, in order."""
    began, ended = journal.latest(thread, "turn-began"), journal.latest(thread, "turn-ended")
    since = max(entry.seq for entry in (began, ended) if entry) if began else 0
    unbegun = journal.of(thread, "unbegun", since=since)
    if not (began and journal.is_open(began.seq)):
        return unbegun
    mine = journal.under(began.key.removesuffix("/began"))
    return sorted([*unbegun, *(e for e in mine if e.kind == "failure")], key=lambda entry: entry.seq)


def _pause(failures: int) -> float:
    return float(min(2.0 ** min(failures, 10), MAX_BACKOFF))


def _early(journal: Reading, failures: Sequence[Entry]) -> bool:
    """Was the pause before the last attempt cut short?"""
    if len(failures) == 1:
        return False
    before, last = failures[-2:]
    return journal.at(last.cause or last.seq).at - before.at < _pause(len(failures) - 1)
