"""What was missed in a workspace, as it is read: its conversations first, then its threads, the latest first.

A conversation's history tells of the latest reply to each message, so that only threads in which something
was said since are asked for their replies. Older messages are asked for where a thread of the soul's begins:
a page of them tells of all threads of these days.

Up to where Slack has been read: in all of a workspace, and further in parts of it. For catch-up.

Each mark is an entry, in Slack's time, that nothing else writes: an event that came live says nothing about
the one before it that did not.

Catch-up: what was said while no event came is read out of Slack's archive, into the same inbox.

Woken by the surface at the start, and whenever it hears again after it may have missed something.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf

from slack_sdk.errors import SlackApiError

from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.kinds import (
    ANSWERED,
    TOO_LATE,
    BackfillCompleted,
    BackfillProgress,
    ConversationOpened,
    PersonMessage,
    moment_of,
)
from daemon.slack.archive import ArchivedConversation, ConversationArchive, active_threads, message_if_said
from daemon.slack.earlier_messages import OwnMessageLookup
from daemon.slack.inbox import Inbox
from daemon.slack.places import SlackWorkspace, record_workspace_note, workspace_thread
from daemon.slack.web_api import (
    LIMITED,
    OUT_OF_REACH,
    SKEW,
    Item,
    describe_failure,
    retry_pause,
    slack_error,
    time_of,
)

FEW = 40
"""Channels that are marked at once: about as many as are looked at in a minute."""


@dataclass(kw_only=True)
class Watermarks:
    """Where catching up begins, and how far it has come since; what it has read is asked for no more."""

    journal: Journal
    team: str
    whole: BackfillCompleted
    _channels: dict[str, float] = field(default_factory=dict)
    _threads: dict[tuple[str, str], float] = field(default_factory=dict)
    """By channel and root."""
    _unwritten: dict[str, float] = field(default_factory=dict)

    def unread_since(self, channel: str) -> float:
        """From when on there may be something in this channel, or in its threads, that is not known."""
        everywhere = self.whole.behind.get(channel, self.whole.until)
        return max(everywhere, self._channels.get(channel, 0.0))

    def thread_read_until(self, channel: str, root: str) -> float | None:
        """When the last was said that was read of this thread; None if it was not read since `since`."""
        return self._threads.get((channel, root))

    async def mark_thread_read(self, channel: str, root: str, latest: float) -> None:
        """All that was said in this thread, `latest` last, is in the journal. Raises JournalError."""
        await self._record(BackfillProgress(channels=self._unwritten, threads={channel: {root: latest}}))
        self._threads[channel, root] = latest

    async def mark_channel_read(self, channel: str, until: float) -> None:
        """All that was said in this channel until then is in the journal, that of its threads, too.

        Written with others only: who is killed before looks at a page of each again. Raises JournalError.
        """
        self._channels[channel] = self._unwritten[channel] = until
        if len(self._unwritten) >= FEW:
            await self.save()

    async def save(self) -> None:
        """Write down how far it has come. Raises JournalError."""
        if self._unwritten:
            await self._record(BackfillProgress(channels=self._unwritten))

    async def mark_all_read(self, until: float, behind: Mapping[str, float]) -> None:
        """All that was said until then is in the journal; less in the channels `behind`.

        Raises JournalError.
        """
        mark = BackfillCompleted(until=max(self.whole.until, until), behind=behind)
        if mark != self.whole:
            await record_workspace_note(self.journal, self.team, mark)
            self.whole = mark
        self._channels.clear()
        self._threads.clear()
        self._unwritten = {}

    async def _record(self, came: BackfillProgress) -> None:
        await record_workspace_note(self.journal, self.team, came)
        self._unwritten = {}


def read_watermarks(journal: Journal, team: str, now: float) -> Watermarks | None:
    """Those of a workspace that can be believed `now`; None before the soul has ever been there.

    One of the future cannot: it would be there for as long as this machine's clock was ahead. Where none
    can be, what was said since the soul was called for the first time counts as unread.
    """
    whole = watermark(journal, team, now)
    if whole is None:
        return None
    found = Watermarks(journal=journal, team=team, whole=whole)
    for entry in journal.entries_of_kind(
        BackfillProgress, since=journal.last_seq(workspace_thread(team), BackfillCompleted)
    ):
        if entry.thread != workspace_thread(team):
            continue
        for channel, until in entry.event.channels.items():
            if until <= now:
                found._channels[channel] = until
        for channel, threads in entry.event.threads.items():
            for root, latest in threads.items():
                if latest <= now:
                    found._threads[channel, root] = latest
    return found


def watermark(journal: Journal, team: str, now: float) -> BackfillCompleted | None:
    """The last one of the whole workspace that can be believed `now`."""
    for entry in journal.latest_first(workspace_thread(team), BackfillCompleted):
        mark = entry.event
        if max(mark.until, *mark.behind.values(), 0.0) <= now:
            return mark
    if not journal.last_seq(workspace_thread(team), BackfillCompleted):
        return None
    return BackfillCompleted(until=_first_call(journal, team, now))


def _first_call(journal: Journal, team: str, now: float) -> float:
    """When the soul was first called, as Slack dates it; now, if it never was."""
    first = now
    for entry in journal.entries_of_kind(ConversationOpened):
        if entry.event.team == team and entry.event.called_by:
            first = min(first, float(entry.event.called_by))
    return first


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


DORMANT = 30 * 86_400.0
"""Seconds without a word, after which a thread of the soul's is not asked for replies any more."""


