"""Follower of the log: a thread that folds what other daemons write into this daemon's copy.

It also looks after the copy: notices that its file is gone, and clears it of forgotten words.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing

import psycopg

from daemon.engine.exceptions import JournalError, recorded_name
from daemon.engine.journal.journal_copy import JournalCopy, raise_damage
from daemon.engine.journal.log_contact import LogContact
from daemon.engine.journal.postgres_log import PostgresLog, away_reason
from daemon.engine.journal.rows import WrittenRow

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""Seconds after which the follower looks by itself, since a notice may be lost with its connection."""

RECONNECT_PAUSE = 0.2

LOCK_SECONDS = 0.4
"""Seconds for a look at the log's table, which may be locked by a rewrite, and for the copy, which may be the
writer's for as long: the log answers all the same.
"""

CLEAR_PAUSE = 2.0
"""Seconds between attempts to clear the file while somebody reads it as it was."""


class LogFollower(threading.Thread):
    """Thread that folds new entries as soon as the log tells of them.

    `told` gets them while the copy's lock is held, and nothing when `uncleared` changes. `failed` gets the
    error after which the copy is of no use.
    """

    def __init__(
        self,
        url: str,
        name: str,
        copy: JournalCopy,
        contact: LogContact,
        told: Callable[[Sequence[WrittenRow]], None],
        failed: Callable[[JournalError], None],
        ends: threading.Event,
    ) -> None:
        super().__init__(name="log-follower", daemon=True)
        self._url = url
        self._name = name
        self._copy = copy
        self._contact = contact
        self._told = told
        self._failed = failed
        self._ends = ends
        self._log: PostgresLog | None = None
        self._is_idle = False
        self._look_at = self._clear_at = 0.0
        self._warned = ""
        self.last_told = copy.upto
        """Newest seq that the log has told of."""
        self.uncleared: Sequence[str] = ()
        """Machines whose copies may hold forgotten words."""

    def stop(self, patience: float) -> None:
        """End the thread, after `ends` was set; an answer is awaited for `patience` seconds."""
        if self._is_idle and self._log:
            self._log.hang_up()
        self.join(patience)
        while self.is_alive():
            if self._log:
                self._log.hang_up()
            self.join(0.1)

    def run(self) -> None:
        try:
            self._follow_for_ever()
        except JournalError as error:
            self._failed(error)
        except Exception as error:  # boundary of a thread
            log.critical("The follower of the log died.", exc_info=True)
            self._failed(JournalError(f"The log is not followed any more ({recorded_name(error)}): restart."))

    def _follow_for_ever(self) -> None:
        while not self._ends.is_set():
            try:
                with closing(PostgresLog(self._url, self._name)) as self._log:
                    self._follow(self._log)
            except psycopg.Error as error:
                if not self._ends.is_set():
                    self._contact.note_failure(away_reason(error))
            except (sqlite3.Error, OSError) as error:
                self._warn("The copy of the log cannot be written (%s), and falls behind.", error)
            self._ends.wait(RECONNECT_PAUSE)

    def _follow(self, shared: PostgresLog) -> None:
        shared.listen()
        self.last_told = self._copy.upto
        shared.connection.execute(f"set lock_timeout = '{LOCK_SECONDS}s'")
        checked, upto = False, None
        while not self._ends.is_set():
            try:
                self.last_told = max(self.last_told, upto or shared.look())
                checked = checked or self._is_checked(shared)
                if checked:
                    self._catch_up(shared)
                    if not self._copy.is_reported or time.monotonic() >= self._look_at:
                        self._look_after_copy(shared)
            except psycopg.errors.LockNotAvailable:
                log.debug("The log's table is being rewritten.")
            self._contact.note_answer()
            self._is_idle = True
            upto = shared.wait_for_news(POLL_SECONDS)
            self._is_idle = False

    def _is_checked(self, shared: PostgresLog) -> bool:
        """Check the copy against the log that was connected to, unless the writer has it for long."""
        with self._copy.held(LOCK_SECONDS) as held:
            if held:
                self._copy.check_log(shared)
            return held

    def _catch_up(self, shared: PostgresLog) -> None:
        """Fold in parts, so that the writer is let in between."""
        while self._copy.upto < self.last_told and not self._ends.is_set():
            with self._copy.held(LOCK_SECONDS) as held, raise_damage():
                if not held or self._copy.upto >= self.last_told:
                    return
                rows = shared.rows_after(self._copy.upto)
                if not rows:
                    return
                self._told(self._copy.fold(rows))
            self._contact.note_answer()

    def _look_after_copy(self, shared: PostgresLog) -> None:
        self._look_at = time.monotonic() + POLL_SECONDS
        self._copy.check_file()
        with self._copy.held(LOCK_SECONDS) as held, raise_damage():
            if not held:
                return
            if not self._copy.is_reported and time.monotonic() >= self._clear_at:
                self._clear(shared)
            left = self._copy.unerased()
        uncleared = shared.uncleared_machines(left[-1]) if left else ()
        if uncleared != self.uncleared:
            self.uncleared = uncleared
            self._told(())

    def _clear(self, shared: PostgresLog) -> None:
        try:
            self._copy.clear(shared)
        except (sqlite3.OperationalError, OSError) as error:
            self._clear_at = time.monotonic() + CLEAR_PAUSE
            self._warn("Forgotten words stay in the copy for now (%s).", error)

    def _warn(self, text: str, error: Exception) -> None:
        level = logging.DEBUG if text % error == self._warned else logging.WARNING
        self._warned = text % error
        log.log(level, text, error)
