"""Status lines ("is thinking…"), for two minutes or until the app posts there.

Also agents' sessions that are `processing`, and can be stopped, for an hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rehearsal.timekeeping import RehearsalClock

LASTS, SESSION_LASTS = 120.0, 3_600.0
Key = tuple[str, str, str]
"""Channel, thread and user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStatusLine:
    """Status line, shown until `until` at most."""

    channel: str
    thread_ts: str
    user: str
    status: str
    loading_messages: tuple[str, ...]
    until: float

    def json(self) -> dict[str, Any]:
        return {
            "type": "status",
            "channel": self.channel,
            "thread_ts": self.thread_ts,
            "user": self.user,
            "status": self.status,
            "loading_messages": list(self.loading_messages),
            "until": self.until,
        }


class StatusBoard:
    """Current status lines and sessions, in memory only."""

    def __init__(self, clock: RehearsalClock) -> None:
        self._clock = clock
        self._lines: dict[Key, ThreadStatusLine] = {}
        self._working: dict[Key, float] = {}

    def set(
        self, channel: str, thread_ts: str, user: str, text: str, loading: tuple[str, ...] = ()
    ) -> ThreadStatusLine:
        """Show a line; an empty one clears it. Returns the event for the page."""
        until = self._clock.now() + LASTS
        line = ThreadStatusLine(
            channel=channel,
            thread_ts=thread_ts,
            user=user,
            status=text,
            loading_messages=loading,
            until=until,
        )
        self._lines.pop((channel, thread_ts, user), None)
        if text:
            self._lines[channel, thread_ts, user] = line
        return line

    def shown(self, channel: str, thread_ts: str, user: str) -> bool:
        line = self._lines.get((channel, thread_ts, user))
        return line is not None and line.until > self._clock.now()

    def work(self, channel: str, thread_ts: str, user: str, working: bool) -> dict[str, Any]:
        """Record whether a session is processing. Returns the event for the page."""
        self._working.pop((channel, thread_ts, user), None)
        if working:
            self._working[channel, thread_ts, user] = self._clock.now() + SESSION_LASTS
        return _session(channel, thread_ts, user, working)

    def working(self, channel: str, thread_ts: str) -> list[str]:
        """Return agents that can be stopped here."""
        now = self._clock.now()
        place = (channel, thread_ts)
        return [key[2] for key, until in self._working.items() if key[:2] == place and until > now]

    def sessions(self) -> list[dict[str, Any]]:
        """Return processing sessions as events for the page."""
        now = self._clock.now()
        return [_session(*key, True) for key, until in self._working.items() if until > now]

    def all(self) -> list[ThreadStatusLine]:
        return [line for line in self._lines.values() if line.until > self._clock.now()]


def _session(channel: str, thread_ts: str, user: str, working: bool) -> dict[str, Any]:
    return {
        "type": "session",
        "channel": channel,
        "thread_ts": thread_ts,
        "user": user,
        "working": working,
    }
