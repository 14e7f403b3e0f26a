"""Messages that only Slack knows: context of a call, lost messages of the soul, and their deletion.

After a restore, Slack has messages of the soul that the journal lacks; the messages that they answered count
as answered. Recorded messages of the soul prove no answer: people may have asked meanwhile.

Deletion searches Slack and the journal, since neither need be complete.
"""

from __future__ import annotations

import logging
from asyncio import gather
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.engine.event import Entry, digest, of_kind
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal.journal import Journal
from daemon.errors import PostFailed
from daemon.kinds import (
    OWN_WORDS,
    CardIntended,
    ConversationOpened,
    OverheardMessage,
    QuestionAsked,
    SoulTurnBegan,
    SpeechBegan,
    SpeechFinished,
    context_key,
    moment_of,
    thread_key,
)
from daemon.knowledge.forgetting import OwnMessageList
from daemon.ports import EarlierMessage, EarlierMessages
from daemon.slack.archive import ConversationArchive, message_if_said
from daemon.slack.block_text import first_text, objects_at
from daemon.slack.inbox import Inbox
from daemon.slack.incoming import SlackMessage
from daemon.slack.message_policy import command_of
from daemon.slack.places import OURS, SlackWorkspace, conversation_of, read_speech_metadata, slack_place
from daemon.slack.speaker import GONE
from daemon.slack.web_api import (
    OUT_OF_REACH,
    Item,
    describe_failure,
    is_permanent,
    read_pages,
    slack_error,
    time_of,
)
from daemon.turn.speech import last_known_ts

NO_ANSWERS = frozenset({"actions", "context"})
"""Block types of questions and cards, which answer nothing."""


@dataclass(frozen=True, slots=True)
class OwnMessageLookup:
    workspace: SlackWorkspace

    def unknown_messages(self, channel: str, root: str, items: Iterable[Item]) -> list[Item]:
        """Return the soul's messages in this thread that the journal lacks."""
        me = self.workspace.me
        own = [item for item in items if me.is_own_message(item.get("user"), item.get("bot_id"))]
        if not own:
            return []
        for item in own:
            self.workspace.check_own_message(item)
        journal = self.workspace.journal
        known = conversation_of(journal, thread_key(me.team, channel, root))
        unasked = self.workspace.places.find_unprompted
        own = [item for item in own if not unasked(me.team, channel, str(item.get("ts")))]
        if known is None:
            return own
        said: list[Entry[Any]] = journal.thread_entries(known.thread, *OURS)
        recorded = {entry.event.ts for entry in said}
        own = [item for item in own if item.get("ts") not in recorded]
        if own:
            begun = _BegunSpeeches.in_thread(journal, known.thread)
            own = [item for item in own if not begun.may_include(item)]
        return own

    def answered_messages(self, unknown: Sequence[Item], items: Iterable[Item]) -> frozenset[str]:
        """Return the ts of messages that the `unknown` messages of the soul answered.

        The metadata names them; above a message of an older version, all messages count as answered.
        """
        found = set[str]()
        above = 0.0
        for item in unknown:
            answers = read_speech_metadata(item).answers
            if answers is not None:
                found |= answers
            elif not NO_ANSWERS & {first_text(block, "type") for block in objects_at(item, "blocks")}:
                above = max(above, time_of(item))
        found.update(str(item.get("ts")) for item in items if time_of(item) < above)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class _BegunSpeeches:
    """Messages begun in a thread; the `pending` ones may still be posted."""

    journal: Journal
    thread: str
    intents: Sequence[Entry[Any]]
    pending: Collection[int]

    @classmethod
    def in_thread(cls, journal: Journal, thread: str) -> _BegunSpeeches:
        intents: list[Entry[Any]] = journal.thread_entries(thread, SpeechBegan, CardIntended)
        pending = journal.still_pending([intent.seq for intent in intents])
        return cls(journal, thread, intents, set(pending))

    def may_include(self, item: Item) -> bool:
        """True if this item may be one of the begun messages. A growing message has no key.

        A restored journal reuses keys, so a message older than the recorded intent is a different one.
        """
        key = read_speech_metadata(item).key
        for intent in self.intents:
            named = key == digest(intent.key) if key else intent.seq in self.pending
            if named and time_of(item) >= last_known_ts(self.journal, self.thread, intent.seq):
                return True
        return False


MOST_PAGES = 50
"""Most pages of 200 messages that are read of a DM."""

