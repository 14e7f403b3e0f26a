"""Messages of other bots that may grow: each is taken once, when it is whole.

Slack tells other apps of the first piece of a stream and of its end, and what is posted whole looks like the
first piece of what will be rewritten. So each is noted before its ack, and looked up when it was still for
a while: whatever events came late, twice, in another order or never, it is taken as it stands there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from slack_sdk.errors import SlackApiError

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.kinds import GrowingMessageSeen, MessageGrowthEnded, moment_of
from daemon.slack.archive import ConversationArchive, message_if_said
from daemon.slack.mark import read_speech_metadata
from daemon.slack.message import GROWS, SlackMessage
from daemon.slack.order import KeyedLock
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.payload import first_text
from daemon.slack.place import workspace_thread
from daemon.slack.refusals import OUT_OF_REACH, describe_failure, is_permanent
from daemon.slack.web import AT_ONCE, Item, retry_pause

STILL = 5.0
"""Seconds without a change after which a message is whole, unless Slack or its author says that it grows."""
LONGEST_LOOK = 30.0
"""Seconds between two looks at a message that is said to grow."""
LONGEST_GROWTH = 600.0
"""Seconds without a change after which it is whole whatever is said of it: a stream lasts five minutes."""
MOST_DELETED = 200
"""Deleted messages that are remembered: Slack promises no order."""

Take = Callable[[SlackMessage], Awaitable[None]]
"""Takes a message that is whole, or how one reads now that was taken. Raises JournalError."""

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class _GrowingMessage:
    """A message that may grow; `message` is how it reads, None until that is known. Times are of `steady`."""

    mark: Entry[GrowingMessageSeen]
    due: float
    message: SlackMessage | None = None
    changed_at: float = 0.0
    looks: int = 0
    failures: int = 0
    changes: int = 0
    """Events that told of something new."""
    deleted: bool = False
    stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def apply_event(self, message: SlackMessage, now: float) -> None:
        """Take what an event tells of it; one that is older than what is known does not count."""
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
        """Take how Slack shows it; return whether that is news."""
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
    """Holds them until they are whole; what a killed daemon held, the next one looks up."""

    def __init__(self, workspace: SlackWorkspace, archive: ConversationArchive, take: Take) -> None:
        self._workspace = workspace
        self._journal = workspace.journal
        self._web = workspace.web
        self._archive = archive
        self._take = take
        self._order = KeyedLock()
        self._held: dict[tuple[str, str], _GrowingMessage] = {}
        """By channel and ts."""
        self._deleted: deque[tuple[str, str]] = deque(maxlen=MOST_DELETED)
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Look up what an earlier life has held."""
        for mark in self._journal.pending_entries(GrowingMessageSeen):
            if (mark.event.channel, mark.event.ts) not in self._held:
                self._follow(mark)

    async def close(self) -> None:
        """Take nothing more; the next life does."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def is_holding(self, message: SlackMessage) -> bool:
        """True if it is held now."""
        return (message.channel, message.ts) in self._held

    async def hold(self, message: SlackMessage) -> None:
        """Note that it may grow, and take it when it does no more. Raises JournalError."""
        where = (message.channel, message.ts)
        async with self._order.lock_for(where):
            held = self._held.get(where)
            if where in self._deleted:
                return
            if held is None:
                mark, is_new = await self._record_may_grow(message)
                if not (is_new or self._journal.still_pending([mark.seq])):
                    return  # this event came before, and what it told of was taken
                held = self._follow(mark)
            held.apply_event(message, self._web.clock.steady())
            held.deleted = where in self._deleted  # it may be told of while the other event is written down

    def drop(self, message: SlackMessage) -> None:
        """Drop a message that was deleted: what is not taken yet never will be."""
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
        task = asyncio.create_task(self._until_whole(held), name=f"growing:{mark.event.ts}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return held

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget it. By an error it ends only by a fault of ours: the next life looks the message up."""
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            log.critical("Waiting for the end of a bot's message has ended.", exc_info=task.exception())

    async def _until_whole(self, held: _GrowingMessage) -> None:
        while True:
            await self._until_due(held)
            try:
                if await self._take_if_whole(held):
                    return
            except SlackApiError as refusal:
                if is_permanent(refusal):
                    log.warning(
                        "Slack does not show a bot's message (%s); left for later.", describe_failure(refusal)
                    )
                    return
                self._schedule_retry(held, refusal)
            except JournalDamaged as damage:  # its conversation waits, and all others are heard
                log.error("A bot's message in %s is passed over. %s", held.mark.event.channel, damage)
                return
            except (JournalError, *OUT_OF_REACH) as error:
                self._schedule_retry(held, error)

    async def _until_due(self, held: _GrowingMessage) -> None:
        while (left := held.due - self._web.clock.steady()) > 0:
            held.stirred.clear()
            await self._web.wait_until(held.stirred, left)

    def _schedule_retry(self, held: _GrowingMessage, error: Exception) -> None:
        if not held.failures:
            log.warning(
                "A bot's message could not be looked up or taken (%s); tried again.", describe_failure(error)
            )
        held.failures += 1
        held.due = self._web.clock.steady() + retry_pause(held.failures + AT_ONCE)

    async def _take_if_whole(self, held: _GrowingMessage) -> bool:
        """Take it if it is whole, and hold it no more; return whether that is so."""
        changes = held.changes
        if not held.deleted and not await self._look_up(held):
            return False
        if held.message and not held.deleted:
            await self._take(held.message)
        mark = held.mark
        async with self._order.lock_for((mark.event.channel, mark.event.ts)):
            if held.changes != changes:  # it has changed meanwhile
                return False
            await self._journal.append(
                self._home,
                MessageGrowthEnded(),
                key=f"{mark.key}!grown",
                author="core",
                cause=mark.seq,
                closes=[mark.seq],
            )
            del self._held[mark.event.channel, mark.event.ts]
        return True

    async def _look_up(self, held: _GrowingMessage) -> bool:
        """Look it up; return whether it is whole. What Slack does not show is whole as events told of it."""
        item = await self._shown(held)
        if item is None:
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
        """The message as Slack shows it; None where it does not, and events told of it."""
        mark = held.mark.event
        try:
            return await self._archive.read_message(mark.channel, mark.root, mark.ts)
        except SlackApiError as refusal:
            if held.message and is_permanent(refusal):
                return None
            raise


def _grows(item: Item) -> bool:
    """True if Slack says that it streams, or a daemon like us that more is to come."""
    return first_text(item, "streaming_state") in GROWS or read_speech_metadata(item).grows
