"""Mark: a named boundary, and the signal sent there.

The daemon marks commits, the world marks effects. Passed boundaries are noted, so a run without kills counts
them.
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
"""`before speech#1`, `after chat.postMessage#2`: the same in each run, however commits are batched."""
STILL = ("T", "Z", "X", "")
"""Linux states of a process that does nothing more."""
NOTES = "boundaries.jsonl"


class Mark:
    def __init__(self, home: Path, boundary: Boundary = "", sent: signal.Signals = signal.SIGKILL) -> None:
        self.home = home
        self.sent = sent
        self._boundary = boundary

    def reached(self, boundary: Boundary) -> bool:
        """Note a boundary; True at the marked one."""
        note(self.home / NOTES, boundary)
        if boundary != self._boundary:
            return False
        self._boundary = ""
        return True


class Chance(Mark):
    """Random kills in phase one."""

    def __init__(self, home: Path, page: Board, seed: str, chance: float) -> None:
        super().__init__(home)
        self._page = page
        self._random = random.Random(seed)
        self._chance = chance

    def reached(self, boundary: Boundary) -> bool:
        return self._page.phase == 0 and self._random.random() < self._chance


def passed(home: Path) -> list[Boundary]:
    return list(dict.fromkeys(read(home / NOTES)))


def strike(mark: Mark, daemon: int) -> None:
    """Signal a daemon outside commits, and wait until it stands still."""
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
    """Return a writer with boundaries around each new entry's commit."""

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
