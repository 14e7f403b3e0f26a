"""Where a daemon can be killed or stopped: before and after each commit, after each effect and answer.

A life counts its boundaries; told a number, it sends itself a signal when it reaches that one.
"""

from __future__ import annotations

import fcntl
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from daemon.journal.writer import Append, Result, Writer


class Boundary:
    """The counter of one life. Forked lives have one each."""

    count = 0
    at = 0
    every = 0
    sent = signal.SIGKILL

    @classmethod
    def set(cls, at: int, every: int = 0, sent: signal.Signals = signal.SIGKILL) -> None:
        cls.count, cls.at, cls.every, cls.sent = 0, at, every, sent

    @classmethod
    def reach(cls) -> None:
        cls.count += 1
        if cls.count == cls.at or (cls.every and cls.count % cls.every == 0):
            signal.pthread_kill(threading.get_ident(), cls.sent)  # this thread goes no further


@contextmanager
def instant(home: Path) -> Iterator[None]:
    """An effect takes no time here: no other daemon commits between `hold` and what it stands before.

    In the real world the length of one HTTP request remains.
    """
    with (home / "instant.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class MortalWriter(Writer):
    """The journal's writer, with a boundary before and after each commit."""

    def commit(self, connection: Connection, batch: Sequence[Append]) -> list[Result]:
        Boundary.reach()
        with instant(Path(str(connection.engine.url.database)).parent):
            results = super().commit(connection, batch)
        Boundary.reach()
        return results
