"""What was missed in a workspace, as it is read: its conversations first, then its threads, the latest first.

A conversation's history tells of the latest reply to each message, so that only threads in which something
was said since are asked for their replies. Older messages are asked for where a thread of the soul's begins:
a page of them tells of all threads of these days.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from slack_sdk.errors import SlackApiError

from daemon.engine.exceptions import JournalDamaged
from daemon.kinds import ANSWERED, TOO_LATE, moment_of
from daemon.ports import Clock
from daemon.slack.archive import (
    ArchivedConversation,
    ConversationArchive,
    active_threads,
    message_if_said,
    time_of,
)
from daemon.slack.inbox import Inbox
from daemon.slack.own_messages import OwnMessageLookup
from daemon.slack.refusals import LIMITED, slack_error
from daemon.slack.watermarks import Watermarks
from daemon.slack.web import SKEW, Item

MOST = 40
"""Threads that are read, about a minute long, before it looks what else was missed meanwhile."""
CLOSED = ("channel_not_found", "missing_scope", "not_in_channel")
"""Slack's words for a conversation that cannot be read until somebody changes something."""
LONG = 300.0
"""Seconds after which the log tells how far it is; then again and again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillCounts:
    """How far it is: conversations and threads that are known to be left, and threads that were read."""

    conversations: int = 0
    threads: int = 0
    read: int = 0

    def __str__(self) -> str:
        left = f"{self.threads:,} threads and {self.conversations:,} conversations"
        return f"{self.read:,} threads are read, {left} are left."


@dataclass(slots=True, kw_only=True, eq=False)
class ChannelBacklog:
    """What is left to read of a conversation, since then."""

    conversation: ArchivedConversation
    since: float
    untold: list[str]
    """Roots of the soul's own threads of which no history has told yet, the oldest first."""
    looked: bool = False
    threads: set[str] = field(default_factory=set)
    """Roots of threads in which something was said, and that are not read yet."""
    refused: bool = False

    @property
    def id(self) -> str:
        """The id of the conversation."""
        return self.conversation.id

    @property
    def is_done(self) -> bool:
        """Has all of it been read?"""
        return self.looked and not (self.untold or self.threads or self.refused)


