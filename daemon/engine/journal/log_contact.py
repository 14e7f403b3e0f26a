"""Contact with the log, as the thread that follows it has it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from daemon.engine.clock import boot_time

log = logging.getLogger(__name__)

SILENCE_SECONDS = 1.5
"""Seconds without an answer after which the log is away, though no connection has failed."""


class LogState(NamedTuple):
    """State of the log: `since` is the Unix time from which `reachable` has had its value, `behind` counts
    entries that the copy lacks, `why` says why the log is away.
    """

    reachable: bool
    behind: int
    since: float
    why: str = ""


class LogContact:
    """Times of answers. Its methods may be called in any thread; `changed` is called in the follower's.

    `now` returns the Unix time of the workspace.
    """

    def __init__(self, now: Callable[[], float], changed: Callable[[], None]) -> None:
        self._now = now
        self._changed = changed
        self._heard = boot_time()
        self._since = self._now()
        self._why = ""
        self._told = set[str]()
        """Reasons for which it was away since it was last there."""

    def note_answer(self) -> None:
        state = self.state(0)
        self._heard, self._why = boot_time(), ""
        if not state.reachable:
            log.warning("The log is back, after %.1f s.", self._now() - state.since)
            self._since = self._now()
            self._changed()

    def note_failure(self, why: str) -> None:
        if self.state(0).reachable:
            self._since = self._now()
            self._told.clear()
        self._why = why
        if why not in self._told:
            self._told.add(why)
            log.error(
                "The log in PostgreSQL is away (%s): nothing is acknowledged or begun until it is back.", why
            )
            self._changed()

    def state(self, behind: int) -> LogState:
        silent = boot_time() - self._heard
        if self._why:
            return LogState(reachable=False, behind=behind, since=self._since, why=self._why)
        if silent > SILENCE_SECONDS:
            since = self._now() - silent
            return LogState(reachable=False, behind=behind, since=since, why="it does not answer")
        return LogState(reachable=True, behind=behind, since=self._since)
