"""A mark: one boundary of a scenario by its name, and the signal that the daemon gets there.

Commits are marked by the daemon itself, effects on the world by the world that carries them out.
Every boundary that is passed is noted in the case's folder, so that a run without kills counts them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from daemon.engine.journal.writer import JournalWriter, PendingAppend, Result
from tests.lives import instant, note, read
from tests.wire.board import Board

Boundary = str
"""`before speech#1`, `after chat.postMessage#2`: the same in each run, whatever is committed together."""
STILL = ("T", "Z", "X", "")
"""How Linux calls a process that does nothing more."""
NOTES = "boundaries.jsonl"


class Mark:
    """Where a daemon is killed or stopped, once; nowhere without a boundary."""

    def __init__(self, home: Path, boundary: Boundary = "", sent: signal.Signals = signal.SIGKILL) -> None:
        self.home = home
        self.sent = sent
        self._boundary = boundary

    def reached(self, boundary: Boundary) -> bool:
        """Note it; is it the one?"""
        note(self.home / NOTES, boundary)
        if boundary != self._boundary:
            return False
        self._boundary = ""
        return True


class Chance(Mark):
    """Kills at a random boundary, now and then, in a scenario's first phase."""

    def __init__(self, home: Path, page: Board, seed: str, chance: float) -> None:
        super().__init__(home)
        self._page = page
        self._random = random.Random(seed)
        self._chance = chance

    def reached(self, boundary: Boundary) -> bool:
        """Is its time come?"""
        return self._page.phase == 0 and self._random.random() < self._chance


def passed(home: Path) -> list[Boundary]:
    """The boundaries that a case went through, each once, in order."""
    return list(dict.fromkeys(read(home / NOTES)))


def strike(mark: Mark, daemon: int) -> None:
    """Kill or stop a daemon from outside, and be sure that it does nothing more; never during a commit."""
    with instant(mark.home):
        os.kill(daemon, mark.sent)
    while _state(daemon) not in STILL:
        pass


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def marked(mark: Mark) -> type[JournalWriter]:
    """The journal's writer, with a boundary before and after the commit of each new entry."""

    class MarkedWriter(JournalWriter):
        _names: dict[str, str]

        def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
            names = [self._name(append) for append in batch]
            self._reach("before", names)
            with instant(mark.home):
                results = super().commit(batch)
            self._reach("after", names)
            return results

        def _name(self, append: PendingAppend) -> str:
            names = self.__dict__.setdefault("_names", {})
            kind, key = append.row.kind, append.row.key
            number = 1 + sum(name.startswith(f"{kind}#") for name in names.values())
            return str(names.setdefault(key, f"{kind}#{number}"))

        def _reach(self, when: str, names: Sequence[str]) -> None:
            if any([mark.reached(f"{when} {name}") for name in names]):
                signal.pthread_kill(threading.get_ident(), mark.sent)  # this thread goes no further

    return MarkedWriter
