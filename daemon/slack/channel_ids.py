"""The ids of channels: Slack may give one another id, as it is shared with others or made private.

The journal goes on to call it by the first id that it knew, so that its conversations, and what is known of
it, stay what they are. What comes from Slack is translated into that id, and what goes to Slack back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemon.engine.journal import Journal
from daemon.kinds import ChannelMoved, thread_key
from daemon.slack.payload import first_text, id_at, object_or_empty
from daemon.slack.place import workspace_thread

MOVED = ("channel_id_changed", "group_id_changed")
"""Types of events that say so."""


class ChannelIdTable:
    """What the journal of a workspace says of them."""

    def __init__(self, journal: Journal, team: str) -> None:
        self._journal = journal
        self._team = team
        self._first: dict[str, str] = {}
        """By each later id."""
        self._now: dict[str, str] = {}
        """By the first one."""
        for entry in reversed([*journal.latest_first(workspace_thread(team), ChannelMoved)]):
            self._apply_move(entry.event)

    def first_id(self, channel: str) -> str:
        """The id by which the journal calls this channel."""
        return self._first.get(channel, channel)

    def current_id(self, channel: str) -> str:
        """The id by which Slack calls this channel."""
        return self._now.get(channel, channel)

    async def record_move(self, event: Mapping[str, Any]) -> str:
        """Write down what this event says; the channel's first id. Raises JournalError and Malformed."""
        old, new = id_at(event, "old_channel_id"), id_at(event, "new_channel_id")
        return await self.record_new_id(old, new)

    async def record_new_id(self, old: str, new: str) -> str:
        """Slack calls the channel `old` by the id `new` now; returns its first id. Raises JournalError."""
        first = self.first_id(old)
        if self.current_id(first) != new:
            last = self._journal.last_seq(workspace_thread(self._team), ChannelMoved)
            key = f"channel-moved:{self._team}:{old}:{new}:{last}"
            moved = ChannelMoved(team=self._team, old=old, new=new)
            entry, _ = await self._journal.append(workspace_thread(self._team), moved, key=key, author="core")
            self._apply_move(entry.event)
        return first

    def translate_event(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """The event, with the channel's first id."""
        if not self._first:
            return event
        channel, item = event.get("channel"), event.get("item")
        if isinstance(channel, str) and channel in self._first:
            event = {**event, "channel": self._known_id(channel, event)}
        if isinstance(item, Mapping) and item.get("channel") in self._first:
            event = {**event, "item": {**item, "channel": self.first_id(str(item["channel"]))}}
        return event

    def _known_id(self, channel: str, event: Mapping[str, Any]) -> str:
        """Its first id, but in a conversation that began before it was known to be another channel's."""
        said = object_or_empty(event, "message") or event
        root = first_text(said, "thread_ts") or first_text(said, "ts")
        if self._journal.get(thread_key(self._team, channel, root)):
            return channel
        return self._first[channel]

    def _apply_move(self, moved: ChannelMoved) -> None:
        first = self.first_id(moved.old)
        self._first.pop(moved.new, None)
        self._now.pop(first, None)
        if moved.new != first:
            self._first[moved.new] = first
            self._now[first] = moved.new