MOST_GONE, MOST_UNKNOWN = 3, 10
"""Channels that are gone, and channels that are not known, of which it is asked whether they are the same."""


@dataclass(kw_only=True)
class BackfillTask:
    """Reads what was missed, until its context ends.

    Only a run that came to its end moves the watermark. One that fails goes on where it stopped; one that is
    killed leaves marks of what it has read. Not found are replies in threads that are neither the soul's of
    the last thirty days nor begun by the last 200 messages of a conversation.
    """

    workspace: SlackWorkspace
    archive: ConversationArchive
    inbox: Inbox
    max_age: float
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: bool = False
    _missed: Backfill | None = None
    _compared: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of channels of which it was asked whether they are the same."""
    _anew: bool = False
    """May more be missing than was found when it began?"""
    _was_away: bool = False
    """Was there a time without any connection that is not read yet?"""

    async def __aenter__(self) -> BackfillTask:
        """Raises JournalError. At the first start on a journal there is nothing to catch up with."""
        found = read_watermarks(self.workspace.journal, self.workspace.me.team, self.archive.now())
        self._was_away = found is not None
        if found is None:
            mark = BackfillCompleted(until=self.archive.now())
            await record_workspace_note(self.workspace.journal, self.workspace.me.team, mark)
            found = Watermarks(journal=self.workspace.journal, team=self.workspace.me.team, whole=mark)
        self._marks = found
        self._living = asyncio.create_task(self._live(), name="catch-up")
        self._living.add_done_callback(_report)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Read nothing more; what is missing is for the next start."""
        self._living.cancel()
        await asyncio.gather(self._living, return_exceptions=True)

    @property
    def is_running(self) -> bool:
        """Is it reading, or about to?"""
        return self._reading or self._wanted.is_set()

    @property
    def read_until(self) -> float:
        """Up to when everything has been read, in Unix seconds."""
        return self._marks.whole.until

    @property
    def progress(self) -> BackfillCounts:
        """How far it is."""
        if self._missed is None:
            return BackfillCounts()
        return self._missed.progress

    @property
    def is_reading_missed(self) -> bool:
        """True while it reads what was said when the daemon was away; at the first start it never was."""
        return self.is_running and self._was_away

    def wake(self, *, missed: bool = True) -> None:
        """Catch up now, or once more when it is doing so. `missed`: no connection was open for a while."""
        self._was_away |= missed
        self._wanted.set()

    async def _live(self) -> None:
        while True:
            await self._wanted.wait()
            self._reading = True
            await self._complete()
            self._reading = False
            self._was_away &= self._wanted.is_set()

    async def _complete(self) -> None:
        """Go on until everything has been read that Slack lets us read; what was missed since, too."""
        for attempt in count(1):
            await self.workspace.web.clock.sleep(retry_pause(attempt))
            try:
                if await self._run():
                    return
            except (SlackApiError, JournalError, *OUT_OF_REACH) as error:
                if attempt == 1:
                    log.warning("Catching up stopped (%s); it goes on in a while.", describe_failure(error))

    async def _run(self) -> bool:
        """Read what is left. False when not all of it could be read, or something else is missing by now."""
        if self._wanted.is_set():
            self._wanted.clear()
            self._anew = True
        if self._missed is None or self._anew:
            self._missed = await self._begun()
            self._anew = False
        if not await self._missed.read(self._wanted.is_set):
            return False
        self._missed = None
        return True

    async def _begun(self) -> Backfill:
        since = self.archive.now() - DORMANT
        threads = partial(active_own_threads, team=self.workspace.me.team, since=since)
        conversations, own = await asyncio.gather(
            self.archive.list_conversations(), self.workspace.journal.read_in_background(threads)
        )
        await self._find_moved(conversations, own)
        ids = self.workspace.channel_ids
        conversations = [replace(one, id=ids.first_id(one.id)) for one in conversations]
        begun = self.archive.now()
        await self._marks.save()
        self._marks = read_watermarks(self.workspace.journal, self.workspace.me.team, begun) or self._marks
        return Backfill(
            archive=self.archive,
            inbox=self.inbox,
            own_messages=OwnMessageLookup(self.workspace),
            clock=self.workspace.web.clock,
            tell=self.workspace.wake,
            max_age=self.max_age,
            marks=self._marks,
            begun=begun,
            own=own,
            conversations=conversations,
        )

    async def _find_moved(
        self, conversations: Sequence[ArchivedConversation], own: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Find channels that have another id now, of which nobody told us.

        A conversation that began in one of ours that is gone stands in one that we do not know. Each pair is
        compared once in a life.
        """
        workspace, ids = self.workspace, self.workspace.channel_ids
        there = {ids.first_id(one.id) for one in conversations}
        gone = [channel for channel in own if channel not in there and not channel.startswith("D")]
        known = workspace.places.has_channel
        unknown = [
            one.id
            for one in conversations
            if not one.is_dm and ids.first_id(one.id) == one.id and not known(workspace.me.team, one.id)
        ]
        for old in gone[:MOST_GONE]:
            root = max(own[old], key=moment_of)
            for new in unknown[:MOST_UNKNOWN]:
                if (old, new) in self._compared:
                    continue
                self._compared.add((old, new))
                if await self._holds(new, root):
                    await ids.record_new_id(old, new)
                    await self.inbox.audiences.mark_changed(old, f"moved:{new}")
                    break

    async def _holds(self, channel: str, ts: str) -> bool:
        """Does a message of this ts stand in the channel?"""
        try:
            items = await self.archive.read_older(channel, ts)
        except SlackApiError as refusal:
            if slack_error(refusal) in CLOSED:
                return False
            raise
        return ts in [item.get("ts") for item in items[:1]]


def active_own_threads(journal: JournalReader, team: str, since: float) -> dict[str, dict[str, float]]:
    """The roots of the threads that the soul takes part in and where something was said since, by channel.

    Each with when that was last; the channel where it was last comes first.
    """
    own: dict[str, dict[str, float]] = {}
    for entry, last in journal.recently_active(ConversationOpened, (PersonMessage,), since):
        place = entry.event
        if place.team == team and place.ts:
            own.setdefault(place.channel, {})[place.ts] = last
    return own


def _report(living: asyncio.Task[None]) -> None:
    """It ends by itself only by a fault of ours."""
    if not living.cancelled() and living.exception():
        log.critical("Catching up has ended.", exc_info=living.exception())