MOST_THREADS = 2_000
THREAD_PAGES = 5
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackMessageDeleter:
    workspace: SlackWorkspace
    archive: ConversationArchive
    most_pages: int = MOST_PAGES
    thread_pages: int = THREAD_PAGES

    async def find(self, thread: str, until: str) -> OwnMessageList:
        channel = slack_place(self.workspace.journal, thread).channel
        found, whole = {*self._recorded(channel)}, True
        try:
            whole = await self._read(channel, until, found)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            code = _permanent_error(failure, "Slack did not show what stands in a DM")
            log.warning(
                "Slack refused to show the messages in a DM (%s); only recorded messages are listed.", code
            )
            whole = False
        wanted = [ts for ts in found if moment_of(ts) <= moment_of(until)]
        return OwnMessageList(messages=sorted({*wanted} - self._asking(), key=moment_of), whole=whole)

    async def delete(self, thread: str, ts: str) -> str:
        channel = slack_place(self.workspace.journal, thread).channel
        try:
            await self.archive.call_at_pace(self.workspace.web.client.chat_delete, channel=channel, ts=ts)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            code = _permanent_error(failure, "Slack did not delete a message")
            if code != GONE:
                return code
        return ""

    def _recorded(self, channel: str) -> Iterator[str]:
        journal = self.workspace.journal
        for opened in journal.entries_of_kind(ConversationOpened):
            if opened.event.channel == channel:
                said: list[Entry[Any]] = journal.thread_entries(opened.thread, *OURS)
                for entry in said:
                    if entry.event.ts:
                        yield str(entry.event.ts)

    async def _read(self, channel: str, until: str, found: set[str]) -> bool:
        client, paced = self.workspace.web.client, self.archive.call_at_pace
        where = {"channel": channel, "latest": until, "inclusive": True}
        roots, read = list[str](), 0
        async for page in read_pages(
            paced, client.conversations_history, "messages", self.most_pages, **where
        ):
            read += 1
            found.update(self._own(page))
            roots += [str(item.get("ts")) for item in page if item.get("reply_count")]
        whole = read < self.most_pages and len(roots) <= MOST_THREADS
        for root in roots[:MOST_THREADS]:
            in_thread, read = {"channel": channel, "ts": root}, 0
            try:
                replies = client.conversations_replies
                async for page in read_pages(paced, replies, "messages", self.thread_pages, **in_thread):
                    read += 1
                    found.update(self._own(page))
            except SlackApiError as refusal:
                if slack_error(refusal) != "thread_not_found":
                    raise
            whole = whole and read < self.thread_pages
        return whole

    def _own(self, page: Iterable[Item]) -> Iterator[str]:
        me = self.workspace.me
        for item in page:
            if time_of(item) and me.is_own_message(item.get("user"), item.get("bot_id")):
                yield str(item.get("ts"))

    def _asking(self) -> set[str]:
        journal = self.workspace.journal
        asking = set[str]()
        for asked in journal.pending_entries(QuestionAsked):
            for said in journal.readable_entries(asked.event.said):
                if isinstance(said.event, SpeechFinished):
                    asking.add(said.event.ts)
        return asking


def _permanent_error(failure: Exception, what: str) -> str:
    if isinstance(failure, SlackApiError) and is_permanent(failure):
        return slack_error(failure)
    raise PostFailed(f"{what}: {describe_failure(failure)}") from failure


LAST = 100
"""Most messages read before a call in a thread, besides the root."""

PAGES = 10
"""Most pages of 200 messages read to find a thread's last ones: Slack lists the oldest first."""

ABOVE = 20
"""Most messages read above a call in a channel."""

APART = 5
"""Most threads above a call, unknown to the journal, in which the soul's messages are read."""

RECENT = 86_400
"""Seconds before a call during which a message counts as context."""

LONGEST, LONGEST_THREAD = 16_000, 80_000
"""Most characters of context: above a call in a channel, and in a thread."""


