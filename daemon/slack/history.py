"""What was said in a thread before the soul was called into it: the Surroundings port."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from slack_sdk.errors import SlackApiError

from daemon import kinds
from daemon.engine.journal import Journal
from daemon.knowledge.forgotten import ForgottenWords
from daemon.ports import Heard
from daemon.slack.message import SPOKEN, Message, said
from daemon.slack.names import People
from daemon.slack.payload import Malformed
from daemon.slack.place import moment, place_of
from daemon.slack.policy import Me
from daemon.slack.refusals import OUT_OF_REACH, why
from daemon.slack.web import Item, Web, free, pages

LAST = 100
"""Messages that are taken from before the call, besides the root."""
PAGES = 10
"""Pages of 200 that are read for them: Slack gives a thread oldest first."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class History:
    """Reads Slack's threads. A message that addresses the soul is a perception of its own, never context."""

    web: Web
    people: People
    me: Me
    journal: Journal
    forgotten: ForgottenWords

    async def earlier(self, thread: str) -> Sequence[Heard] | None:
        """The root and the last messages before the one that called the soul in, oldest first.

        None: Slack did not show them.
        """
        place = place_of(self.journal, thread)
        if place.is_whole:
            return ()
        try:
            messages = await self._before(place)
        except (SlackApiError, *OUT_OF_REACH) as error:
            log.warning("Slack did not show an earlier conversation (%s); going on without it.", why(error))
            return None
        return [await self._heard(place, message) for message in messages]

    async def _before(self, place: kinds.Opened) -> list[Message]:
        root: list[Message] = []
        last: deque[Message] = deque(maxlen=LAST)
        ask = partial(self.web.call, free, self.web.client.conversations_replies)
        where = {"channel": place.channel, "ts": place.ts, "latest": place.called_by}
        async for page in pages(ask, "messages", PAGES, **where):
            for item in page:
                message = self._context(place, item)
                if message and message.ts == place.ts:
                    root = [message]
                elif message:
                    last.append(message)
        return root + list(last)

    def _context(self, place: kinds.Opened, item: Item) -> Message | None:
        """The message, if it is context: said by someone else, and not to the soul."""
        if item.get("subtype") not in SPOKEN:
            return None
        try:
            message = said(item, channel=place.channel, kind=place.where)
        except Malformed:
            return None
        known = self.journal.get(f"msg:{place.team}:{place.channel}:{message.ts}")
        if known or self.me.said(message.user, message.bot) or self.me.called_in(message):
            return None
        if moment(message.ts) <= self.forgotten.until(message.author):
            return None
        return message

    async def _heard(self, place: kinds.Opened, message: Message) -> Heard:
        key = f"heard:{place.team}:{place.channel}:{message.ts}"
        words = await self.people.describe(message)
        return Heard(key=key, author=message.author, event=kinds.Heard(**words))
