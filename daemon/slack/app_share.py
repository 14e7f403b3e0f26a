"""Share of a daemon in the Slack app: sockets, calls and roles.

Daemons that share a log share the app, too. All of them together open at most ten sockets, call Slack no more
often than one daemon may, and read the archives only in one place.
"""

from __future__ import annotations

from typing import Protocol

from daemon.lifetime import EveryRole, RoleHolder

MOST_SOCKETS = 10
"""Most sockets that Slack allows for an app."""

CATCH_UP, ARCHIVES = "catch-up", "archives"
"""Roles: backfill, and the reading of bots' messages until they are whole."""


class AppShare(RoleHolder, Protocol):
    @property
    def is_shared(self) -> bool:
        """True if other daemons may use the app with the same log."""

    @property
    def daemon_count(self) -> int:
        """Number of living daemons that call Slack, this one included."""

    @property
    def sockets_elsewhere(self) -> int:
        """Number of sockets that the other daemons of this log have stated."""

    @property
    def seconds_without_log(self) -> float:
        """Seconds since the log was last reached; 0 while it is."""

    async def allot_sockets(self, wanted: int) -> int:
        """Reserve up to `wanted` sockets in place of what was reserved before; return their number.

        The reservations of all daemons never exceed MOST_SOCKETS.
        """


class WholeApp(EveryRole):
    """Share of a daemon that has the app for itself."""

    is_shared = False
    daemon_count = 1
    sockets_elsewhere = 0
    seconds_without_log = 0.0

    async def allot_sockets(self, wanted: int) -> int:
        return wanted
