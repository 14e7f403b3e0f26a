"""Up to when everything that was said in a workspace has been read: an entry that only catch-up writes.

Never what came live: an event that came says nothing about the one before it that did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.entry import Entry
from daemon.journal.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """Unix seconds. `behind` holds the conversations that could not be read so far, each with its own."""

    until: float
    behind: Mapping[str, float] = field(default_factory=dict)

    def of(self, channel: str) -> float:
        """Up to when this conversation has been read."""
        return self.behind.get(channel, self.until)


def watermark(journal: Journal, team: str) -> Watermark | None:
    """The watermark of a workspace; None before the soul has ever been there."""
    last = _last(journal, team)
    return Watermark(until=last.body["until"], behind=last.body["behind"]) if last else None


async def move(journal: Journal, team: str, mark: Watermark) -> None:
    """From now on this is the watermark."""
    last = _last(journal, team)
    body = {"until": mark.until, "behind": dict(mark.behind)}
    key = f"caught-up:{team}:{last.seq if last else 'first'}"
    await journal.append(f"slack:{team}", "caught-up", body, key=key, author="core")


def _last(journal: Journal, team: str) -> Entry | None:
    return journal.latest(f"slack:{team}", "caught-up")
