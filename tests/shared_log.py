"""`JOURNAL=postgres`: every journal that a test opens is over a log in PostgreSQL, in a schema of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

SETTING = "JOURNAL"


def is_asked_for() -> bool:
    return os.environ.get(SETTING) == "postgres"


@dataclass(slots=True)
class LogsOfFiles:
    """Logs by the files of their copies. A journal opened where no file is begins a log of its own."""

    server: str
    urls: dict[Path, str] = field(default_factory=dict)

    def url_for(self, path: Path) -> str | None:
        """Return the log of this copy; None if the file is a journal without a log."""
        path = path.absolute()
        if path.exists():
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
