"""Who can read a channel, written down when that changes: before what its new readers read.

Knowledge folds it: what may be known elsewhere depends on who could read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemon.engine.journal import Journal
from daemon.kinds import AudienceChanged, ConversationOpened
from daemon.slack.message import SlackMessage
from daemon.slack.names import PeopleDirectory, audience_id
from daemon.slack.payload import id_at
from daemon.slack.place import workspace_thread

CHANGES = ("channel_convert_to_private", "channel_shared", "channel_unshared")
"""Types of events, and a subtype of messages, that say: others can read this channel now."""


def channel_of_change(event: Mapping[str, Any]) -> str:
    """The channel of which an event says so; empty for any other event. Raises Malformed."""
    if event.get("type") in CHANGES or event.get("subtype") in CHANGES:
        return id_at(event, "channel")
    return ""


class AudienceTracker:
    """What the journal says of each channel. The methods that write raise JournalError."""

    def __init__(self, journal: Journal, people: PeopleDirectory, team: str) -> None:
        self._journal = journal
        self._people = people
        self._team = team
        self._noted: dict[str, str] = {}
        """By channel; nothing at the start of the daemon, for threads of one channel may differ by age."""

    async def record_of_message(self, message: SlackMessage) -> None:
        """Write down who can read the channel of a message that goes on there, if that is news; it was
        described with its readers."""
        where = self._people.conversation_info(message)
        await self.record_found(message.channel, where.audience, message.changed or message.ts)

    async def record_current(self, place: ConversationOpened) -> None:
        """Write down who can read the channel of a conversation now, if that is news."""
        audience = await self._people.look_up_audience(audience_id(place.channel, place.where, place.user))
        await self.record_found(place.channel, audience, f"seen:{self._journal.last_seq_of_all()}")

    async def mark_changed(self, channel: str, ts: str) -> None:
        """Others can read this channel since `ts`. Who, is asked at its next message."""
        self._people.forget_audience(channel)
        await self.record_found(channel, "", ts)

    def recorded_audience(self, said: ConversationOpened | AudienceChanged) -> None:
        """This is written down of who can read its channel."""
        self._noted[said.channel] = said.audience

    async def record_found(self, channel: str, audience: str, ts: str) -> None:
        """These can read this channel at `ts`: written down if that is news."""
        if self._noted.get(channel) != audience:
            said = AudienceChanged(team=self._team, channel=channel, audience=audience)
            key = f"audience:{self._team}:{channel}:{ts}"
            entry, _ = await self._journal.append(workspace_thread(self._team), said, key=key, author="core")
            self.recorded_audience(entry.event)
