"""Catch-up: what was said while no event came is read out of Slack's archive, into the same inbox.

Woken by the surface at the start, and whenever it hears again after it may have missed something.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from slack_sdk.errors import SlackApiError

from daemon.engine.exceptions import JournalError
from daemon.engine.reading import JournalReader
from daemon.kinds import BackfillCompleted, ConversationOpened, PersonMessage, moment_of
from daemon.slack.archive import ArchivedConversation, ConversationArchive
from daemon.slack.inbox import Inbox
from daemon.slack.missed import CLOSED, Backfill, BackfillCounts
from daemon.slack.own_messages import OwnMessageLookup
from daemon.slack.own_workspace import SlackWorkspace
from daemon.slack.place import record_workspace_note
from daemon.slack.refusals import OUT_OF_REACH, describe_failure, slack_error
from daemon.slack.watermarks import Watermarks, read_watermarks
from daemon.slack.web import retry_pause

DORMANT = 30 * 86_400.0
"""Seconds without a word, after which a thread of the soul's is not asked for replies any more."""
MOST_GONE, MOST_UNKNOWN = 3, 10
"""Channels that are gone, and channels that are not known, of which it is asked whether they are the same."""
log = logging.getLogger(__name__)


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
