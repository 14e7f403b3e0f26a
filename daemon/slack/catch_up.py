"""Catch-up: what was said while no event came is read out of Slack's archive, into the same inbox.

Woken by the surface at the start, and whenever it hears again after it may have missed something.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import count

from slack_sdk.errors import SlackApiError

from daemon.errors import JournalError
from daemon.journal.journal import Journal
from daemon.ports import Clock
from daemon.slack.archive import Archive, Conversation, Item, at, live_threads
from daemon.slack.inbox import Inbox
from daemon.slack.message import SPOKEN, Malformed, Message, said
from daemon.slack.place import moment, place
from daemon.slack.watermark import Watermark, move, watermark
from daemon.slack.web import LIMITED, OUT_OF_REACH, error_of, pause, why

SKEW = 300.0
"""Seconds that are read twice, since no two clocks agree. What is found again in them is known."""
DORMANT = 30 * 86_400.0
"""Seconds without a word, after which a thread of the soul's is not asked for replies any more."""
CLOSED = ("channel_not_found", "missing_scope", "not_in_channel")
"""Slack's words for a conversation that cannot be read until somebody changes something."""

log = logging.getLogger(__name__)


class CatchUp:
    """Reads what was missed, one run at a time, until its context ends. `wake` lets a thread take its turn.

    Only a run that came to its end moves the watermark; one that fails is tried again. A conversation that
    Slack refuses keeps a watermark of its own until it can be read. Not found are replies in threads that
    are neither the soul's of the last thirty days nor begun by the last 200 messages of a conversation.
    """

    def __init__(
        self,
        archive: Archive,
        inbox: Inbox,
        *,
        journal: Journal,
        team: str,
        wake: Callable[[str], None],
        clock: Clock,
        max_age: float,
    ) -> None:
        self._archive = archive
        self._inbox = inbox
        self._journal = journal
        self._team = team
        self._wake = wake
        self._clock = clock
        self._max_age = max_age
        self._wanted = asyncio.Event()
        self._reading = False

    async def __aenter__(self) -> CatchUp:
        """Raises JournalError. At the first start on a journal there is nothing to catch up with."""
        mark = watermark(self._journal, self._team, self._archive.now())
        if mark is None:
            mark = Watermark(until=self._archive.now())
            await move(self._journal, self._team, mark)
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
            await self._clock.sleep(pause(attempt))
            try:
                if await self._run():
                    return
            except (SlackApiError, JournalError, *OUT_OF_REACH) as error:
                if attempt == 1:
                    log.warning("Catching up stopped (%s); it is tried again.", why(error))

    async def _run(self) -> bool:
        """Read every conversation, lively ones first. False when Slack stumbled over one: it stays behind."""
        conversations, behind, whole = await self._archive.conversations(), dict[str, float](), True
        begun = self._archive.now()
        mark = watermark(self._journal, self._team, begun) or self._mark
        own = self._own(begun)
        for one in sorted(conversations, key=lambda one: one.id not in own):
            since = mark.of(one.id)
            try:
                await self._read(one, since, begun - self._max_age, own.get(one.id, set()))
            except SlackApiError as refusal:
                if (word := error_of(refusal)) in ("", LIMITED):
                    raise
                if one.id not in mark.behind:
                    log.warning("Slack does not show what was said in %s (%s); left for later.", one.id, word)
                behind[one.id], whole = since, whole and word in CLOSED
        await self._move(Watermark(until=max(mark.until, begun - SKEW), behind=behind))
        return whole

    def _own(self, now: float) -> dict[str, set[str]]:
        """The roots of the threads that the soul takes part in and that are not dormant, by channel."""
        own: dict[str, set[str]] = {}
        for entry in self._journal.conversations(now - DORMANT):
            where = place(entry)
            if where.team == self._team and where.root:
                own.setdefault(where.channel, set()).add(where.root)
        return own

    async def _read(self, one: Conversation, since: float, answered: float, own: set[str]) -> None:
        """What was said in a conversation since then: first what has no replies, then the newest threads."""
        items = await self._archive.history(one.id, since)
        threads = live_threads(items, since) | (own - {str(item.get("ts")) for item in items})
        alone = [item for item in items if item.get("thread_ts") not in threads]
        await self._take(one, alone, since, answered)
        for root in sorted(threads, key=moment, reverse=True):
            await self._take(one, await self._archive.replies(one.id, root, since), since, answered)

    async def _take(self, one: Conversation, items: Iterable[Item], since: float, answered: float) -> None:
        """Give the inbox what was said since then; before `answered` it is too old for an answer.

        Threads wake when all of it is there, so that one answer takes what was said in one breath.
        """
        woken: set[str] = set()
        for item in sorted(items, key=at):
            if at(item) >= since and (message := _message(item, one)):
                woken |= await self._inbox.recover(message, late=at(item) < answered)
                await self._clock.sleep(0)  # an event that comes now waits for no more than one of these
        for thread in woken:
            self._wake(thread)

    async def _move(self, mark: Watermark) -> None:
        if mark != self._mark:
            await move(self._journal, self._team, mark)
            self._mark = mark


def _message(item: Item, one: Conversation) -> Message | None:
    """The message that this item is, if someone said it."""
    try:
        return said(item, channel=one.id, kind=one.kind) if item.get("subtype") in SPOKEN else None
    except Malformed as fault:
        log.warning("Slack keeps a message in %s that cannot be read: %s.", one.id, fault)
        return None


def _report(living: asyncio.Task[None]) -> None:
    """It ends by itself only by a fault of ours."""
    if not living.cancelled() and (error := living.exception()):
        log.critical("Catching up has ended.", exc_info=error)
