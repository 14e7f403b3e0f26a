"""What was said before the soul was called in, in the thread or above the mention: the Surroundings port."""

from __future__ import annotations

import logging
from asyncio import gather
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from slack_sdk.errors import SlackApiError

from daemon import kinds
from daemon.engine.event import of_kind
from daemon.engine.exceptions import JournalDamaged
from daemon.kinds import context_key, moment_of, thread_key
from daemon.ports import EarlierMessage, EarlierMessages
from daemon.slack.archive import message_if_said
from daemon.slack.inbox import Inbox
from daemon.slack.message import SlackMessage
from daemon.slack.own_messages import OwnMessageLookup
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import conversation_of, slack_place
from daemon.slack.refusals import OUT_OF_REACH, describe_failure
from daemon.slack.web import Item, pages
from daemon.slack.words import command_of

LAST = 100
"""Messages that are taken from before a call in a thread, besides the root."""
PAGES = 10
"""Pages of 200 that are read for them: Slack gives a thread oldest first."""
ABOVE = 20
"""Messages that are taken from above a call at the top of a channel."""
APART = 5
"""Threads that begin above a call and that the journal does not know, in which the soul's words are read."""
RECENT = 86_400
"""Seconds before the call, after which they have nothing to do with it."""
LONGEST, LONGEST_THREAD = 16_000, 80_000
"""Characters of what is taken from above a call, and in a thread, after which no older one is."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierMessageReader:
    """Reads what Slack shows now: what was edited reads as it does now, what was deleted is not there.

    What the soul said itself in a life that the journal does not know is marked as its own. A message of the
    thread that addresses the soul and has no answer yet is no context: the inbox takes it here, so that the
    turn which found it answers it, and its event finds it known. Any other that does, and what stands at the
    top of a channel, is context of that thread alone: another one may take the same, and catch-up knows
    nothing of it, so that it is answered if it comes.
    """

    workspace: SlackWorkspace
    inbox: Inbox

    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        """The root and the last messages before the one that called the soul in; or, where that one is the
        root itself, the last ones above it.

        None: Slack did not show them.
        """
        place = slack_place(self.workspace.journal, thread)
        if place.is_whole:
            return EarlierMessages()
        try:
            if place.begins_with_call:
                return await self._above(thread, place)
            return await self._before(thread, place)
        except (SlackApiError, *OUT_OF_REACH) as error:
            log.warning(
                "Slack did not show an earlier conversation (%s); going on without it.",
                describe_failure(error),
            )
            return None

    async def _before(self, thread: str, place: kinds.ConversationOpened) -> EarlierMessages:
        """Tell what was said in the thread: what still waits for an answer is an input of it from now on."""
        before, answered = await self._said(place)
        heard: list[EarlierMessage] = []
        called: list[int] = []
        for message in before:
            seq = 0
            if self._is_to_the_soul(place, message) and message.ts not in answered:
                seq = await self.inbox.take_found(message)
            if seq:
                called.append(seq)
            elif self._may_be_context(place, message):
                heard.append(await self._heard(self._key(thread, place, message), message))
        return EarlierMessages(heard=heard, called=called)

    async def _said(self, place: kinds.ConversationOpened) -> tuple[list[SlackMessage], Collection[str]]:
        """The messages of the thread that may be context, and the ts of those that a lost life answered."""
        root: list[SlackMessage] = []
        last: deque[SlackMessage] = deque(maxlen=LAST)
        items: list[Item] = []
        unknown: list[Item] = []
        web = self.workspace.web
        replies = web.client.conversations_replies
        where = {"channel": place.channel, "ts": place.ts, "latest": place.called_by}
        async for page in pages(
            web.call_readonly, replies, "messages", PAGES, include_all_metadata=True, **where
        ):
            own = self._unknown(place, place.ts, page)
            items += page
            unknown += own
            for item in page:
                message = self._told(place, item, own)
                if message is None or not self._may_be_context(place, message):
                    continue
                if message.ts == place.ts:
                    root = [message]
                else:
                    last.append(message)
        while len(last) > 1 and sum(len(one.whole_text) for one in last) > LONGEST_THREAD:
            last.popleft()
        return root + list(last), OwnMessageLookup(self.workspace).answered_messages(unknown, items)

    async def _above(self, thread: str, place: kinds.ConversationOpened) -> EarlierMessages:
        """What stands above the call in the channel, and what the soul said to it, and unasked."""
        if self.workspace.places.find_unprompted(place.team, place.channel, place.ts):
            return EarlierMessages()  # its own words are what it is asked about
        heard: list[EarlierMessage] = []
        own: list[int] = []
        apart: list[str] = []
        size = 0
        for item in await self._recent(place):
            ts = str(item.get("ts"))
            message = self._told(place, item, [item])
            if message and self._is_own(message):
                known = self.workspace.places.find_unprompted(place.team, place.channel, ts)
                own.append(known)
                message = None if known else message
            if message is None or not self._is_heard(message):
                continue
            size += len(message.whole_text)
            if heard and (len(heard) == ABOVE or size > LONGEST):
                break
            heard.append(await self._heard(context_key(thread, message.ts), message))
            with suppress(JournalDamaged):  # then that conversation waits, and this one goes on
                if self._is_answered_unknown(place, item):
                    apart.append(ts)
                own += self._answered(place, ts)
        answers = await gather(*(self._answers(thread, place, root) for root in apart[:APART]))
        return EarlierMessages(heard=[*heard[::-1], *chain(*answers)], own=[seq for seq in own if seq])

    def _is_heard(self, message: SlackMessage) -> bool:
        """Is it context above a call? The soul's own words are; what was a command is not."""
        if self._is_own(message):
            return True
        return self.workspace.allowed.may_be_heard(message) and not command_of(message, self.workspace.me)

    def _is_answered_unknown(self, place: kinds.ConversationOpened, item: Item) -> bool:
        """Has the soul said something below this message, in a thread that the journal does not know?"""
        users = item.get("reply_users")
        if not isinstance(users, list) or self.workspace.me.user not in users:
            return False
        key = thread_key(place.team, place.channel, str(item.get("ts")))
        return conversation_of(self.workspace.journal, key) is None

    async def _answers(self, thread: str, place: kinds.ConversationOpened, root: str) -> list[EarlierMessage]:
        """What the soul said in that thread before the call. Raises what the web does."""
        web = self.workspace.web
        replies = web.client.conversations_replies
        where = {"channel": place.channel, "ts": root, "latest": place.called_by}
        found: list[EarlierMessage] = []
        async for page in pages(web.call_readonly, replies, "messages", 1, **where):
            for item in page:
                message = self._told(place, item, page)
                if message and self._is_own(message):
                    found.append(await self._heard(context_key(thread, message.ts), message))
        return found

    async def _recent(self, place: kinds.ConversationOpened) -> Sequence[Item]:
        """The last messages above the call, newest first."""
        web = self.workspace.web
        history = web.client.conversations_history
        since = moment_of(place.called_by) - RECENT
        where = {"channel": place.channel, "latest": place.called_by, "oldest": str(since)}
        async for page in pages(web.call_readonly, history, "messages", 1, **where):
            return page
        return ()

    def _answered(self, place: kinds.ConversationOpened, ts: str) -> list[int]:
        """What the soul answered at first, before this call, to the message of this ts, if that called it."""
        known = conversation_of(self.workspace.journal, thread_key(place.team, place.channel, ts))
        if known is None or not known.event.begins_with_call:
            return []
        answers = list[int]()
        for said in self.workspace.journal.thread_entries(known.thread, kinds.OverheardMessage):
            if said.event.is_own and moment_of(said.event.ts) < moment_of(place.called_by):
                answers.append(said.seq)
        for turn in self.workspace.journal.thread_entries(known.thread, kinds.SoulTurnBegan, most=1):
            for receipt in of_kind(
                kinds.SpeechFinished, self.workspace.journal.execution_entries(turn.event.execution)
            ):
                said_before = moment_of(receipt.event.ts) < moment_of(place.called_by)
                if said_before and receipt.event.text and not receipt.event.taken_from:
                    answers.append(receipt.seq)
        return answers

    def _told(self, place: kinds.ConversationOpened, item: Item, own: Sequence[Item]) -> SlackMessage | None:
        """The message, if nobody wants it forgotten; one of our own only if it is among these."""
        message = message_if_said(item, place.channel, place.where)
        if message is None:
            return None
        author = message.author
        if self._is_own(message):
            author = place.user  # it was said to them
            if item not in own:
                return None
        if self.workspace.is_forgotten(author, message.ts):
            return None
        return message

    def _is_own(self, message: SlackMessage) -> bool:
        return self.workspace.me.is_own_message(message.user, message.bot)

    def _unknown(self, place: kinds.ConversationOpened, root: str, items: Sequence[Item]) -> list[Item]:
        """Those of our own messages here that the journal does not know."""
        return OwnMessageLookup(self.workspace).unknown_messages(place.channel, root, items)

    def _may_be_context(self, place: kinds.ConversationOpened, message: SlackMessage) -> bool:
        """Is it no input of its own, and not from somebody who may not speak to the soul?"""
        if self.workspace.journal.get(f"msg:{place.team}:{place.channel}:{message.ts}"):
            return False
        return self.workspace.allowed.may_be_heard(message) or not self._is_to_the_soul(place, message)

    def _is_to_the_soul(self, place: kinds.ConversationOpened, message: SlackMessage) -> bool:
        """Would it be answered, if it came now?"""
        return not self._is_own(message) and (
            place.where == "dm" or self.workspace.me.is_mentioned_in(message)
        )

    def _key(self, thread: str, place: kinds.ConversationOpened, message: SlackMessage) -> str:
        """What is to the soul is not known by this: it is answered if it comes after all."""
        if self._is_to_the_soul(place, message):
            return context_key(thread, message.ts)
        return f"heard:{place.team}:{place.channel}:{message.ts}"

    async def _heard(self, key: str, message: SlackMessage) -> EarlierMessage:
        words = await self.workspace.people.describe(message)
        note = ""
        if self._is_own(message):
            note = kinds.OWN_WORDS
        return EarlierMessage(
            key=key, author=message.author, event=kinds.OverheardMessage(**words, note=note)
        )
