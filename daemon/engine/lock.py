"""The lock that lets one daemon at a time hold a journal. It dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from daemon.engine.exceptions import JournalError, JournalLocked

PRIVATE = 0o600
"""Read and written by its owner alone, whatever the umask: private thoughts are in it."""

MOMENT = 0.05
"""Seconds for which it may be held by one who only looks whether it is."""


@contextmanager
def hold_lock(journal: Path) -> Iterator[None]:
    """Hold `journal`'s lock file; raises JournalHeld when another process does, JournalError if none can."""
    path = journal.with_name(journal.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for made in (path, journal):
            if not made.exists():
                made.touch(mode=PRIVATE)  # SQLite gives its other files the mode of this one
        file = path.open("a+b", buffering=0)  # what a full disk did not take is not written when it is closed
    except OSError as error:
        raise _useless(path, error) from error
    with file:
        try:
            _take(file, journal)
        except OSError as error:
            raise _useless(path, error) from error
        yield


def _take(file: FileIO, journal: Path) -> None:
    if not _taken(file):
        time.sleep(MOMENT)
        if not _taken(file):
            file.seek(0)
            holder = file.read().decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"Another daemon (process {holder}) holds the journal {journal}."
                " Stop it first, or give this one a journal of its own."
            )
    file.truncate(0)
    file.write(str(os.getpid()).encode())


def _taken(file: FileIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _useless(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"The lock {path} cannot be used ({error.strerror})."
        " Make it and its folder this user's, make room on the disk, or put the journal in another folder."
    )


def lock_holder(journal: Path) -> str:
    """The process that holds `journal`, as far as it is known; empty when nobody does."""
    try:
        with journal.with_name(journal.name + ".lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return journal.with_name(journal.name + ".lock").read_text().strip() or "unknown"
    except OSError:
        return ""
    return ""