@dataclass(frozen=True, slots=True)
class EarlierMessageReader:
    """Reader of a call's context as Slack shows it now.

    Lost messages of the soul are marked as its own. An unanswered message to the soul in the thread becomes
    an input, which its event will find recorded. Other context is recorded for this thread alone, so that a
    message in it is still answered if its event arrives.
    """

    workspace: SlackWorkspace
    inbox: Inbox

    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        """Return the root and the last messages before the call; if the call is a root, the messages above
        it.

        Return None if Slack fails.
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
                "Could not read earlier messages from Slack (%s); continuing without them.",
                describe_failure(error),
            )
            return None

    async def _before(self, thread: str, place: ConversationOpened) -> EarlierMessages:
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

    async def _said(self, place: ConversationOpened) -> tuple[list[SlackMessage], Collection[str]]:
        root: list[SlackMessage] = []
        last: deque[SlackMessage] = deque(maxlen=LAST)
        items: list[Item] = []
        unknown: list[Item] = []
        web = self.workspace.web
        replies = web.client.conversations_replies
        where = {"channel": place.channel, "ts": place.ts, "latest": place.called_by}
        async for page in read_pages(
            web.call_readonly, replies, "messages", PAGES, include_all_metadata=True, **where
        ):
            own = self._unknown(place, place.ts, page)
            items += page
            unknown += own
            for item in page:
                message = self._parsed(place, item, own)
                if message is None or not self._may_be_context(place, message):
                    continue
                if message.ts == place.ts:
                    root = [message]
                else:
                    last.append(message)
        while len(last) > 1 and sum(len(one.whole_text) for one in last) > LONGEST_THREAD:
            last.popleft()
        return root + list(last), OwnMessageLookup(self.workspace).answered_messages(unknown, items)

    async def _above(self, thread: str, place: ConversationOpened) -> EarlierMessages:
        """Return messages above the call, with the soul's answers to them and its unasked posts."""
        if self.workspace.places.find_unprompted(place.team, place.channel, place.ts):
            return EarlierMessages()
        heard: list[EarlierMessage] = []
        own: list[int] = []
        apart: list[str] = []
        size = 0
        for item in await self._recent(place):
            ts = str(item.get("ts"))
            message = self._parsed(place, item, [item])
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
            with suppress(JournalDamaged):
                if self._is_answered_unknown(place, item):
                    apart.append(ts)
                own += self._answered(place, ts)
        answers = await gather(*(self._answers(thread, place, root) for root in apart[:APART]))
        return EarlierMessages(heard=[*heard[::-1], *chain(*answers)], own=[seq for seq in own if seq])

    def _is_heard(self, message: SlackMessage) -> bool:
        if self._is_own(message):
            return True
        return self.workspace.allowed.may_be_heard(message) and not command_of(message, self.workspace.me)

    def _is_answered_unknown(self, place: ConversationOpened, item: Item) -> bool:
        users = item.get("reply_users")
        if not isinstance(users, list) or self.workspace.me.user not in users:
            return False
        key = thread_key(place.team, place.channel, str(item.get("ts")))
        return conversation_of(self.workspace.journal, key) is None

    async def _answers(self, thread: str, place: ConversationOpened, root: str) -> list[EarlierMessage]:
        web = self.workspace.web
        replies = web.client.conversations_replies
        where = {"channel": place.channel, "ts": root, "latest": place.called_by}
        found: list[EarlierMessage] = []
        async for page in read_pages(web.call_readonly, replies, "messages", 1, **where):
            for item in page:
                message = self._parsed(place, item, page)
                if message and self._is_own(message):
                    found.append(await self._heard(context_key(thread, message.ts), message))
        return found

    async def _recent(self, place: ConversationOpened) -> Sequence[Item]:
        web = self.workspace.web
        history = web.client.conversations_history
        since = moment_of(place.called_by) - RECENT
        where = {"channel": place.channel, "latest": place.called_by, "oldest": str(since)}
        async for page in read_pages(web.call_readonly, history, "messages", 1, **where):
            return page
        return ()

    def _answered(self, place: ConversationOpened, ts: str) -> list[int]:
        """Return the seqs of the soul's first answers to an earlier call that are older than this call."""
        known = conversation_of(self.workspace.journal, thread_key(place.team, place.channel, ts))
        if known is None or not known.event.begins_with_call:
            return []
        answers = list[int]()
        for said in self.workspace.journal.thread_entries(known.thread, OverheardMessage):
            if said.event.is_own and moment_of(said.event.ts) < moment_of(place.called_by):
                answers.append(said.seq)
        for turn in self.workspace.journal.thread_entries(known.thread, SoulTurnBegan, most=1):
            for receipt in of_kind(
                SpeechFinished, self.workspace.journal.execution_entries(turn.event.execution)
            ):
                said_before = moment_of(receipt.event.ts) < moment_of(place.called_by)
                if said_before and receipt.event.text and not receipt.event.taken_from:
                    answers.append(receipt.seq)
        return answers

    def _parsed(self, place: ConversationOpened, item: Item, own: Sequence[Item]) -> SlackMessage | None:
        """Parse the item; None if forgotten, or if the soul's but not in `own`."""
        message = message_if_said(item, place.channel, place.where)
        if message is None:
            return None
        author = message.author
        if self._is_own(message):
            author = place.user
            if item not in own:
                return None
        if self.workspace.forgotten.covers(author, message.ts):
            return None
        return message

    def _is_own(self, message: SlackMessage) -> bool:
        return self.workspace.me.is_own_message(message.user, message.bot)

    def _unknown(self, place: ConversationOpened, root: str, items: Sequence[Item]) -> list[Item]:
        return OwnMessageLookup(self.workspace).unknown_messages(place.channel, root, items)

    def _may_be_context(self, place: ConversationOpened, message: SlackMessage) -> bool:
        """True unless the message is an input, or a forbidden author addressed it to the soul."""
        if self.workspace.journal.get(f"msg:{place.team}:{place.channel}:{message.ts}"):
            return False
        return self.workspace.allowed.may_be_heard(message) or not self._is_to_the_soul(place, message)

    def _is_to_the_soul(self, place: ConversationOpened, message: SlackMessage) -> bool:
        return not self._is_own(message) and (
            place.where == "dm" or self.workspace.me.is_mentioned_in(message)
        )

    def _key(self, thread: str, place: ConversationOpened, message: SlackMessage) -> str:
        """Return the key under which a message is recorded as context.

        A message to the soul gets a key of this thread, so that its later event is still answered.
        """
        if self._is_to_the_soul(place, message):
            return context_key(thread, message.ts)
        return f"heard:{place.team}:{place.channel}:{message.ts}"

    async def _heard(self, key: str, message: SlackMessage) -> EarlierMessage:
        words = await self.workspace.people.describe(message)
        note = ""
        if self._is_own(message):
            note = OWN_WORDS
        return EarlierMessage(key=key, author=message.author, event=OverheardMessage(**words, note=note))
