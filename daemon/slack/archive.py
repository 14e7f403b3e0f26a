"""Reading of Slack's archive, and tracking of bot messages until they are complete.

All readers share one rate limit, which leaves room for live conversations.

Slack reports only the start and end of a stream, and a post that its bot will edit looks complete. So a bot
message is recorded before its ack, and read again later even if no event arrives.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.kinds import GrowingMessageSeen, MessageGrowthEnded, moment_of
from daemon.slack.app_share import ARCHIVES, CATCH_UP, AppShare, WholeApp
from daemon.slack.block_text import MalformedPayload, first_text
from daemon.slack.directory import KeyedLock, workspace_thread
from daemon.slack.incoming import GROWS, SPOKEN, SlackMessage, message_from_item
from daemon.slack.places import SlackWorkspace, read_speech_metadata
from daemon.slack.web_api import (
    AT_ONCE,
    OUT_OF_REACH,
    Item,
    Method,
    WebApi,
    describe_failure,
    is_permanent,
    method_name,
    read_members,
    read_pages,
    retry_pause,
    slack_error,
    time_of,
)

TYPES = "im,mpim,public_channel,private_channel"

MOST = 40
"""Calls per minute of each method. Slack allows 50; live conversations need the rest."""

MINUTE = 60.0

PATIENCE = 300
"""Most seconds that a call waits for rate limits."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedConversation:
    """Conversation that the soul is in. `kind` is dm, group or channel."""

    id: str
    kind: str

    @property
    def is_dm(self) -> bool:
        return self.kind == "dm"


