"""Where the soul may speak unasked, opened when it wants to: the DM of a person, the top of a channel.

Nothing of it is seen by anybody. There is no message to name such a conversation after, so its `ts` is empty;
there is one for each DM. What a person answers below such a message begins a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import ClientPayloadError
from slack_sdk.errors import SlackApiError

from daemon.engine.journal import Journal
from daemon.errors import SpeechFailed
from daemon.kinds import AudienceNoted, Opened, thread_key
from daemon.ports import Hold
from daemon.slack.audience import Audiences
from daemon.slack.names import DM, Whereabouts
from daemon.slack.own_workspace import Workspace
from daemon.slack.place import open_channel, place_of
from daemon.slack.refusals import NOT_SLACK, OUT_OF_REACH, final, why
from daemon.slack.web import Web, free, members

T = TypeVar("T")
PAGES = 10
"""How often Slack is asked for members: of larger channels only so many are known."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Opens them. Who can read there is known afterwards, as far as Slack says it.

    Implements inner/reaching.py's Doors.
    """

    workspace: Workspace
    audiences: Audiences

    async def open_dm(self, person: str) -> str:
        """The thread of what is said to them unasked; empty where there can be none. Raises SpeechFailed."""
        thread = await _answered(open_direct(self.workspace, person, free))
        if thread is None:
            return ""
        await self.record_readers(thread)
        return thread

    async def channel_thread(self, channel: str) -> str:
        """The thread of what is said unasked in a channel; empty where there can be none."""
        known = self.workspace.journal.get(thread_key(self.workspace.me.team, channel, ""))
        if known is None:
            where = await self.workspace.people.look_up_conversation(channel, "channel", "")
            if not self.workspace.people.known_name(channel):
                return ""
            known = await open_channel(
                self.workspace.journal, team=self.workspace.me.team, channel=channel, where=where, user=""
            )
        await self.record_readers(known.thread)
        return known.thread

    async def record_readers(self, thread: str) -> None:
        """Write down who can read a conversation now, if that is news."""
        place = place_of(self.workspace.journal, thread)
        await self.audiences.record_current(place)

    async def are_in(self, channel: str, user: str) -> bool:
        """Are both this user and the soul in the channel? Raises SpeechFailed."""
        web = self.workspace.web
        asked = members(web.call_readonly, web.client.conversations_members, channel, PAGES)
        found = await _answered(asked)
        return found is not None and {user, self.workspace.me.user} <= found

    async def name(self, user: str) -> str:
        """What someone is called; empty where Slack does not say."""
        return await self.workspace.people.look_up_name(user)


async def _answered(asked: Awaitable[T]) -> T | None:
    """What Slack answers; None where it refuses for good. Raises SpeechFailed."""
    try:
        return await asked
    except (SlackApiError, *OUT_OF_REACH) as failure:
        if isinstance(failure, SlackApiError) and final(failure):
            return None
        raise SpeechFailed(f"Slack did not answer: {why(failure)}") from failure


async def open_direct(workspace: Workspace, person: str, hold: Hold) -> str:
    """The thread of what is said to them unasked. Raises SlackApiError and OUT_OF_REACH."""
    journal, team = workspace.journal, workspace.me.team
    channel, audience = _known(journal, team, person)
    if not channel:
        channel = await _open(workspace.web, person, hold)
    where = Whereabouts(kind="dm", name=DM, audience=audience)
    place = await open_channel(journal, team=team, channel=channel, where=where, user=person)
    return place.thread


def _known(journal: Journal, team: str, person: str) -> tuple[str, str]:
    """The DM with them in which something was said already, and who can read it, as was noted last."""
    channel = audience = ""
    for entry in journal.entries_of_kind(Opened):
        place = entry.event
        if (place.team, place.where, place.user) == (team, "dm", person):
            channel, audience = place.channel, place.audience
    for noted in journal.entries_of_kind(AudienceNoted):
        if noted.event.channel == channel:
            audience = noted.event.audience
    return channel, audience


async def _open(web: Web, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])
