"""Placement of programs: the machine on which each runs."""

from __future__ import annotations

from typing import Protocol

from daemon.engine.event import Entry
from daemon.kinds import ProgramStarted


class ProgramPlacement(Protocol):
    """Decision on where a program runs. Methods raise JournalError."""

    @property
    def ends_with_daemon(self) -> bool:
        """True if a program ends with the daemon that started it."""

    async def settle(self, started: Entry[ProgramStarted]) -> bool:
        """Wait until the program is this daemon's; return True if it may be started here.

        False: it was placed before, so there is only its end to be found. Returns also if the program ends.
        """

    async def confirm(self) -> None:
        """Wait until this daemon may start what is placed on it."""


class OneMachine:
    """Placement of all programs on the only machine, where folders say what was started."""

    ends_with_daemon = False

    async def settle(self, started: Entry[ProgramStarted]) -> bool:
        return True

    async def confirm(self) -> None:
        return
