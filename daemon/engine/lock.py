"""The lock that lets one daemon at a time hold a journal. It dies with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.engine.exceptions import JournalHeld


@contextmanager
def locked(journal: Path) -> Iterator[None]:
    """Hold `journal`'s lock file; raises JournalHeld when another process does."""
    path = journal.with_name(journal.name + ".lock")
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise JournalHeld(
                f"Another process ({holder}) holds the journal {journal}."
                " Stop it first, or name another journal."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def holder(journal: Path) -> str:
    """The process that holds `journal`, as far as it is known; empty when nobody does."""
    try:
        with journal.with_name(journal.name + ".lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return journal.with_name(journal.name + ".lock").read_text().strip() or "unknown"
    return ""