class ConversationArchive:
    """Reader of Slack's pages. Every method raises SlackApiError and OUT_OF_REACH.

    Of daemons that share the app, the one that reads in the background has the rate limit; the others take an
    equal share each, for what turns ask.
    """

    def __init__(self, web: WebApi, share: AppShare | None = None) -> None:
        self._web = web
        self._share = share or WholeApp()
        self._asked: dict[str, deque[float]] = {}

    def now(self) -> float:
        return self._web.now()

    async def list_conversations(self) -> list[ArchivedConversation]:
        """Return the soul's conversations, DMs first."""
        users = self._web.client.users_conversations
        found = await self._pages(users, "channels", types=TYPES, exclude_archived=True)
        conversations = [_conversation(item) for item in found]
        return sorted(conversations, key=attrgetter("is_dm"), reverse=True)

    async def read_history(self, channel: str, since: float) -> list[Item]:
        """Return top-level messages since `since`, and some older ones, whose threads may
        have new replies.
        """
        history = self._web.client.conversations_history
        return await self._pages(history, "messages", since, channel=channel)

    async def read_older(self, channel: str, ts: str) -> list[Item]:
        """Return a page of top-level messages: the one with this ts, then older ones."""
        history = self._web.client.conversations_history
        where = {"channel": channel, "latest": ts, "inclusive": True}
        async for page in read_pages(self.call_at_pace, history, "messages", 1, **where):
            return _well_formed(page)
        return []

    async def read_replies(self, channel: str, root: str, since: float) -> list[Item]:
        """Return a thread's root and its replies since `since`, with metadata; empty if deleted."""
        replies = self._web.client.conversations_replies
        where: dict[str, Any] = {"channel": channel, "ts": root, "oldest": f"{since:.6f}"}
        where["include_all_metadata"] = True
        try:
            return await self._pages(replies, "messages", **where)
        except SlackApiError as refusal:
            if slack_error(refusal) == "thread_not_found":
                return []
            raise

    async def read_message(self, channel: str, root: str, ts: str) -> Item | None:
        """Return a message of a thread with its metadata; None if missing."""
        replies = self._web.client.conversations_replies
        where: dict[str, Any] = {
            "channel": channel,
            "ts": root,
            "oldest": ts,
            "latest": ts,
            "inclusive": True,
        }
        try:
            async for page in read_pages(
                self.call_at_pace, replies, "messages", 1, include_all_metadata=True, **where
            ):
                return next((item for item in page if item.get("ts") == ts), None)
        except SlackApiError as refusal:
            if slack_error(refusal) != "thread_not_found":
                raise
        return None

    async def read_members(self, channel: str) -> set[str]:
        return await read_members(self.call_at_pace, self._web.client.conversations_members, channel)

    @property
    def _most_per_minute(self) -> int:
        if self._share.holds(CATCH_UP) or self._share.holds(ARCHIVES):
            return MOST
        return max(MOST // self._share.daemon_count, 1)

    async def call_at_pace(self, method: Method, **arguments: Any) -> AsyncSlackResponse:
        """Call a method within the shared rate limit."""
        asked = self._asked.setdefault(method_name(method), deque(maxlen=MOST))
        now = due = self._web.clock.steady()
        most = self._most_per_minute
        if len(asked) >= most:
            due = max(now, asked[-most] + MINUTE)
        asked.append(due)
        if due > now:
            await self._web.clock.sleep(due - now)
        return await self._web.call_readonly(method, patience=PATIENCE, **arguments)

    async def _pages(self, method: Method, key: str, since: float = 0.0, **arguments: Any) -> list[Item]:
        items: list[Item] = []
        async for page in read_pages(self.call_at_pace, method, key, **arguments):
            page = _well_formed(page)
            items += page
            if page and max(map(time_of, page)) < since:
                break
        return items


def message_if_said(item: Item, channel: str, kind: str) -> SlackMessage | None:
    """Parse an item of a page; None if nobody wrote it or it is malformed."""
    if item.get("subtype") not in SPOKEN:
        return None
    try:
        return message_from_item(item, channel=channel, kind=kind)
    except MalformedPayload as fault:
        log.warning("Skipped a malformed message of Slack in %s: %s.", channel, fault)
        return None


def active_threads(items: Iterable[Item], since: float) -> dict[str, float]:
    """Return {root: time of the last message} for threads active since `since`.

    A root without `latest_reply` counts, since it may have replies.
    """
    found: dict[str, float] = {}
    for item in items:
        root = str(item.get("thread_ts"))
        latest = max(time_of(item), time_of(item, "latest_reply"))
        untold = root == item.get("ts") and "latest_reply" not in item
        if time_of(item, "thread_ts") and (untold or latest >= since):
            found[root] = max(latest, found.get(root, 0.0))
    return found


def _well_formed(page: Iterable[Item]) -> list[Item]:
    return [item for item in page if isinstance(item.get("thread_ts"), str | None)]


def _conversation(item: Item) -> ArchivedConversation:
    kind = "channel"
    if item.get("is_im"):
        kind = "dm"
    elif item.get("is_mpim"):
        kind = "group"
    return ArchivedConversation(id=str(item.get("id")), kind=kind)


STILL = 5.0
"""Seconds without change after which a message is complete, unless marked as growing."""

LONGEST_LOOK = 30.0
"""Longest pause between two reads of a growing message, in seconds."""

LONGEST_GROWTH = 600.0
"""Seconds without change after which any message is complete: a stream lasts five minutes."""

MOST_DELETED = 200
"""Most deleted messages that are remembered, since events may arrive out of order."""

Take = Callable[[SlackMessage], Awaitable[None]]
"""Callback for a complete or changed message. Raises JournalError."""


@dataclass(slots=True, eq=False, kw_only=True)
class _GrowingMessage:
    """Message that may grow. `message` is None until known; times are those of the steady clock.

    `more` are further entries about it, of daemons that share the app.
    """

    mark: Entry[GrowingMessageSeen]
    due: float
    message: SlackMessage | None = None
    changed_at: float = 0.0
    looks: int = 0
    failures: int = 0
    changes: int = 0
    deleted: bool = False
    more: list[Entry[GrowingMessageSeen]] = field(default_factory=list)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def add_mark(self, mark: Entry[GrowingMessageSeen], now: float) -> None:
        """Add an entry of another daemon, which has received an event."""
        self.more.append(mark)
        self.changes += 1
        self.due = now + STILL
        self.stirred.set()

    def apply_event(self, message: SlackMessage, now: float) -> None:
        known = self.message
        if known and moment_of(message.told or message.ts) < moment_of(known.told or known.ts):
            return
        if known and known.whole_text == message.whole_text and not message.ended:
            self.message = replace(known, called=known.called or message.called)
            return
        self._set_message(message, now)
        self.changes += 1
        self.due = now + (0.0 if message.ended else STILL)
        self.stirred.set()

    def apply_lookup(self, message: SlackMessage, now: float) -> bool:
        is_news = self.message is None or self.message.whole_text != message.whole_text
        self._set_message(
            replace(message, told=self.message.told if self.message else ""), now, is_news=is_news
        )
        return is_news

    def _set_message(self, message: SlackMessage, now: float, *, is_news: bool = True) -> None:
        was_called = self.message is not None and self.message.called
        self.message = replace(message, change="", changed="", called=message.called or was_called)
        if is_news:
            self.changed_at = now


class BotMessageTracker:
    """Tracker of bots' messages.

    Of daemons that share the app, one tracks and judges all: it follows the marks that the others record.
    """

    def __init__(self, workspace: SlackWorkspace, archive: ConversationArchive, take: Take) -> None:
        self._workspace = workspace
        self._journal = workspace.journal
        self._web = workspace.web
        self._archive = archive
        self._take = take
        self._order = KeyedLock()
        self._held: dict[tuple[str, str], _GrowingMessage] = {}
        self._deleted: deque[tuple[str, str]] = deque(maxlen=MOST_DELETED)
        self._tasks: set[asyncio.Task[None]] = set()
        self._share = workspace.share
        self._is_tracking = not workspace.share.is_shared
        self._recording = set[tuple[str, str]]()
        """Messages whose marks this daemon is recording."""

    def begin(self) -> None:
        """Resume the tracking of messages begun by an earlier process; with other daemons, once this one has
        the role.
        """
        if self._share.is_shared:
            self._start(self._track_for_all(), "bots' messages")
            return
        for mark in self._journal.pending_entries(GrowingMessageSeen):
            if (mark.event.channel, mark.event.ts) not in self._held:
                self._follow(mark)

    async def _track_for_all(self) -> None:
        await self._share.hold(ARCHIVES)
        self._is_tracking = True
        upto = self._journal.last_seq_of_all()
        for mark in self._journal.pending_entries(GrowingMessageSeen):
            self._follow_mark(mark)
        while True:
            change = self._journal.next_change
            if self._journal.change_counter(GrowingMessageSeen) > upto:
                for mark in self._journal.entries_of_kind(GrowingMessageSeen, since=upto):
                    upto = mark.seq
                    self._follow_mark(mark)
            await change.wait()

    def _follow_mark(self, mark: Entry[GrowingMessageSeen]) -> None:
        where = (mark.event.channel, mark.event.ts)
        held = self._held.get(where)
        if where in self._recording:
            return
        if held is None:
            if self._journal.is_pending(mark.seq):
                self._follow(mark).due = self._web.clock.steady()
        elif mark.seq not in {held.mark.seq, *(one.seq for one in held.more)}:
            held.add_mark(mark, self._web.clock.steady())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def is_holding(self, message: SlackMessage) -> bool:
        if (message.channel, message.ts) in self._held:
            return True
        marks = self._journal.pending_entries(GrowingMessageSeen) if self._share.is_shared else ()
        return any((mark.event.channel, mark.event.ts) == (message.channel, message.ts) for mark in marks)

    async def hold(self, message: SlackMessage) -> None:
        """Record that a message may grow, and track it. Raises JournalError."""
        where = (message.channel, message.ts)
        async with self._order.lock_for(where):
            held = self._held.get(where)
            if where in self._deleted:
                return
            if held is None:
                self._recording.add(where)
                try:
                    mark, is_new = await self._record_may_grow(message)
                finally:
                    self._recording.discard(where)
                if not (is_new or self._journal.still_pending([mark.seq])):
                    return  # the event is repeated
                if not self._is_tracking:
                    return  # the daemon that tracks follows the mark
                held = self._held.get(where) or self._follow(mark)
            held.apply_event(message, self._web.clock.steady())
            held.deleted = where in self._deleted  # the deletion may arrive during the append

    def drop(self, message: SlackMessage) -> None:
        self._deleted.append((message.channel, message.ts))
        held = self._held.get((message.channel, message.ts))
        if held:
            held.deleted = True
            held.due = self._web.clock.steady()
            held.stirred.set()

    async def _record_may_grow(self, message: SlackMessage) -> tuple[Entry[GrowingMessageSeen], bool]:
        key = f"may-grow:{self._workspace.me.team}:{message.channel}:{message.ts}"
        if message.told:
            key = f"{key}:{message.told}"
        event = GrowingMessageSeen(
            channel=message.channel, where=message.kind, root=message.root, ts=message.ts
        )
        return await self._journal.append(self._home, event, key=key, author="core")

    @property
    def _home(self) -> str:
        return workspace_thread(self._workspace.me.team)

    def _follow(self, mark: Entry[GrowingMessageSeen]) -> _GrowingMessage:
        held = _GrowingMessage(mark=mark, due=self._web.clock.steady() + STILL)
        self._held[mark.event.channel, mark.event.ts] = held
        self._start(self._until_whole(held), f"growing:{mark.event.ts}")
        return held

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            log.critical(
                "Tracking of a bot's message failed; the next start resumes it.", exc_info=task.exception()
            )

    async def _until_whole(self, held: _GrowingMessage) -> None:
        while True:
            await self._until_due(held)
            try:
                if await self._take_if_whole(held):
                    return
            except SlackApiError as refusal:
                if is_permanent(refusal):
                    log.warning(
                        "Slack refused to show a bot's message (%s); the next start reads it again.",
                        describe_failure(refusal),
                    )
                    return
                self._schedule_retry(held, refusal)
            except JournalDamaged as damage:  # damage blocks only this conversation
                log.error("Skipped a bot's message in %s: %s", held.mark.event.channel, damage)
                return
            except (JournalError, *OUT_OF_REACH) as error:
                self._schedule_retry(held, error)

    async def _until_due(self, held: _GrowingMessage) -> None:
        while (left := held.due - self._web.clock.steady()) > 0:
            held.stirred.clear()
            await self._web.wait_until(held.stirred, left)

    def _schedule_retry(self, held: _GrowingMessage, error: Exception) -> None:
        if not held.failures:
            log.warning("Could not read or record a bot's message (%s); retrying.", describe_failure(error))
        held.failures += 1
        held.due = self._web.clock.steady() + retry_pause(held.failures + AT_ONCE)

    async def _take_if_whole(self, held: _GrowingMessage) -> bool:
        changes = held.changes
        if not held.deleted and not await self._look_up(held):
            return False
        if held.message and not held.deleted:
            await self._take(held.message)
        mark = held.mark
        async with self._order.lock_for((mark.event.channel, mark.event.ts)):
            if held.changes != changes:
                return False
            for one in (mark, *held.more):
                await self._journal.append(
                    self._home,
                    MessageGrowthEnded(),
                    key=f"{one.key}!grown",
                    author="core",
                    cause=one.seq,
                    closes=[one.seq],
                )
            del self._held[mark.event.channel, mark.event.ts]
        return True

    async def _look_up(self, held: _GrowingMessage) -> bool:
        """Read the message again; return True if it is complete."""
        item = await self._shown(held)
        if item is None:
            return True
        if not item:
            held.deleted |= self._share.is_shared  # another daemon may have received the deletion
            return True
        message = message_if_said(item, held.mark.event.channel, held.mark.event.where)
        if message is None:
            return True
        now = self._web.clock.steady()
        is_news = held.apply_lookup(message, now)
        if _grows(item) and now - held.changed_at < LONGEST_GROWTH:
            held.looks += 1
            held.due = now + min(STILL * 2**held.looks, LONGEST_LOOK)
            return False
        if is_news and not message.ended:
            held.due = now + STILL
            return False
        return True

    async def _shown(self, held: _GrowingMessage) -> Item | None:
        """Read the message; empty if missing, None if Slack will never show it."""
        mark = held.mark.event
        try:
            return await self._archive.read_message(mark.channel, mark.root, mark.ts) or {}
        except SlackApiError as refusal:
            if held.message and is_permanent(refusal):
                return None
            raise


def _grows(item: Item) -> bool:
    return first_text(item, "streaming_state") in GROWS or read_speech_metadata(item).grows
