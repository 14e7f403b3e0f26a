"""Which of the daemon's files others could read: private thoughts are in them. For the start, the doctor."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

OURS = ("*.db", "*.db-wal", "*.db-shm", "*.db-journal", "*.db.lock")
"""The files that the daemon makes in its home."""
READS = "reads"
"""The folder in it with the journals of what was read in a terminal."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private() -> None:
    """From now on nobody but its owner can read what this process makes."""
    os.umask(OTHERS)


def create(path: Path) -> int:
    """Make a file that nobody but its owner can read, to be written; raises OSError where one is already."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)


def is_shown(path: Path) -> bool:
    """May others than its owner do anything with it, as far as it is there?"""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def files(home: Path) -> list[Path]:
    """The daemon's own files there."""
    return sorted(path for pattern in OURS for path in home.glob(pattern) if path.is_file())


def tighten(home: Path) -> None:
    """Close the daemon's own files there to others, and the folder, too, if nothing else is in it.

    What belongs to somebody else, or is a folder of other things, is left as it is: the doctor says so.
    """
    own = files(home)
    for path in own:
        _close(path)
    if {*home.iterdir()} <= {*own}:
        _close(home)


def _close(path: Path) -> None:
    with suppress(OSError):  # it is gone, or somebody else's
        if is_shown(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
