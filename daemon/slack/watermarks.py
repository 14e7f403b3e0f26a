"""Up to where Slack has been read: in all of a workspace, and further in parts of it. For catch-up.

Each mark is an entry, in Slack's time, that nothing else writes: an event that came live says nothing about
the one before it that did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.engine.journal import Journal
from daemon.kinds import BackfillCompleted, BackfillProgress, ConversationOpened
from daemon.slack.place import record_workspace_note, workspace_thread

FEW = 40
"""Channels that are marked at once: about as many as are looked at in a minute."""


@dataclass(kw_only=True)
class Watermarks:
    """Where catching up begins, and how far it has come since; what it has read is asked for no more."""

    journal: Journal
    team: str
    whole: BackfillCompleted
    _channels: dict[str, float] = field(default_factory=dict)
    _threads: dict[tuple[str, str], float] = field(default_factory=dict)
    """By channel and root."""
    _unwritten: dict[str, float] = field(default_factory=dict)

    def unread_since(self, channel: str) -> float:
        """From when on there may be something in this channel, or in its threads, that is not known."""
        everywhere = self.whole.behind.get(channel, self.whole.until)
        return max(everywhere, self._channels.get(channel, 0.0))

    def thread_read_until(self, channel: str, root: str) -> float | None:
        """When the last was said that was read of this thread; None if it was not read since `since`."""
        return self._threads.get((channel, root))

    async def mark_thread_read(self, channel: str, root: str, latest: float) -> None:
        """All that was said in this thread, `latest` last, is in the journal. Raises JournalError."""
        await self._record(BackfillProgress(channels=self._unwritten, threads={channel: {root: latest}}))
        self._threads[channel, root] = latest

    async def mark_channel_read(self, channel: str, until: float) -> None:
        """All that was said in this channel until then is in the journal, that of its threads, too.

        Written with others only: who is killed before looks at a page of each again. Raises JournalError.
        """
        self._channels[channel] = self._unwritten[channel] = until
        if len(self._unwritten) >= FEW:
            await self.save()

    async def save(self) -> None:
        """Write down how far it has come. Raises JournalError."""
        if self._unwritten:
            await self._record(BackfillProgress(channels=self._unwritten))

    async def mark_all_read(self, until: float, behind: Mapping[str, float]) -> None:
        """All that was said until then is in the journal; less in the channels `behind`.

        Raises JournalError.
        """
        mark = BackfillCompleted(until=max(self.whole.until, until), behind=behind)
        if mark != self.whole:
            await record_workspace_note(self.journal, self.team, mark)
            self.whole = mark
        self._channels.clear()
        self._threads.clear()
        self._unwritten = {}

    async def _record(self, came: BackfillProgress) -> None:
        await record_workspace_note(self.journal, self.team, came)
        self._unwritten = {}


def read_watermarks(journal: Journal, team: str, now: float) -> Watermarks | None:
    """Those of a workspace that can be believed `now`; None before the soul has ever been there.

    One of the future cannot: it would be there for as long as this machine's clock was ahead. Where none
    can be, what was said since the soul was called for the first time counts as unread.
    """
    whole = watermark(journal, team, now)
    if whole is None:
        return None
    found = Watermarks(journal=journal, team=team, whole=whole)
    for entry in journal.entries_of_kind(
        BackfillProgress, since=journal.last_seq(workspace_thread(team), BackfillCompleted)
    ):
        if entry.thread != workspace_thread(team):
            continue
        for channel, until in entry.event.channels.items():
            if until <= now:
                found._channels[channel] = until
        for channel, threads in entry.event.threads.items():
            for root, latest in threads.items():
                if latest <= now:
                    found._threads[channel, root] = latest
    return found


def watermark(journal: Journal, team: str, now: float) -> BackfillCompleted | None:
    """The last one of the whole workspace that can be believed `now`."""
    for entry in journal.latest_first(workspace_thread(team), BackfillCompleted):
        mark = entry.event
        if max(mark.until, *mark.behind.values(), 0.0) <= now:
            return mark
    if not journal.last_seq(workspace_thread(team), BackfillCompleted):
        return None
    return BackfillCompleted(until=_first_call(journal, team, now))


def _first_call(journal: Journal, team: str, now: float) -> float:
    """When the soul was first called, as Slack dates it; now, if it never was."""
    first = now
    for entry in journal.entries_of_kind(ConversationOpened):
        if entry.event.team == team and entry.event.called_by:
            first = min(first, float(entry.event.called_by))
    return first
