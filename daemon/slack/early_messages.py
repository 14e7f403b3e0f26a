"""Messages that arrived before the call of their thread, or before the message that they change.

Slack does not keep the order, and the call may arrive at another daemon: then its entry is the sign.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from daemon.engine.clock import Clock
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.engine.journal.journal import Journal
from daemon.kinds import ConversationOpened
from daemon.slack.incoming import SlackMessage

MOST_EARLY = 200
"""Most replies and changes kept until their call arrives."""

RETRY = 1.0
"""Seconds before a message is judged again that could not be recorded."""

log = logging.getLogger(__name__)


class EarlyMessages:
    def __init__(self) -> None:
        self._kept: deque[tuple[str, SlackMessage]] = deque(maxlen=MOST_EARLY)

    def add(self, thread: str, message: SlackMessage) -> None:
        """Keep a message of the thread with this key."""
        self._kept.append((thread, message))

    def remove(self, thread: str, message: SlackMessage) -> None:
        with suppress(ValueError):
            self._kept.remove((thread, message))

    def of_thread(self, thread: str) -> list[SlackMessage]:
        return [message for key, message in self._kept if key == thread]

    async def follow(self, journal: Journal, clock: Clock, judge: Callable[[str], Awaitable[None]]) -> None:
        """Call `judge` with the key of each thread that is opened while messages of it are kept."""
        upto = journal.last_seq_of_all()
        while True:
            change = journal.next_change
            if journal.change_counter(ConversationOpened) > upto:
                for opened in journal.entries_of_kind(ConversationOpened, since=upto):
                    upto = opened.seq
                    await self._judge(opened.key, clock, judge)
            await change.wait()

    async def _judge(self, thread: str, clock: Clock, judge: Callable[[str], Awaitable[None]]) -> None:
        while self.of_thread(thread):
            try:
                await judge(thread)
                return
            except JournalDamaged as damage:  # damage blocks only this conversation
                log.error("Skipped early messages: %s", damage)
                return
            except JournalError:
                await clock.sleep(RETRY)
