"""Up to when everything that was said in a workspace has been read: an entry that only catch-up writes.

Never what came live: an event that came says nothing about the one before it that did not. In Slack's time,
and a mark of the future is not believed: it would be there for as long as this machine's clock was ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.slack.place import place


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """Unix seconds. `behind` holds the conversations that could not be read so far, each with its own."""

    until: float
    behind: Mapping[str, float] = field(default_factory=dict)

    def of(self, channel: str) -> float:
        """Up to when this conversation has been read."""
        return self.behind.get(channel, self.until)


def watermark(journal: Journal, team: str, now: float) -> Watermark | None:
    """The last watermark of a workspace that can be believed `now`; None before the soul has ever been there.

    Where none can be, what was said since the soul was called for the first time counts as unread.
    """
    last = newest = _last(journal, team)
    while last:
        if max(last.body["until"], *last.body["behind"].values(), 0.0) <= now:
            return Watermark(until=last.body["until"], behind=last.body["behind"])
        last = journal.latest(last.thread, "caught-up", before=last.seq)
    return Watermark(until=_first_call(journal, team, now)) if newest else None


async def move(journal: Journal, team: str, mark: Watermark) -> None:
    """From now on this is the watermark."""
    last = _last(journal, team)
    body = {"until": mark.until, "behind": dict(mark.behind)}
    key = f"caught-up:{team}:{last.seq if last else 'first'}"
    await journal.append(f"slack:{team}", "caught-up", body, key=key, author="core")


def _first_call(journal: Journal, team: str, now: float) -> float:
    """When the soul was first called, as Slack dates it; now, if it never was."""
    places = map(place, journal.kind("thread"))
    return min([now, *(float(one.called_by) for one in places if one.team == team)])


def _last(journal: Journal, team: str) -> Entry | None:
    return journal.latest(f"slack:{team}", "caught-up")
