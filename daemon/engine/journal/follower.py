"""Follower of the log: a thread that folds what other daemons write into this daemon's copy."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing

import psycopg

from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal_copy import JournalCopy
from daemon.engine.journal.postgres_log import PostgresLog
from daemon.engine.journal.rows import WrittenRow

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds after which the follower looks by itself, since a notice may be lost with its connection."""

RECONNECT_PAUSE = 0.2


class LogFollower(threading.Thread):
    """Thread that folds new entries as soon as the log tells of them.

    `told` gets them while the copy's lock is held; `reached` is called with True and False as the log can
    and cannot be reached.
    """

    def __init__(
        self,
        url: str,
        name: str,
        copy: JournalCopy,
        told: Callable[[Sequence[WrittenRow]], None],
        reached: Callable[[bool], None],
    ) -> None:
        super().__init__(name="log-follower", daemon=True)
        self._url = url
        self._name = name
        self._copy = copy
        self._told = told
        self._reached = reached
        self._ends = threading.Event()
        self.last_told = copy.upto
        """Newest seq that the log has told of."""

    def stop(self) -> None:
        self._ends.set()
        self.join()

    def run(self) -> None:
        while not self._ends.is_set():
            try:
                with closing(PostgresLog(self._url, self._name)) as shared:
                    self._follow(shared)
            except (psycopg.Error, sqlite3.Error, JournalError) as error:
                self._reached(False)
                log.debug("The log cannot be followed (%s).", error)
                self._ends.wait(RECONNECT_PAUSE)

    def _follow(self, shared: PostgresLog) -> None:
        shared.listen()
        upto: int | None = None
        while not self._ends.is_set():
            self.last_told = max(self.last_told, upto or shared.last())
            self._reached(True)
            self._catch_up(shared)
            upto = shared.wait_for_news(POLL_SECONDS)

    def _catch_up(self, shared: PostgresLog) -> None:
        """Fold in parts, so that the writer is let in between."""
        while self._copy.upto < self.last_told and not self._ends.is_set():
            with self._copy.folding:
                if self._copy.upto >= self.last_told:
                    return
                rows = shared.rows_after(self._copy.upto)
                self._copy.fold(rows)
                if rows:
                    self._told(rows)
