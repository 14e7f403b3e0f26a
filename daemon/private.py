"""Which of the daemon's files others could read: private thoughts are in them. For the start, the doctor."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from daemon.engine.exceptions import JournalError

TOKEN = "console-token"
"""The file in the home with the token of the page."""
JOURNALS = ("*.db", "*.db-wal", "*.db-shm", "*.db-journal", "*.db.lock", "*.db.part")
"""The files of journals, and of what is kept beside them."""
CAPABILITIES = "model-capabilities.json"
"""The file in it with what the models of servers can do."""
PAGE = ("console-token*", "console-sessions", "console-links", "*console-address*")
"""What opens the page, and where it is: files, and folders of files."""
READS = "reads"
"""The folder in it with the journals of what was read in a terminal."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def set_private_umask() -> None:
    """From now on nobody but its owner can read what this process makes."""
    os.umask(OTHERS)


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
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


def is_readable_by_others(path: Path) -> bool:
    """May others than its owner do anything with it, as far as it is there?"""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def write_private(path: Path, text: str) -> None:
    """Replace this file by one that only its owner can read: whole, or not at all. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink()
        raise


def journals(home: Path) -> list[Path]:
    """The files of the daemon's journals there."""
    return sorted(path for pattern in JOURNALS for path in home.glob(pattern) if path.is_file())


def daemon_files(home: Path) -> list[Path]:
    """All that the daemon makes at the top of its home, but for folders of other things."""
    patterns = (*PAGE, f"{CAPABILITIES}*")
    return [*journals(home), *sorted(path for pattern in patterns for path in home.glob(pattern))]


def journal_files(home: Path) -> list[Path]:
    """The daemon's own files there, wherever they stand, and its folders of them."""
    own = daemon_files(home)
    return own + [path for folder in own if folder.is_dir() for path in sorted(folder.iterdir())]


def restrict_permissions(home: Path) -> None:
    """Close the daemon's own files there to others, and the folder, too, if nothing else is in it.

    What belongs to somebody else, or is a folder of other things, is left as it is: the doctor says so. So is
    the token: who reads it closes it, and says that others may know it.
    """
    for path in daemon_files(home):
        if path.name != TOKEN:
            _close(path)
    if {*home.iterdir()} <= {*daemon_files(home)}:
        _close(home)


def _close(path: Path) -> None:
    with suppress(OSError):  # it is gone, or somebody else's
        if is_readable_by_others(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
