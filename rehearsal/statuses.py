"""What an app shows while it works ("is thinking…"), until it speaks there or two minutes pass.

Besides: where an agent's session is `processing`, so that people are offered to stop it, for an hour.
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
    """A status line; `until` is when Slack takes it away by itself."""

    channel: str
    thread_ts: str
    user: str
    status: str
    loading_messages: tuple[str, ...]
    until: float

    def json(self) -> dict[str, Any]:
        """As the page is told."""
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
    """The status lines and sessions that stand now. They don't outlive the world."""

    def __init__(self, clock: RehearsalClock) -> None:
        self._clock = clock
        self._lines: dict[Key, ThreadStatusLine] = {}
        self._working: dict[Key, float] = {}

    def set(
        self, channel: str, thread_ts: str, user: str, text: str, loading: tuple[str, ...] = ()
    ) -> ThreadStatusLine:
        """Show this line, or none; returns what the page is to be told."""
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
        """Whether this app has a line there."""
        line = self._lines.get((channel, thread_ts, user))
        return line is not None and line.until > self._clock.now()

    def work(self, channel: str, thread_ts: str, user: str, working: bool) -> dict[str, Any]:
        """This agent's session there is processing, or no longer; returns what the page is to be told."""
        self._working.pop((channel, thread_ts, user), None)
        if working:
            self._working[channel, thread_ts, user] = self._clock.now() + SESSION_LASTS
        return _session(channel, thread_ts, user, working)

    def working(self, channel: str, thread_ts: str) -> list[str]:
        """The agents that people may stop there."""
        now = self._clock.now()
        place = (channel, thread_ts)
        return [key[2] for key, until in self._working.items() if key[:2] == place and until > now]

    def sessions(self) -> list[dict[str, Any]]:
        """Every session that is processing, as the page is told."""
        now = self._clock.now()
        return [_session(*key, True) for key, until in self._working.items() if until > now]

    def all(self) -> list[ThreadStatusLine]:
        """Every line that still stands."""
        return [line for line in self._lines.values() if line.until > self._clock.now()]


def _session(channel: str, thread_ts: str, user: str, working: bool) -> dict[str, Any]:
    return {
        "type": "session",
        "channel": channel,
        "thread_ts": thread_ts,
        "user": user,
        "working": working,
    }
