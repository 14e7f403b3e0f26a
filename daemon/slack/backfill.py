"""Backfill: recording of messages that arrived while no events did.

A channel's history names the latest reply of each message, so only threads with new replies are read.

Only backfill writes watermarks, in Slack's time: a live event does not prove that earlier ones arrived.
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
from secrets import token_hex
from typing import Any

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
    BackfillRequested,
    ConversationOpened,
    PersonMessage,
    moment_of,
)
from daemon.slack.app_share import CATCH_UP
from daemon.slack.archive import ArchivedConversation, ConversationArchive, active_threads, message_if_said
from daemon.slack.directory import workspace_thread
from daemon.slack.earlier_messages import OwnMessageLookup
from daemon.slack.inbox import Inbox
from daemon.slack.places import SlackWorkspace, record_workspace_note
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

MOST_UNSAVED = 40
"""Most channels whose watermarks are not written yet."""


@dataclass(kw_only=True)
class Watermarks:
    """Times up to which the channels and threads of a workspace are read."""

    journal: Journal
    team: str
    whole: BackfillCompleted
    _channels: dict[str, float] = field(default_factory=dict)
    _threads: dict[tuple[str, str], float] = field(default_factory=dict)
    _unwritten: dict[str, float] = field(default_factory=dict)

    def unread_since(self, channel: str) -> float:
        """Return the time from which messages of this channel may be missing."""
        everywhere = self.whole.behind.get(channel, self.whole.until)
        return max(everywhere, self._channels.get(channel, 0.0))

    def thread_read_until(self, channel: str, root: str) -> float | None:
        """Return the time of the last message read in this thread; None if unread."""
        return self._threads.get((channel, root))

    async def mark_thread_read(self, channel: str, root: str, latest: float) -> None:
        """Record that this thread is complete up to `latest`. Raises JournalError."""
        await self._record(BackfillProgress(channels=self._unwritten, threads={channel: {root: latest}}))
        self._threads[channel, root] = latest

    async def mark_channel_read(self, channel: str, until: float) -> None:
        """Note that this channel and its threads are complete up to `until`.

        Notes are written in batches: after a kill, a page of each channel is read again. Raises JournalError.
        """
        self._channels[channel] = self._unwritten[channel] = until
        if len(self._unwritten) >= MOST_UNSAVED:
            await self.save()

    async def save(self) -> None:
        if self._unwritten:
            await self._record(BackfillProgress(channels=self._unwritten))

    async def mark_all_read(self, until: float, behind: Mapping[str, float]) -> None:
        """Record that all channels are read up to `until`, or up to their time in `behind`. Raises
        JournalError.
        """
        mark = BackfillCompleted(until=max(self.whole.until, until), behind=behind)
        if mark != self.whole:
            await record_workspace_note(self.journal, self.team, mark)
            self.whole = mark
        self._channels.clear()
        self._threads.clear()
        self._unwritten = {}

    async def _record(self, progress: BackfillProgress) -> None:
        await record_workspace_note(self.journal, self.team, progress)
        self._unwritten = {}


def read_watermarks(journal: Journal, team: str, now: float) -> Watermarks | None:
    """Return the watermarks of a workspace; None before the first start.

    A mark later than `now` came from a wrong clock. Without a valid mark, reading starts at the soul's first
    call.
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
    for entry in journal.latest_first(workspace_thread(team), BackfillCompleted):
        mark = entry.event
        if max(mark.until, *mark.behind.values(), 0.0) <= now:
            return mark
    if not journal.last_seq(workspace_thread(team), BackfillCompleted):
        return None
    return BackfillCompleted(until=_first_call(journal, team, now))


def _first_call(journal: Journal, team: str, now: float) -> float:
    first = now
    for entry in journal.entries_of_kind(ConversationOpened):
        if entry.event.team == team and entry.event.called_by:
            first = min(first, float(entry.event.called_by))
    return first


MOST = 40
"""Threads read, in about a minute, before new gaps are checked for."""

CLOSED = ("channel_not_found", "missing_scope", "not_in_channel")
"""Slack errors of a conversation that stays unreadable until somebody acts."""

