"""Lives of the crash harnesses: forked processes that are killed or paused at boundaries.

Boundaries are before and after each commit, and after each effect and model reply. A life counts them and
signals itself at a given one.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import signal
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from daemon.engine.journal.writer import JournalWriter, PendingAppend, Result
from tests.attention import PATIENCE, run
from tests.machine import without_certificates

LIVES = "lives.jsonl"


class Boundary:
    """Counter of one life."""

    count = 0
    at = 0
    every = 0
    sent = signal.SIGKILL
    commits = threading.Lock()
    """Held during a commit: a life paused there would block all others."""

    @classmethod
    def set(cls, at: int, every: int = 0, sent: signal.Signals = signal.SIGKILL) -> None:
        cls.count, cls.at, cls.every, cls.sent = 0, at, every, sent

    @classmethod
    def reach(cls) -> None:
        cls.count += 1
        if cls.count == cls.at or (cls.every and cls.count % cls.every == 0):
            with cls.commits if cls.sent == signal.SIGSTOP else nullcontext():
                signal.pthread_kill(threading.get_ident(), cls.sent)  # this thread goes no further


@contextmanager
def instant(home: Path) -> Iterator[None]:
    """Exclude other commits between `hold` and its effect; outside tests, one HTTP request remains."""
    with (home / "instant.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def note(path: Path, value: Any) -> None:
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def lives_in(home: Path) -> int:
    return len(read(home / LIVES))


class MortalWriter(JournalWriter):
    """Journal writer with a boundary around each commit."""

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        Boundary.reach()
        with Boundary.commits, instant(self._store.path.parent):
            results = super().commit(batch)
        Boundary.reach()
        return results


def fork(work: Callable[[], Coroutine[Any, Any, None]], seconds: float = PATIENCE) -> int:
    """Fork a process that exits with 0, or 3 on failure or timeout; return its pid."""
    if pid := os.fork():
        return pid
    if "VERBOSE" not in os.environ:
        logging.disable()
    without_certificates()
    try:
        run(asyncio.wait_for(work(), seconds))
        os._exit(0)
    except BaseException:  # noqa: BLE001  whatever ends a life, the process ends with it
        traceback.print_exc()
        os._exit(3)


def ended(pid: int) -> int:
    """Return the exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def paused(pid: int) -> int | None:
    """Wait for a stop; return the exit status if it ended first."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


def wake(*pids: int) -> list[int]:
    """Resume lives together; return their exit statuses."""
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return [ended(pid) for pid in pids]
