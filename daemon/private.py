"""Which of the daemon's files others could read: private thoughts are in them. For the start, the doctor."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from daemon.engine.exceptions import JournalError

OURS = ("*.db", "*.db-wal", "*.db-shm", "*.db-journal", "*.db.lock", "*.db.part")
"""The files that the daemon makes in its home."""
READS = "reads"
"""The folder in it with the journals of what was read in a terminal."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private() -> None:
    """From now on nobody but its owner can read what this process makes."""
    os.umask(OTHERS)


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """A new file that nobody but its owner can read, to be written beside this path: it takes its name when
    it is whole. Raises JournalError where it cannot be written, or something has that name."""
    part = path.parent / f"{path.name}.part"
    _are_free(path, part)
    try:
        part.touch(stat.S_IRUSR | stat.S_IWUSR, exist_ok=False)
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            _are_free(path)  # still: a rename takes the place of whatever has the name
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise JournalError(f"{path} cannot be written ({error.strerror}).") from error


def _are_free(*paths: Path) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise JournalError(f"{path} is there already. Name another file, or take it away.")


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
