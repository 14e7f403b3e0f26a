"""Catch-up: what was said while no event came is read out of Slack's archive, into the same inbox.

Woken by the surface at the start, and whenever it hears again after it may have missed something. Up to
when everything has been read is an entry, in Slack's time, that nothing else writes: an event that came live
says nothing about the one before it that did not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

from slack_sdk.errors import SlackApiError

from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.kinds import CaughtUp, Opened, Said
from daemon.ports import Clock
from daemon.slack.archive import Archive, Conversation, at, live_threads
from daemon.slack.inbox import Inbox
from daemon.slack.message import SPOKEN, Message, said
from daemon.slack.payload import Malformed
from daemon.slack.place import moment
from daemon.slack.refusals import LIMITED, OUT_OF_REACH, error_of, why
from daemon.slack.web import Item, pause

SKEW = 300.0
"""Seconds that are read twice, since no two clocks agree. What is found again in them is known."""
DORMANT = 30 * 86_400.0
"""Seconds without a word, after which a thread of the soul's is not asked for replies any more."""
CLOSED = ("channel_not_found", "missing_scope", "not_in_channel")
"""Slack's words for a conversation that cannot be read until somebody changes something."""

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class CatchUp:
    """Reads what was missed, one run at a time, until its context ends. `tell` lets a thread take its turn.

    Only a run that came to its end moves the watermark; one that fails is tried again. A conversation that
    Slack refuses keeps a watermark of its own until it can be read. Not found are replies in threads that
    are neither the soul's of the last thirty days nor begun by the last 200 messages of a conversation.
    """

    archive: Archive
    inbox: Inbox
    journal: Journal
    team: str
    tell: Callable[[str], None]
    clock: Clock
    max_age: float
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: bool = False

    async def __aenter__(self) -> CatchUp:
        """Raises JournalError. At the first start on a journal there is nothing to catch up with."""
        mark = watermark(self.journal, self.team, self.archive.now())
        if mark is None:
            mark = CaughtUp(until=self.archive.now())
            await move(self.journal, self.team, mark)
        self._mark = mark
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
    def running(self) -> bool:
        """Is it reading, or about to?"""
        return self._reading or self._wanted.is_set()

    @property
    def until(self) -> float:
        """Up to when everything has been read, in Unix seconds."""
        return self._mark.until

    def wake(self) -> None:
        """Catch up now, or once more when it is doing so."""
        self._wanted.set()

    async def _live(self) -> None:
        while True:
            await self._wanted.wait()
            self._reading = True
            self._wanted.clear()
            await self._complete()
            self._reading = False

    async def _complete(self) -> None:
        """Run until everything has been read that Slack lets us read."""
        for attempt in count(1):
            await self.clock.sleep(pause(attempt))
            try:
                if await self._run():
                    return
            except (SlackApiError, JournalError, *OUT_OF_REACH) as error:
                if attempt == 1:
                    log.warning("Catching up stopped (%s); it is tried again.", why(error))

    async def _run(self) -> bool:
        """Read every conversation, lively ones first. False when Slack stumbled over one: it stays behind."""
        conversations, behind, whole = await self.archive.conversations(), dict[str, float](), True
        begun = self.archive.now()
        mark = watermark(self.journal, self.team, begun) or self._mark
        own = self._own(begun)
        for one in sorted(conversations, key=lambda one: one.id not in own):
            since = mark.behind.get(one.id, mark.until)
            try:
                await self._read(one, since, begun - self.max_age, own.get(one.id, set()))
            except SlackApiError as refusal:
                word = error_of(refusal)
                if word in ("", LIMITED):
                    raise
                if one.id not in mark.behind:
                    log.warning("Slack does not show what was said in %s (%s); left for later.", one.id, word)
                behind[one.id], whole = since, whole and word in CLOSED
        await self._move(CaughtUp(until=max(mark.until, begun - SKEW), behind=behind))
        return whole

    def _own(self, now: float) -> dict[str, set[str]]:
        """The roots of the threads that the soul takes part in and that are not dormant, by channel."""
        own: dict[str, set[str]] = {}
        for entry in self.journal.active_since(Opened, (Said,), now - DORMANT):
            place = entry.event
            if place.team == self.team and place.ts:
                own.setdefault(place.channel, set()).add(place.ts)
        return own

    async def _read(self, one: Conversation, since: float, answered: float, own: set[str]) -> None:
        """What was said in a conversation since then: first what has no replies, then the newest threads."""
        items = await self.archive.history(one.id, since)
        threads = live_threads(items, since) | (own - {str(item.get("ts")) for item in items})
        alone = [item for item in items if item.get("thread_ts") not in threads]
        await self._take(one, alone, since, answered)
        for root in sorted(threads, key=moment, reverse=True):
            await self._take(one, await self.archive.replies(one.id, root, since), since, answered)

    async def _take(self, one: Conversation, items: Iterable[Item], since: float, answered: float) -> None:
        """Give the inbox what was said since then; before `answered` it is too old for an answer.

        Threads wake when all of it is there, so that one answer takes what was said in one breath.
        """
        woken: set[str] = set()
        for item in sorted(items, key=at):
            message = _message(item, one) if at(item) >= since else None
            if message:
                woken |= await self.inbox.recover(message, late=at(item) < answered)
                await self.clock.sleep(0)  # an event that comes now waits for no more than one of these
        for thread in woken:
            self.tell(thread)

    async def _move(self, mark: CaughtUp) -> None:
        if mark != self._mark:
            await move(self.journal, self.team, mark)
            self._mark = mark


def watermark(journal: Journal, team: str, now: float) -> CaughtUp | None:
    """The last watermark of a workspace that can be believed `now`; None before the soul has ever been there.

    One of the future cannot: it would be there for as long as this machine's clock was ahead. Where none
    can be, what was said since the soul was called for the first time counts as unread.
    """
    newest = journal.latest(_home(team), CaughtUp)
    last = newest
    while last:
        mark = last.event
        if max(mark.until, *mark.behind.values(), 0.0) <= now:
            return mark
        last = journal.latest(last.thread, CaughtUp, before=last.seq)
    return CaughtUp(until=_first_call(journal, team, now)) if newest else None


async def move(journal: Journal, team: str, mark: CaughtUp) -> None:
    """From now on this is the watermark."""
    last = journal.latest(_home(team), CaughtUp)
    key = f"caught-up:{team}:{last.seq if last else 'first'}"
    await journal.append(_home(team), mark, key=key, author="core")


def _first_call(journal: Journal, team: str, now: float) -> float:
    """When the soul was first called, as Slack dates it; now, if it never was."""
    places = [entry.event for entry in journal.kind(Opened)]
    calls = [float(place.called_by) for place in places if place.team == team and place.called_by]
    return min([now, *calls])


def _home(team: str) -> str:
    return f"slack:{team}"


def _message(item: Item, one: Conversation) -> Message | None:
    """The message that this item is, if someone said it."""
    try:
        return said(item, channel=one.id, kind=one.kind) if item.get("subtype") in SPOKEN else None
    except Malformed as fault:
        log.warning("Slack keeps a message in %s that cannot be read: %s.", one.id, fault)
        return None


def _report(living: asyncio.Task[None]) -> None:
    """It ends by itself only by a fault of ours."""
    if not living.cancelled() and living.exception():
        log.critical("Catching up has ended.", exc_info=living.exception())