@dataclass(kw_only=True)
class Backfill:
    """Begun at a time; `read` goes on where it stopped. `tell` lets a thread take its turn.

    `own` are the roots of the soul's own threads that are not dormant, by channel, those with the latest word
    first, each with when that was. A conversation that Slack refuses is left behind.
    """

    archive: ConversationArchive
    inbox: Inbox
    own_messages: OwnMessageLookup
    clock: Clock
    tell: Callable[[str], None]
    max_age: float
    marks: Watermarks
    begun: float
    own: Mapping[str, Mapping[str, float]]
    conversations: Sequence[ArchivedConversation]

    def __post_init__(self) -> None:
        self._new = deque[ChannelBacklog]()
        """Conversations that were not looked at yet."""
        self._older: list[ChannelBacklog] = []
        """Those with threads of which their latest messages did not tell."""
        self._threads: list[tuple[float, str, str, ChannelBacklog]] = []
        """A heap: when the last was said in a thread, negative; its channel, its root, what is left there."""
        self._stumbled: list[ArchivedConversation] = []
        self._behind: dict[str, float] = {}
        self._read = 0
        self._told_at = self.clock.steady()
        self._ranks = {channel: number for number, channel in enumerate(self.own)}
        self._add(sorted(self.conversations, key=self._is_own, reverse=True))

    def _is_own(self, conversation: ArchivedConversation) -> bool:
        return conversation.id in self.own

    def _rank(self, left: ChannelBacklog) -> int:
        return self._ranks[left.id]

    @property
    def progress(self) -> BackfillCounts:
        """How far it is."""
        untold = sum(len(left.untold) for left in self._older)
        return BackfillCounts(
            conversations=len(self._new), threads=len(self._threads) + untold, read=self._read
        )

    async def read(self, anew: Callable[[], bool]) -> bool:
        """All that is left. False: Slack stumbled over some of it; or it is to begin `anew`, as it does when
        something else may have been missed meanwhile, so that this waits for no end of what is older.

        Raises SlackApiError, OUT_OF_REACH and JournalError.
        """
        while self._new:
            await self._heeding(self._new[0], self._read_conversation(self._new[0]))
            self._new.popleft()
        most = self._read + MOST
        while self._threads or self._older:
            if self._read >= most and anew():
                return False
            if self._threads:
                _, _, root, left = self._threads[0]
                await self._heeding(left, self._thread(left, root))
                heappop(self._threads)
            else:
                left = min(self._older, key=self._rank)
                await self._heeding(left, self._ask_older(left))
        await self.marks.mark_all_read(self.begun - SKEW, self._behind)
        again, self._stumbled = self._stumbled, []
        self._add(again)
        return not again

    def _add(self, conversations: Iterable[ArchivedConversation]) -> None:
        for one in conversations:
            own = sorted(self.own.get(one.id, ()), key=moment_of)
            self._new.append(
                ChannelBacklog(conversation=one, since=self.marks.unread_since(one.id), untold=own)
            )

    async def _heeding(self, left: ChannelBacklog, reading: Coroutine[object, object, None]) -> None:
        """Read on in a conversation, unless Slack refuses: then what it still has is left behind."""
        try:
            await reading
        except SlackApiError as refusal:
            word = slack_error(refusal)
            if word in ("", LIMITED):
                raise
            self._leave(left, word)
        self._tell_how_far()
        if left.is_done:
            self._behind.pop(left.id, None)
            await self.marks.mark_channel_read(left.id, self.begun - SKEW)

    def _tell_how_far(self) -> None:
        if self.clock.steady() - self._told_at >= LONG:
            self._told_at = self.clock.steady()
            log.warning("Catching up takes a while: %s", self.progress)

    def _leave(self, left: ChannelBacklog, word: str) -> None:
        left.refused = True
        if left in self._older:
            self._older.remove(left)
        self._behind[left.id] = left.since
        if left.id not in self.marks.whole.behind:
            log.warning("Slack does not show what was said in %s (%s); left for later.", left.id, word)
        if word not in CLOSED:
            self._stumbled.append(left.conversation)

    async def _read_conversation(self, left: ChannelBacklog) -> None:
        """Read what was said in the conversation itself, and learn in which of its threads."""
        items = await self.archive.read_history(left.id, left.since)
        live = active_threads(items, left.since)
        await self._hand_to_inbox(left, [item for item in items if item.get("thread_ts") not in live])
        self._mark_threads_shown(left, items, live)
        left.looked = True
        if left.untold and left not in self._older:
            self._older.append(left)

    async def _ask_older(self, left: ChannelBacklog) -> None:
        """Learn in which threads that were begun long ago something was said: at least of one of them."""
        newest = left.untold[-1]
        items = await self.archive.read_older(left.id, newest)
        self._mark_threads_shown(left, items, active_threads(items, left.since))
        if newest in left.untold:
            left.untold.remove(newest)
            self._want(left, newest)
        if not left.untold:
            self._older.remove(left)

    def _mark_threads_shown(
        self, left: ChannelBacklog, items: Sequence[Item], live: Mapping[str, float]
    ) -> None:
        """A history told of these threads, and of all others that it would have shown."""
        for root, latest in live.items():
            self._want(left, root, latest)
        shown = {str(item.get("ts")) for item in items}
        oldest = min(map(time_of, items), default=inf)
        untold: list[str] = []
        for root in left.untold:
            if root in live:
                continue
            if float(root) < oldest:
                untold.append(root)
            elif root not in shown:  # what became of it?
                self._want(left, root)
        left.untold = untold

    def _want(self, left: ChannelBacklog, root: str, latest: float | None = None) -> None:
        """Ask for the replies of this thread, unless a history told that they were all read."""
        read = self.marks.thread_read_until(left.id, root)
        if read is not None and latest is not None and latest <= read:
            return
        if latest is None:
            latest = self.own[left.id][root]
        if root not in left.threads:
            left.threads.add(root)
            heappush(self._threads, (-latest, left.id, root, left))

    async def _thread(self, left: ChannelBacklog, root: str) -> None:
        if left.refused:
            return
        channel = left.id
        since = max(left.since, (self.marks.thread_read_until(channel, root) or 0.0) - SKEW)
        items = await self.archive.read_replies(channel, root, since)
        own: Sequence[Item] = ()
        with suppress(JournalDamaged):  # its conversation waits: each message of it is passed over
            own = self.own_messages.unknown_messages(channel, root, items)
        await self._hand_to_inbox(left, items, own, self.own_messages.answered_messages(own, items))
        await self.marks.mark_thread_read(channel, root, max(map(time_of, items), default=since))
        left.threads.discard(root)
        self._read += 1

    async def _hand_to_inbox(
        self,
        left: ChannelBacklog,
        items: Iterable[Item],
        own: Sequence[Item] = (),
        answered: Collection[str] = (),
    ) -> None:
        """Give the inbox what was said since then; what is too old for an answer is only remembered.

        So is what was `answered` in a life that the journal does not know, and what the soul said then, its
        `own` messages. Threads wake when all of it is there, so that one answer takes what was said in one
        breath.
        """
        too_old = self.archive.now() - self.max_age
        woken: set[str] = set()
        for item in sorted(items, key=time_of):
            if time_of(item) < left.since:
                continue
            message = message_if_said(item, left.id, left.conversation.kind)
            if message is None:
                continue
            late = ""
            if time_of(item) < too_old:
                late = TOO_LATE
            if message.ts in answered:
                late = ANSWERED
            try:
                if item in own:
                    await self.inbox.record_own_message(message)
                else:
                    woken |= await self.inbox.take_missed(message, late=late)
            except JournalDamaged as damage:  # its conversation waits, and all others are read
                log.error("A message in %s is passed over. %s", left.id, damage)
            await self.clock.sleep(0)  # an event that comes now waits for no more than one of these
        for thread in woken:
            self.tell(thread)