PROGRESS_INTERVAL = 300.0
"""Seconds between log lines about progress."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillCounts:
    """Numbers of conversations and threads left to read, and of threads read."""

    conversations: int = 0
    threads: int = 0
    read: int = 0

    def __str__(self) -> str:
        left = f"{self.threads:,} threads and {self.conversations:,} conversations"
        return f"{self.read:,} threads are read, {left} are left."


@dataclass(slots=True, kw_only=True, eq=False)
class ChannelBacklog:
    conversation: ArchivedConversation
    since: float
    uncovered: list[str]
    """Roots of the soul's threads, oldest first, that no history page has covered."""
    has_history_page: bool = False
    threads: set[str] = field(default_factory=set)
    refused: bool = False

    @property
    def id(self) -> str:
        return self.conversation.id

    @property
    def is_done(self) -> bool:
        return self.has_history_page and not (self.uncovered or self.threads or self.refused)


@dataclass(kw_only=True)
class Backfill:
    """One pass of backfill, which can be resumed.

    `own` is the result of `active_own_threads`. Conversations that Slack refuses to show are skipped.
    """

    archive: ConversationArchive
    inbox: Inbox
    own_messages: OwnMessageLookup
    clock: Clock
    wake_thread: Callable[[str], None]
    max_age: float
    marks: Watermarks
    begun: float
    own: Mapping[str, Mapping[str, float]]
    conversations: Sequence[ArchivedConversation]

    def __post_init__(self) -> None:
        self._new = deque[ChannelBacklog]()
        self._older: list[ChannelBacklog] = []
        self._threads: list[tuple[float, str, str, ChannelBacklog]] = []
        """Heap of (negative time of the last message, channel, root, backlog)."""
        self._to_retry: list[ArchivedConversation] = []
        self._behind: dict[str, float] = {}
        self._read = 0
        self._logged_at = self.clock.steady()
        self._ranks = {channel: number for number, channel in enumerate(self.own)}
        self._add(sorted(self.conversations, key=self._is_own, reverse=True))

    def _is_own(self, conversation: ArchivedConversation) -> bool:
        return conversation.id in self.own

    def _rank(self, backlog: ChannelBacklog) -> int:
        return self._ranks[backlog.id]

    @property
    def progress(self) -> BackfillCounts:
        uncovered = sum(len(backlog.uncovered) for backlog in self._older)
        return BackfillCounts(
            conversations=len(self._new), threads=len(self._threads) + uncovered, read=self._read
        )

    async def read(self, anew: Callable[[], bool]) -> bool:
        """Read the unread conversations; False if Slack failed for some, or if `anew` asks for a new pass.

        Raises SlackApiError, OUT_OF_REACH and JournalError.
        """
        while self._new:
            await self._skipping_refused(self._new[0], self._read_conversation(self._new[0]))
            self._new.popleft()
        most = self._read + MOST
        while self._threads or self._older:
            if self._read >= most and anew():
                return False
            if self._threads:
                _, _, root, backlog = self._threads[0]
                await self._skipping_refused(backlog, self._read_thread(backlog, root))
                heappop(self._threads)
            else:
                backlog = min(self._older, key=self._rank)
                await self._skipping_refused(backlog, self._read_older(backlog))
        await self.marks.mark_all_read(self.begun - SKEW, self._behind)
        again, self._to_retry = self._to_retry, []
        self._add(again)
        return not again

    def _add(self, conversations: Iterable[ArchivedConversation]) -> None:
        for one in conversations:
            own = sorted(self.own.get(one.id, ()), key=moment_of)
            self._new.append(
                ChannelBacklog(conversation=one, since=self.marks.unread_since(one.id), uncovered=own)
            )

    async def _skipping_refused(
        self, backlog: ChannelBacklog, reading: Coroutine[object, object, None]
    ) -> None:
        try:
            await reading
        except SlackApiError as refusal:
            code = slack_error(refusal)
            if code in ("", LIMITED):
                raise
            self._skip(backlog, code)
        self._log_progress()
        if backlog.is_done:
            self._behind.pop(backlog.id, None)
            await self.marks.mark_channel_read(backlog.id, self.begun - SKEW)

    def _log_progress(self) -> None:
        if self.clock.steady() - self._logged_at >= PROGRESS_INTERVAL:
            self._logged_at = self.clock.steady()
            log.warning("Backfill is still running: %s", self.progress)

    def _skip(self, backlog: ChannelBacklog, code: str) -> None:
        backlog.refused = True
        if backlog in self._older:
            self._older.remove(backlog)
        self._behind[backlog.id] = backlog.since
        if backlog.id not in self.marks.whole.behind:
            log.warning(
                "Slack refused to show the messages in %s (%s); backfill leaves them for later.",
                backlog.id,
                code,
            )
        if code not in CLOSED:
            self._to_retry.append(backlog.conversation)

    async def _read_conversation(self, backlog: ChannelBacklog) -> None:
        items = await self.archive.read_history(backlog.id, backlog.since)
        live = active_threads(items, backlog.since)
        await self._hand_to_inbox(backlog, [item for item in items if item.get("thread_ts") not in live])
        self._mark_threads_shown(backlog, items, live)
        backlog.has_history_page = True
        if backlog.uncovered and backlog not in self._older:
            self._older.append(backlog)

    async def _read_older(self, backlog: ChannelBacklog) -> None:
        newest = backlog.uncovered[-1]
        items = await self.archive.read_older(backlog.id, newest)
        self._mark_threads_shown(backlog, items, active_threads(items, backlog.since))
        if newest in backlog.uncovered:
            backlog.uncovered.remove(newest)
            self._add_thread(backlog, newest)
        if not backlog.uncovered:
            self._older.remove(backlog)

    def _mark_threads_shown(
        self, backlog: ChannelBacklog, items: Sequence[Item], live: Mapping[str, float]
    ) -> None:
        for root, latest in live.items():
            self._add_thread(backlog, root, latest)
        shown = {str(item.get("ts")) for item in items}
        oldest = min(map(time_of, items), default=inf)
        uncovered: list[str] = []
        for root in backlog.uncovered:
            if root in live:
                continue
            if float(root) < oldest:
                uncovered.append(root)
            elif root not in shown:  # the history lacks the root, so its replies are unknown
                self._add_thread(backlog, root)
        backlog.uncovered = uncovered

    def _add_thread(self, backlog: ChannelBacklog, root: str, latest: float | None = None) -> None:
        read = self.marks.thread_read_until(backlog.id, root)
        if read is not None and latest is not None and latest <= read:
            return
        if latest is None:
            latest = self.own[backlog.id][root]
        if root not in backlog.threads:
            backlog.threads.add(root)
            heappush(self._threads, (-latest, backlog.id, root, backlog))

    async def _read_thread(self, backlog: ChannelBacklog, root: str) -> None:
        if backlog.refused:
            return
        channel = backlog.id
        since = max(backlog.since, (self.marks.thread_read_until(channel, root) or 0.0) - SKEW)
        items = await self.archive.read_replies(channel, root, since)
        own: Sequence[Item] = ()
        with suppress(JournalDamaged):  # damage blocks only this conversation
            own = self.own_messages.unknown_messages(channel, root, items)
        await self._hand_to_inbox(backlog, items, own, self.own_messages.answered_messages(own, items))
        await self.marks.mark_thread_read(channel, root, max(map(time_of, items), default=since))
        backlog.threads.discard(root)
        self._read += 1

    async def _hand_to_inbox(
        self,
        backlog: ChannelBacklog,
        items: Iterable[Item],
        own: Sequence[Item] = (),
        answered: Collection[str] = (),
    ) -> None:
        """Give the inbox the messages since `left.since`; messages too old or in `answered` get no answer.

        Messages in `own` are recorded as the soul's. Threads wake last, to answer everything in one turn.
        """
        too_old = self.archive.now() - self.max_age
        woken: set[str] = set()
        for item in sorted(items, key=time_of):
            if time_of(item) < backlog.since:
                continue
            message = message_if_said(item, backlog.id, backlog.conversation.kind)
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
            except JournalDamaged as damage:  # damage blocks only this conversation
                log.error("Skipped a message in %s: %s", backlog.id, damage)
            await self.clock.sleep(0)  # lets live events in
        for thread in woken:
            self.wake_thread(thread)


