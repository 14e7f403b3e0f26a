"""The channels in which a guest has written, or somebody from outside. For the names.

Slack does not say of a channel that guests are in it. Whoever writes there reads there, and others like them
may, too, when they have gone: so it stays written down.
"""

from __future__ import annotations

from daemon.engine.journal import Journal
from daemon.kinds import AudienceChanged


class GuestTracker:
    """What the journal knows of them, in whatever life of the daemon it was written down."""

    def __init__(self, journal: Journal, team: str) -> None:
        self._journal = journal
        self._team = team
        self._known: dict[str, bool] = {}
        """What was looked up: nobody else writes it down."""

    def has_guest_written(self, channel: str) -> bool:
        """Has one of them ever written in this channel?"""
        if channel not in self._known:
            self._known[channel] = self._journal.get(self._key(channel)) is not None
        return self._known[channel]

    async def record_guest(self, channel: str) -> None:
        """One of them writes in this channel: from now on it is shared. Raises JournalError."""
        if not self.has_guest_written(channel):
            said = AudienceChanged(team=self._team, channel=channel, audience="shared")
            await self._journal.append(f"slack:{self._team}", said, key=self._key(channel), author="core")
            self._known[channel] = True

    def _key(self, channel: str) -> str:
        return f"guests:{self._team}:{channel}"
