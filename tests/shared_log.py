"""`JOURNAL=postgres`: every journal that a test opens is over a log in PostgreSQL, in a schema of its own."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import daemon.engine.journal.journal as journal_module
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.postgres_log import connect, install_log
from daemon.engine.journal.shared_journal import SharedJournal
from rehearsal.postgres_server import FAST
from rehearsal.shared_postgres import share_postgres
from tests.attention import AttentiveLoop
from tests.postgres import SESSIONS, new_log, run_folder

ABOUT_FILES = {
    "engine/test_digests.py": (
        "an_older_journal_gets_its_digests",
        "a_disk_that_is_full_keeps_no_daemon_from_its_start",
        "what_was_damaged_before_gets_a_digest",
        "a_kill_at_any_commit_of_it",
    ),
    "engine/test_opening.py": (
        "a_file_that_is_damaged_is_no_file_that_is_busy",
        "a_folded_table_that_is_wrong_is_made_anew",
        "a_damaged_entry_hides_no_other_one",
        "what_an_entry_closes_may_be_damaged",
    ),
    "stories/test_damage.py": ("",),
    "stories/test_again.py": ("an_answer_that_the_journal_could_not_take",),
    "stories/test_disk.py": ("a_locked_database_is_waited_for",),
    "stories/test_forgetting_killed.py": ("",),
    "stories/test_forgetting_meanwhile.py": ("one_that_begins_before_the_words_are_gone",),
    "stories/test_restored.py": ("",),
    "console/test_still_reading.py": ("",),
    "turn/test_first_turn.py": ("a_first_turn_reads_no_more_entries", "what_was_spent_today_is_the_same"),
    "turn/test_prompt_files.py": ("a_set_that_is_damaged_in_the_journal",),
    "knowledge/test_projection.py": ("what_another_daemon_wrote_is_folded",),
    "engine/test_recent_entries.py": ("what_another_daemon_writes_is_seen",),
    "engine/test_unawaited.py": (
        "what_the_world_may_see_waits_for_what_came_before",
        "what_follows_on_something_that_could_not_be_written",
        "what_was_paid_for_meanwhile_is_not_paid_again",
    ),
    "engine/test_unhashing.py": (
        "a_kill_at_any_commit_leaves_none",
        "damage_in_the_same_execution_keeps_nothing",
    ),
    "engine/test_erasing.py": (
        "what_cannot_be_deleted_beside_it_holds_it_up",
        "a_kill_at_any_commit_ends_forgotten",
        "somebody_who_reads_it_as_it_was_holds_it_up",
        "a_disk_that_is_too_small_for_it",
        "what_was_folded_of_it_beside_the_journal",
    ),
}
"""Tests of the SQLite file and its writer, by beginnings of their names: they alter, fill or restore
the file, count its commits, or let one fail.
"""


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
    """Logs by the files of their copies, noted in a folder that forked processes share.

    A journal opened where no file is begins a log of its own.
    """

    server: str = ""
    notes: Path = Path()

    def _note(self, path: Path) -> Path:
        return self.notes / hashlib.sha256(bytes(path.absolute())).hexdigest()

    def is_plain(self, path: Path) -> bool:
        """True for a journal without a log."""
        return path.exists() and self.url_for(path) is None

    def url_for(self, path: Path) -> str | None:
        """Return the log of this copy; None if the file is a journal without a log.

        Skips a test that opens a duplicate of a copy: it wants the journal as it was then.
        """
        note = self._note(path)
        if path.exists():
            if note.exists():
                return note.read_text(encoding="utf-8")
            if is_copy(path):
                pytest.skip("about a journal's file: it is duplicated")
            return None
        url = new_log(self.server)
        with connect(url, "tests") as connection:
            install_log(connection)
        note.write_text(url, encoding="utf-8")
        return url


def journal_over(logs: LogsOfFiles) -> Any:
    """Return a class in place of the journal's: over a log, unless its file was made without one."""

    class JournalOfTest(SharedJournal):
        def __new__(cls, *given: Any, **named: Any) -> Any:
            if cls is JournalOfTest and logs.is_plain(given[0]):
                return Journal(*given, **named)
            return super().__new__(cls)

        def __init__(self, path: Path, *about: Any, **named: Any) -> None:
            url = named.pop("url", None) or logs.url_for(path) or ""
            super().__init__(path, *about, url=url, **named)

        async def _confirm(self, thread: str, epoch: int) -> bool:
            """Ask for a lease: a test that waits for rest waits for the answer too."""
            asked = asyncio.ensure_future(super()._confirm(thread, epoch))
            if isinstance(loop := asyncio.get_running_loop(), AttentiveLoop):
                loop.attention.wait_for(asked)
            return await asked

    return JournalOfTest


def put_in_place() -> LogsOfFiles:
    """Let every module that is imported from now on open journals over logs."""
    logs = LogsOfFiles()
    journal_module.Journal = journal_over(logs)  # type: ignore[misc]
    return logs


@contextmanager
def run_server(logs: LogsOfFiles) -> Iterator[None]:
    """Use the run's server for the logs inside the block."""
    with share_postgres(run_folder(), *FAST, *SESSIONS) as logs.server:
        logs.notes = run_folder() / "logs"
        logs.notes.mkdir(exist_ok=True)
        yield
