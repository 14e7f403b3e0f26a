"""What the crash harnesses share: a life is a forked process that can be killed or paused at its boundaries.

They are before and after each commit, after each effect and each answer of a model. A life counts them; told
a number, it sends itself a signal when it reaches that one.
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
"""In the folder of a case: a line for each life."""


class Boundary:
    """The counter of one life. Forked lives have one each."""

    count = 0
    at = 0
    every = 0
    sent = signal.SIGKILL
    commits = threading.Lock()
    """Held while one is made: who is paused within it holds the file, and nobody could take over."""

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
    """An effect takes no time here: no other daemon commits between `hold` and what it stands before.

    In the real world the length of one HTTP request remains.
    """
    with (home / "instant.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def note(path: Path, value: Any) -> None:
    """Add a line to a file of JSON lines, which outlives a life."""
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")


def read(path: Path) -> list[Any]:
    """The lines of a file of JSON lines; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def lives_in(home: Path) -> int:
    """How many lives have begun in this folder."""
    return len(read(home / LIVES))


class MortalWriter(JournalWriter):
    """The journal's writer, with a boundary before and after each commit."""

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        Boundary.reach()
        with Boundary.commits, instant(self._store.path.parent):
            results = super().commit(batch)
        Boundary.reach()
        return results


def fork(work: Callable[[], Coroutine[Any, Any, None]], seconds: float = PATIENCE) -> int:
    """A process that does this and ends with 0, or with 3 where it fails or takes longer. Returns its pid."""
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
    """The exit status of a life, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def paused(pid: int) -> int | None:
    """Wait until a life is stopped; its exit status where it ended before."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


def wake(*pids: int) -> list[int]:
    """Let lives that are paused go on, all at once; their exit statuses."""
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return [ended(pid) for pid in pids]
