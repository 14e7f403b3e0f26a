"""Named kill points of commits, which a worker reaches, and of effects, which its world reaches.

Reached ones are noted, so a run without faults counts them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from daemon.engine.journal.writer import JournalWriter, PendingAppend, Result
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import exclude_commits
from tests.wire.shared_page import SharedPage

KillPointName = str
"""`before speech#1`, `after chat.postMessage#2`: the same in each run, however commits are batched."""
STILL = ("T", "Z", "X", "")
"""Linux states of a process that does nothing more."""
REACHED = "kill-points.jsonl"


class ArmedKillPoint:
    """Name of a kill point, and the signal sent there."""

    def __init__(self, home: Path, name: KillPointName = "", sent: signal.Signals = signal.SIGKILL) -> None:
        self.home = home
        self.sent = sent
        self._name = name

    def reached(self, name: KillPointName) -> bool:
        """Note a kill point; True at the armed one."""
        append_line(self.home / REACHED, name)
        if name != self._name:
            return False
        self._name = ""
        return True


class RandomKills(ArmedKillPoint):
    """Random kills in phase one."""

    def __init__(self, home: Path, page: SharedPage, seed: str, chance: float) -> None:
        super().__init__(home)
        self._page = page
        self._random = random.Random(seed)
        self._chance = chance

    def reached(self, name: KillPointName) -> bool:
        return self._page.phase == 0 and self._random.random() < self._chance


def reached_kill_points(home: Path) -> list[KillPointName]:
    return list(dict.fromkeys(read_lines(home / REACHED)))


def signal_worker(armed: ArmedKillPoint, pid: int) -> None:
    """Signal a worker outside commits, and wait until it stands still."""
    with exclude_commits(armed.home):
        os.kill(pid, armed.sent)
    while _state(pid) not in STILL:
        pass


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def crashing_writer(armed: ArmedKillPoint) -> type[JournalWriter]:
    """Return a writer with kill points before and after each new entry's commit."""

    class NamedCrashingWriter(JournalWriter):
        _names: dict[str, str]

        def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
            names = [self._name(append) for append in batch]
            self._reach("before", names)
            with exclude_commits(armed.home):
                results = super().commit(batch)
            self._reach("after", names)
            return results

        def _name(self, append: PendingAppend) -> str:
            names = self.__dict__.setdefault("_names", {})
            kind, key = append.row.kind, append.row.key
            number = 1 + sum(name.startswith(f"{kind}#") for name in names.values())
            return str(names.setdefault(key, f"{kind}#{number}"))

        def _reach(self, when: str, names: Sequence[str]) -> None:
            if any([armed.reached(f"{when} {name}") for name in names]):
                signal.pthread_kill(threading.get_ident(), armed.sent)  # this thread goes no further

    return NamedCrashingWriter
