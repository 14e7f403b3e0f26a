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
from daemon.errors import PostFailed
from daemon.kinds import AudienceChanged, ConversationOpened, thread_key
from daemon.ports import Hold
from daemon.slack.audience import AudienceTracker
from daemon.slack.names import DM, ConversationInfo
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import open_channel_thread, slack_place
from daemon.slack.refusals import NOT_SLACK, OUT_OF_REACH, describe_failure, is_permanent
from daemon.slack.web import WebApi, members, no_lease_check

T = TypeVar("T")
PAGES = 10
"""How often Slack is asked for members: of larger channels only so many are known."""


@dataclass(frozen=True, slots=True)
class SlackConversationOpener:
    """Opens them. Who can read there is known afterwards, as far as Slack says it.

    Implements inner/reaching.py's Doors.
    """

    workspace: SlackWorkspace
    audiences: AudienceTracker

    async def open_dm(self, person: str) -> str:
        """The thread of what is said to them unasked; empty where there can be none. Raises SpeechFailed."""
        thread = await _answer_or_none(open_dm_thread(self.workspace, person, no_lease_check))
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
            known = await open_channel_thread(
                self.workspace.journal, team=self.workspace.me.team, channel=channel, where=where, user=""
            )
        await self.record_readers(known.thread)
        return known.thread

    async def record_readers(self, thread: str) -> None:
        """Write down who can read a conversation now, if that is news."""
        place = slack_place(self.workspace.journal, thread)
        await self.audiences.record_current(place)

    async def are_in(self, channel: str, user: str) -> bool:
        """Are both this user and the soul in the channel? Raises SpeechFailed."""
        web = self.workspace.web
        asked = members(web.call_readonly, web.client.conversations_members, channel, PAGES)
        found = await _answer_or_none(asked)
        return found is not None and {user, self.workspace.me.user} <= found

    async def name(self, user: str) -> str:
        """What someone is called; empty where Slack does not say."""
        return await self.workspace.people.look_up_name(user)


async def _answer_or_none(asked: Awaitable[T]) -> T | None:
    """What Slack answers; None where it refuses for good. Raises SpeechFailed."""
    try:
        return await asked
    except (SlackApiError, *OUT_OF_REACH) as failure:
        if isinstance(failure, SlackApiError) and is_permanent(failure):
            return None
        raise PostFailed(f"Slack did not answer: {describe_failure(failure)}") from failure


async def open_dm_thread(workspace: SlackWorkspace, person: str, hold: Hold) -> str:
    """The thread of what is said to them unasked. Raises SlackApiError and OUT_OF_REACH."""
    journal, team = workspace.journal, workspace.me.team
    channel, audience = _known(journal, team, person)
    if not channel:
        channel = await _open(workspace.web, person, hold)
    where = ConversationInfo(kind="dm", name=DM, audience=audience)
    place = await open_channel_thread(journal, team=team, channel=channel, where=where, user=person)
    return place.thread


def _known(journal: Journal, team: str, person: str) -> tuple[str, str]:
    """The DM with them in which something was said already, and who can read it, as was noted last."""
    channel = audience = ""
    for entry in journal.entries_of_kind(ConversationOpened):
        place = entry.event
        if (place.team, place.where, place.user) == (team, "dm", person):
            channel, audience = place.channel, place.audience
    for noted in journal.entries_of_kind(AudienceChanged):
        if noted.event.channel == channel:
            audience = noted.event.audience
    return channel, audience


async def _open(web: WebApi, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])
