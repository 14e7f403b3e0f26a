"""Kill points of a worker run: before and after each commit, after each effect and each model reply.

A run counts them, and signals itself at an armed one.
"""

from __future__ import annotations

import fcntl
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from daemon.engine.journal.writer import JournalWriter, PendingAppend, Result


class KillPoint:
    """Counter of one run."""

    count = 0
    at = 0
    every = 0
    sent = signal.SIGKILL
    commits = threading.Lock()
    """Held during a commit: a run paused there would block all others."""

    @classmethod
    def arm(cls, at: int, every: int = 0, sent: signal.Signals = signal.SIGKILL) -> None:
        cls.count, cls.at, cls.every, cls.sent = 0, at, every, sent

    @classmethod
    def reach(cls) -> None:
        cls.count += 1
        if cls.count == cls.at or (cls.every and cls.count % cls.every == 0):
            with cls.commits if cls.sent == signal.SIGSTOP else nullcontext():
                signal.pthread_kill(threading.get_ident(), cls.sent)  # this thread goes no further


@contextmanager
def exclude_commits(home: Path) -> Iterator[None]:
    """Exclude other commits between `hold` and its effect; outside tests, one HTTP request remains."""
    with (home / "instant.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class CrashingWriter(JournalWriter):
    """Journal writer with a kill point before and after each commit."""

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        KillPoint.reach()
        with KillPoint.commits, exclude_commits(self._store.path.parent):
            results = super().commit(batch)
        KillPoint.reach()
        return results
