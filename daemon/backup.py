"""A copy of the journal as it is at one moment, made beside a running daemon. For the command `backup`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from daemon.engine.exceptions import JournalError
from daemon.engine.opening import open_readonly
from daemon.engine.reading import open_reader
from daemon.engine.verify import VerifyResult
from daemon.kinds import SOUL_KINDS
from daemon.private import write_atomically
from daemon.rules import verify_journal


def backup_journal(journal: Path, out: Path) -> str:
    """Copy it into this new file, which nobody else can read, and check the copy; says what it holds.

    Raises JournalError where it cannot be read or written, or the copy is not sound; then no file is left.
    """
    open_readonly(journal).close()  # what is no journal is said as such, before anything is made
    with write_atomically(out) as copy:
        _copy_journal(journal, copy)
        return f"{out}: {_check_copy(copy)}"


def _copy_journal(journal: Path, out: Path) -> None:
    """`vacuum into` reads one moment of a journal that others go on writing."""
    store = sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        store.execute("vacuum into ?", (str(out),))
    except sqlite3.Error as error:
        raise JournalError(f"{journal} could not be copied to {out} ({error}).") from error
    finally:
        store.close()


def _check_copy(copy: Path) -> VerifyResult:
    """Raises JournalError where the copy breaks a rule of the journal."""
    with open_reader(copy, SOUL_KINDS) as copied:
        verdict = verify_journal(copied)
    if verdict.violations:
        raise JournalError(
            f"The copy breaks rules of the journal, as the journal itself may: {verdict.violations[0]}."
            " Run `python -m daemon verify`; a copy of the files of a stopped daemon keeps all that there is."
        )
    return verdict
