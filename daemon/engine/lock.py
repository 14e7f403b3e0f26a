"""The lock that lets one daemon at a time hold a journal. It dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from daemon.engine.exceptions import JournalError, JournalHeld

PRIVATE = 0o600
"""Read and written by its owner alone, whatever the umask: private thoughts are in it."""


@contextmanager
def locked(journal: Path) -> Iterator[None]:
    """Hold `journal`'s lock file; raises JournalHeld when another process does, JournalError if none can."""
    path = journal.with_name(journal.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for made in (path, journal):
            if not made.exists():
                made.touch(mode=PRIVATE)  # SQLite gives its other files the mode of this one
        file = path.open("a+")
    except OSError as error:
        raise _useless(path, error) from error
    with file:
        try:
            _take(file, journal)
        except OSError as error:
            raise _useless(path, error) from error
        yield


def _take(file: IO[str], journal: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        raise JournalHeld(
            f"Another daemon (process {holder}) holds the journal {journal}."
            " Stop it first, or give this one a journal of its own."
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()


def _useless(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"The lock {path} cannot be used ({error.strerror})."
        " Make it and its folder this user's, or put the journal in a folder that is."
    )


def holder(journal: Path) -> str:
    """The process that holds `journal`, as far as it is known; empty when nobody does."""
    try:
        with journal.with_name(journal.name + ".lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return journal.with_name(journal.name + ".lock").read_text().strip() or "unknown"
    except OSError:
        return ""
    return ""
