"""What was said in a thread before the soul was called into it: the Surroundings port."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.journal.journal import Journal
from daemon.ports import Heard
from daemon.slack.message import SPOKEN, Malformed, Message, said
from daemon.slack.people import People
from daemon.slack.place import Place, place_of
from daemon.slack.policy import Me
from daemon.slack.web import OUT_OF_REACH, Web, why

LAST = 100
"""Messages that are taken from before the call, besides the root."""
PAGES = 10
"""Pages of 200 that are read for them: Slack gives a thread oldest first."""

log = logging.getLogger(__name__)


class History:
    """Reads Slack's threads. A message that addresses the soul is a perception of its own, never context."""

    def __init__(self, web: Web, people: People, me: Me, journal: Journal) -> None:
        self._web = web
        self._people = people
        self._me = me
        self._journal = journal

    async def earlier(self, thread: str) -> Sequence[Heard] | None:
        """The root and the last messages before the one that called the soul in, oldest first.

        None: Slack did not show them.
        """
        place = place_of(self._journal, thread)
        if place.kind == "dm" or place.root == place.called_by:
            return ()
        try:
            messages = await self._before(place)
        except (SlackApiError, *OUT_OF_REACH) as error:
            log.warning("Slack did not show an earlier conversation (%s); going on without it.", why(error))
            return None
        return [await self._heard(place, message) for message in messages]

    async def _before(self, place: Place) -> list[Message]:
        root: list[Message] = []
        last: deque[Message] = deque(maxlen=LAST)
        replies = self._web.client.conversations_replies
        async for item in self._web.pages(
            replies, "messages", PAGES, channel=place.channel, ts=place.root, latest=place.called_by
        ):
            message = self._context(place, item)
            if message and message.ts == place.root:
                root = [message]
            elif message:
                last.append(message)
        return root + list(last)

    def _context(self, place: Place, item: Mapping[str, Any]) -> Message | None:
        """The message, if it is context: said by someone else, and not to the soul."""
        if item.get("subtype") not in SPOKEN:
            return None
        try:
            message = said(item, channel=place.channel, kind=place.kind)
        except Malformed:
            return None
        known = self._journal.get(f"msg:{place.team}:{place.channel}:{message.ts}")
        if known or self._me.said(message.user, message.bot) or self._me.called_in(message):
            return None
        return message

    async def _heard(self, place: Place, message: Message) -> Heard:
        key = f"heard:{place.team}:{place.channel}:{message.ts}"
        return Heard(key=key, author=message.author, body=await self._people.describe(message))
