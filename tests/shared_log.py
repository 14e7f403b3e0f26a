"""`JOURNAL=postgres`: every journal that a test opens is over a log in PostgreSQL, in a schema of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import daemon.engine.journal.journal as journal_module
from daemon.engine.clock import Clock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.journal.writer import JournalWriter
from rehearsal.postgres_server import FAST
from rehearsal.shared_postgres import share_postgres
from tests.postgres import SESSIONS, new_log, run_folder

ABOUT_FILES = {
    "engine/test_digests.py": (
        "an_older_journal_gets_its_digests",
        "a_disk_that_is_full_keeps_no_daemon_from_its_start",
        "what_was_damaged_before_gets_a_digest",
        "a_kill_at_any_commit_of_it",
    ),
    "engine/test_erasing.py": (
        "what_cannot_be_deleted_beside_it_holds_it_up",
        "a_kill_at_any_commit_ends_forgotten",
        "somebody_who_reads_it_as_it_was_holds_it_up",
        "a_disk_that_is_too_small_for_it",
        "what_was_folded_of_it_beside_the_journal",
    ),
}
"""Tests of the SQLite file itself, by beginnings of their names: they alter it, or count its commits."""


def is_about_file(item: pytest.Item) -> bool:
    """True if a test is of the journal's file, and has no sense over a log."""
    path = item.path.as_posix()
    return any(
        path.endswith(file) and item.name.startswith(f"test_{name}")
        for file, names in ABOUT_FILES.items()
        for name in names
    )


def is_copy(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return bool(db.execute("select 1 from sqlite_master where name = 'copy_of'").fetchone())
    except sqlite3.Error:
        return False


@dataclass(slots=True)
class LogsOfFiles:
    """Logs by the files of their copies. A journal opened where no file is begins a log of its own."""

    server: str
    urls: dict[Path, str] = field(default_factory=dict)

    def url_for(self, path: Path) -> str | None:
        """Return the log of this copy; None if the file is a journal without a log.

        Skips a test that opens a duplicate of a copy: it wants the journal as it was then.
        """
        path = path.absolute()
        if path.exists():
            if path not in self.urls and is_copy(path):
                pytest.skip("about a journal's file: it is duplicated")
            return self.urls.get(path)
        url = self.urls[path] = new_log(self.server)
        with connect(url, "tests") as connection:
            install_log(connection)
        return url


def journal_over(logs: LogsOfFiles) -> Any:
    """Return a class in place of the journal's: over a log, unless its file was made without one."""

    class JournalOfTest(SharedJournal):
        def __new__(
            cls,
            path: Path,
            clock: Clock,
            kinds: Iterable[type[Event]],
            writer: type[JournalWriter] = JournalWriter,
        ) -> Any:
            if logs.url_for(path) is None:
                return Journal(path, clock, kinds, writer)
            return super().__new__(cls)

        def __init__(
            self,
            path: Path,
            clock: Clock,
            kinds: Iterable[type[Event]],
            writer: type[JournalWriter] = JournalWriter,
        ) -> None:
            super().__init__(path, clock, kinds, writer, url=logs.urls[path.absolute()])

    return JournalOfTest


def put_in_place() -> ExitStack:
    """Start the run's server, and let every module that is imported from now on open journals over it."""
    stack = ExitStack()
    server = stack.enter_context(share_postgres(run_folder(), *FAST, *SESSIONS))
    stack.callback(setattr, journal_module, "Journal", Journal)
    journal_module.Journal = journal_over(LogsOfFiles(server))  # type: ignore[misc]
    return stack
