"""Where the soul says something to a person unasked: in their DM, in no thread of it. For the speaker.

There is no message to name such a conversation after, so its `ts` is empty; there is one for each DM. What
the person answers below such a message begins a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import ClientPayloadError

from daemon.engine.journal import Journal
from daemon.kinds import AudienceNoted, Opened
from daemon.ports import Hold
from daemon.slack.names import DM
from daemon.slack.place import open_channel
from daemon.slack.refusals import NOT_SLACK
from daemon.slack.web import Web


async def opened(web: Web, journal: Journal, team: str, person: str, hold: Hold) -> str:
    """The thread of what is said to them unasked. Raises SlackApiError and OUT_OF_REACH."""
    channel, audience = _known(journal, team, person)
    if not channel:
        channel = await _open(web, person, hold)
    place = await open_channel(
        journal, team=team, channel=channel, where="dm", place=DM, audience=audience, user=person
    )
    return place.thread


def _known(journal: Journal, team: str, person: str) -> tuple[str, str]:
    """The DM with them in which something was said already, and who can read it, as was noted last."""
    channel, audience = "", ""
    for entry in journal.kind(Opened):
        place = entry.event
        if (place.team, place.where, place.user) == (team, "dm", person):
            channel, audience = place.channel, place.audience
    for noted in journal.kind(AudienceNoted):
        if noted.event.channel == channel:
            audience = noted.event.audience
    return channel, audience


async def _open(web: Web, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])
