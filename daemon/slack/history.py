"""What was said before the soul was called in, in the thread or above the mention: the Surroundings port."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from slack_sdk.errors import SlackApiError

from daemon import kinds
from daemon.engine.event import only
from daemon.engine.exceptions import JournalDamaged
from daemon.kinds import context_key, moment, thread_key
from daemon.ports import Earlier, Heard
from daemon.slack.archive import spoken
from daemon.slack.message import Message
from daemon.slack.own_workspace import Workspace
from daemon.slack.place import opened, place_of
from daemon.slack.refusals import OUT_OF_REACH, why
from daemon.slack.web import Item, pages
from daemon.slack.words import command

LAST = 100
"""Messages that are taken from before a call in a thread, besides the root."""
PAGES = 10
"""Pages of 200 that are read for them: Slack gives a thread oldest first."""
ABOVE = 20
"""Messages that are taken from above a call at the top of a channel."""
RECENT = 86_400
"""Seconds before the call, after which they have nothing to do with it."""
LONGEST, LONGEST_THREAD = 16_000, 80_000
"""Characters of what is taken from above a call, and in a thread, after which no older one is."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class History:
    """Reads what Slack shows now: what was edited reads as it does now, what was deleted is not there.

    In a thread a message that addresses the soul is a perception of its own, never context. At the top of a
    channel it is context for the next one, with what the soul answered; there what is taken belongs to the
    thread that takes it, so that another one may take the same, and catch-up knows nothing of it.
    """

    workspace: Workspace

    async def earlier(self, thread: str) -> Earlier | None:
        """The root and the last messages before the one that called the soul in; or, where that one is the
        root itself, the last ones above it.

        None: Slack did not show them.
        """
        place = place_of(self.workspace.journal, thread)
        if place.is_whole:
            return Earlier()
        try:
            if place.begins_with_call:
                return await self._above(thread, place)
            before = await self._before(place)
        except (SlackApiError, *OUT_OF_REACH) as error:
            log.warning("Slack did not show an earlier conversation (%s); going on without it.", why(error))
            return None
        natural = f"heard:{place.team}:{place.channel}"
        return Earlier(heard=[await self._heard(f"{natural}:{one.ts}", one) for one in before])

    async def _before(self, place: kinds.Opened) -> list[Message]:
        root: list[Message] = []
        last: deque[Message] = deque(maxlen=LAST)
        web = self.workspace.web
        replies = web.client.conversations_replies
        where = {"channel": place.channel, "ts": place.ts, "latest": place.called_by}
        async for page in pages(web.ask, replies, "messages", PAGES, **where):
            for item in page:
                message = self._said_by_others(place, item)
                if message is None or self._is_to_the_soul(place, message):
                    continue
                if message.ts == place.ts:
                    root = [message]
                else:
                    last.append(message)
        while len(last) > 1 and sum(len(one.whole) for one in last) > LONGEST_THREAD:
            last.popleft()
        return root + list(last)

    async def _above(self, thread: str, place: kinds.Opened) -> Earlier:
        """What stands above the call in the channel, and what the soul said to it, and unasked."""
        if self.workspace.places.said_unasked(place.team, place.channel, place.ts):
            return Earlier()  # its own words are what it is asked about
        heard: list[Heard] = []
        own: list[int] = []
        size = 0
        for item in await self._recent(place):
            ts = str(item.get("ts"))
            if self.workspace.me.said(item.get("user"), item.get("bot_id")):
                own.append(self.workspace.places.said_unasked(place.team, place.channel, ts))
                continue
            message = self._said_by_others(place, item)
            if message is None or not self.workspace.allowed.hears(message):
                continue
            if command(message, self.workspace.me):
                continue
            size += len(message.whole)
            if heard and (len(heard) == ABOVE or size > LONGEST):
                break
            heard.append(await self._heard(context_key(thread, message.ts), message))
            with suppress(JournalDamaged):  # then that conversation waits, and this one goes on
                own += self._answered(place, ts)
        return Earlier(heard=heard[::-1], own=[seq for seq in own if seq])

    async def _recent(self, place: kinds.Opened) -> Sequence[Item]:
        """The last messages above the call, newest first."""
        web = self.workspace.web
        history = web.client.conversations_history
        since = moment(place.called_by) - RECENT
        where = {"channel": place.channel, "latest": place.called_by, "oldest": str(since)}
        async for page in pages(web.ask, history, "messages", 1, **where):
            return page
        return ()

    def _answered(self, place: kinds.Opened, ts: str) -> list[int]:
        """What the soul answered at first, before this call, to the message of this ts, if that called it."""
        known = opened(self.workspace.journal, thread_key(place.team, place.channel, ts))
        if known is None or not known.event.begins_with_call:
            return []
        answers = list[int]()
        for turn in self.workspace.journal.of(known.thread, kinds.TurnBegan, most=1):
            for receipt in only(kinds.Spoken, self.workspace.journal.recorded(turn.event.execution)):
                said_before = moment(receipt.event.ts) < moment(place.called_by)
                if said_before and receipt.event.text and not receipt.event.taken_from:
                    answers.append(receipt.seq)
        return answers

    def _said_by_others(self, place: kinds.Opened, item: Item) -> Message | None:
        """The message, if someone else said it, and wants nothing of it forgotten."""
        message = spoken(item, place.channel, place.where)
        if message is None or self.workspace.me.said(message.user, message.bot):
            return None
        if self.workspace.is_forgotten(message.author, message.ts):
            return None
        return message

    def _is_to_the_soul(self, place: kinds.Opened, message: Message) -> bool:
        known = self.workspace.journal.get(f"msg:{place.team}:{place.channel}:{message.ts}")
        return known is not None or self.workspace.me.called_in(message)

    async def _heard(self, key: str, message: Message) -> Heard:
        words = await self.workspace.people.describe(message)
        return Heard(key=key, author=message.author, event=kinds.Heard(**words))