SETTLING, SETTLING_PAUSE = 60.0, 8.0
"""Seconds after a death in which Slack may send events to the dead daemon, and the longest between passes."""

DORMANT = 30 * 86_400.0
"""Seconds without messages after which a thread of the soul is not read."""

MOST_GONE, MOST_UNKNOWN = 3, 10
"""Most vanished, and most unknown, channels that are compared to find a changed id."""


@dataclass(kw_only=True)
class BackfillTask:
    """Background task that runs backfill on demand.

    Of several daemons of the app, one runs passes; the others ask it by entries.

    Only a completed pass moves the watermark; a failed pass is resumed. Backfill misses replies in threads
    older than a conversation's last 200 messages, unless the soul took part in the last 30 days.
    """

    workspace: SlackWorkspace
    archive: ConversationArchive
    inbox: Inbox
    max_age: float
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _settles_at: float = 0.0
    """Time, by the steady clock, from which Slack sends no event to a dead daemon any more."""
    _reading: bool = False
    _pass: Backfill | None = None
    _compared: set[tuple[str, str]] = field(default_factory=set)
    _anew: bool = False
    """True if more may be missing than when the pass began."""
    _was_away: bool = False
    """True if messages from a time without connection are not all read."""

    async def __aenter__(self) -> BackfillTask:
        """Read the watermarks, and start unless daemons share the app; a new journal needs no backfill.

        Raises JournalError.
        """
        found = read_watermarks(self.workspace.journal, self.workspace.me.team, self.archive.now())
        self._was_away = found is not None
        if found is None:
            mark = BackfillCompleted(until=self.archive.now())
            await record_workspace_note(self.workspace.journal, self.workspace.me.team, mark)
            found = Watermarks(journal=self.workspace.journal, team=self.workspace.me.team, whole=mark)
        self._marks = found
        if not self.workspace.share.is_shared:
            self.begin()
        return self

    def begin(self) -> None:
        """Start the task, which reads once it has the role."""
        if not self._tasks:
            self._start(self._run_forever(), "catch-up")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_report)
        self._tasks.append(task)

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop reading; the next start goes on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_running(self) -> bool:
        """True if a pass runs or is about to."""
        return self._reading or self._wanted.is_set()

    @property
    def read_until(self) -> float:
        """Time up to which everything is read, in Unix seconds."""
        share = self.workspace.share
        if share.is_shared and not share.holds(CATCH_UP):
            found = watermark(self.workspace.journal, self.workspace.me.team, self.archive.now())
            return found.until if found else 0.0
        return self._marks.whole.until

    @property
    def progress(self) -> BackfillCounts:
        if self._pass is None:
            return BackfillCounts()
        return self._pass.progress

    @property
    def is_reading_missed(self) -> bool:
        """True while messages from a time without connection are read; never at a journal's first start."""
        return self.is_running and self._was_away

    def wake(self, *, missed: bool = True) -> None:
        """Start a pass, after the running one if there is one. `missed`: no connection was open."""
        self._was_away |= missed
        self._wanted.set()

    async def request(self, *, missed: bool = False, died: bool = False) -> None:
        """Start a pass here, or ask the daemon that has the role. `died`: a daemon with connections counts
        as dead. Raises JournalError.
        """
        if self.workspace.share.holds(CATCH_UP):
            self._take_request(BackfillRequested(missed=missed, died=died))
            return
        team = self.workspace.me.team
        await self.workspace.journal.append(
            workspace_thread(team),
            BackfillRequested(missed=missed, died=died),
            key=f"{BackfillRequested.kind}:{team}:{token_hex(8)}",
            author="core",
        )

    def _take_request(self, asked: BackfillRequested) -> None:
        if asked.died:
            self._settles_at = self.workspace.web.clock.steady() + SETTLING
        self.wake(missed=asked.missed)

    async def _run_forever(self) -> None:
        if self.workspace.share.is_shared:
            await self._take_role()
        while True:
            await self._wait_until_wanted()
            self._reading = True
            await self._run_until_done()
            self._reading = False
            self._was_away &= self._wanted.is_set()

    async def _wait_until_wanted(self) -> None:
        """Wait for a request; while Slack may still send events to a dead daemon, at most SETTLING_PAUSE."""
        web = self.workspace.web
        if web.clock.steady() < self._settles_at:
            await web.wait_until(self._wanted, SETTLING_PAUSE)
            self._wanted.set()
        await self._wanted.wait()

    async def _take_role(self) -> None:
        """Wait for the role, and hand requests to its holder meanwhile. A new holder reads at once, since the
        last one may not have come to it.
        """
        clock = self.workspace.web.clock
        holding = asyncio.create_task(self.workspace.share.hold(CATCH_UP))
        try:
            while not holding.done():
                wanted = asyncio.create_task(self._wanted.wait())
                await asyncio.wait((holding, wanted), return_when=asyncio.FIRST_COMPLETED)
                wanted.cancel()
                if self._wanted.is_set() and not holding.done():
                    await self._hand_over()
            holding.result()
        finally:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        self._start(self._follow_requests(), "catch-up for others")
        self.wake(missed=False)
        since = clock.now() - SETTLING
        for entry in self.workspace.journal.entries_of_kind(BackfillRequested, at=since):
            self._take_request(entry.event)

    async def _hand_over(self) -> None:
        """Ask the daemon that has the role for what is wanted here."""
        missed, self._was_away = self._was_away, False
        self._wanted.clear()
        try:
            await self.request(missed=missed)
        except JournalError:
            self.wake(missed=missed)
            await self.workspace.web.clock.sleep(SETTLING_PAUSE)

    async def _follow_requests(self) -> None:
        journal = self.workspace.journal
        upto = journal.last_seq_of_all()
        while True:
            change = journal.next_change
            if journal.change_counter(BackfillRequested) > upto:
                for entry in journal.entries_of_kind(BackfillRequested, since=upto):
                    upto = entry.seq
                    self._take_request(entry.event)
            await change.wait()

    async def _run_until_done(self) -> None:
        for attempt in count(1):
            await self.workspace.web.clock.sleep(retry_pause(attempt))
            try:
                if await self._run_pass():
                    return
            except (SlackApiError, JournalError, *OUT_OF_REACH) as error:
                if attempt == 1:
                    log.warning("Backfill stopped (%s); it resumes after a pause.", describe_failure(error))

    async def _run_pass(self) -> bool:
        if self._wanted.is_set():
            self._wanted.clear()
            self._anew = True
        if self._pass is None or self._anew:
            self._pass = await self._new_pass()
            self._anew = False
        if not await self._pass.read(self._wanted.is_set):
            return False
        self._pass = None
        return True

    async def _new_pass(self) -> Backfill:
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
            wake_thread=self.workspace.wake,
            max_age=self.max_age,
            marks=self._marks,
            begun=begun,
            own=own,
            conversations=conversations,
        )

    async def _find_moved(
        self, conversations: Sequence[ArchivedConversation], own: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Find channels whose id changed without an event.

        Two ids are one channel if a thread's root under the old id is also found under the new one. Each pair
        is compared once per process.
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
                if await self._has_message(new, root):
                    await ids.record_new_id(old, new)
                    await self.inbox.audiences.mark_changed(old, f"moved:{new}")
                    break

    async def _has_message(self, channel: str, ts: str) -> bool:
        try:
            items = await self.archive.read_older(channel, ts)
        except SlackApiError as refusal:
            if slack_error(refusal) in CLOSED:
                return False
            raise
        return ts in [item.get("ts") for item in items[:1]]


def active_own_threads(journal: JournalReader, team: str, since: float) -> dict[str, dict[str, float]]:
    """Return the soul's threads active since `since` as {channel: {root: time of the last message}}.

    The most recent channel comes first.
    """
    own: dict[str, dict[str, float]] = {}
    for entry, last in journal.recently_active(ConversationOpened, (PersonMessage,), since):
        place = entry.event
        if place.team == team and place.ts:
            own.setdefault(place.channel, {})[place.ts] = last
    return own


def _report(living: asyncio.Task[None]) -> None:
    if not living.cancelled() and living.exception():
        log.critical("Backfill failed; the next start resumes it.", exc_info=living.exception())
