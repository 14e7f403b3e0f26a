"""Allotment of sockets: none without the log, and for all daemons of an app never more than Slack allows.

A daemon that cannot record events closes its sockets, so that Slack sends the events to other daemons.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from daemon.engine.clock import Clock
from daemon.slack.app_share import MOST_SOCKETS, AppShare

LOG_PATIENCE = 2.0
"""Seconds without the log after which sockets are closed."""

LOOK = 0.25
"""Seconds between looks at the log."""

ASK_AGAIN = 5.0
"""Seconds between requests for sockets that were not free."""

MEMORY = 60.0
"""Seconds for which sockets of a daemon that has ended may still count in Slack."""

log = logging.getLogger(__name__)


class SocketAllotment:
    """Sockets that this daemon may have open now. `wanted` is the number that it would like to have."""

    def __init__(self, share: AppShare, clock: Clock, wanted: int) -> None:
        self._share = share
        self._clock = clock
        self._wanted = wanted
        self._spare = 0
        """Sockets beside those allotted, for replacements before the old ones close."""
        self._asking = asyncio.Lock()
        self._began = self._asked_at = clock.steady()
        self._changed = asyncio.Event()
        self._elsewhere = deque[tuple[float, int]]()
        """Numbers of sockets of other daemons in the last minute, with their times."""
        self.allotted = wanted
        self.is_log_away = False

    @property
    def is_shared(self) -> bool:
        return self._share.is_shared

    @property
    def is_empty(self) -> bool:
        """True if other daemons have all sockets of the app."""
        return self.allotted == 0 and self._wanted > 0

    @property
    def elsewhere(self) -> int:
        """Most sockets that other daemons of the log had in the last minute."""
        return max((number for _, number in self._elsewhere), default=self._share.sockets_elsewhere)

    @property
    def seconds_unsure(self) -> float:
        """Seconds until this daemon knows of all sockets that Slack may still count."""
        return self._began + MEMORY - self._clock.steady() if self.is_shared else 0.0

    @property
    def owner_advice(self) -> Sequence[str]:
        if self.allotted >= self._wanted:
            return []
        return [f"{self._shortage()} It works all the same; the others receive its events."]

    def _shortage(self) -> str:
        return (
            f"Slack allows {MOST_SOCKETS} sockets for an app, and the other daemons have"
            f" {self._share.sockets_elsewhere}: this one gets {self.allotted} of {self._wanted}."
        )

    async def ask(self) -> None:
        """Reserve as many of the wanted sockets as are free."""
        async with self._asking:
            self._asked_at = self._clock.steady()
            before = self.allotted
            granted = await self._share.allot_sockets(self._wanted + self._spare)
            self.allotted = min(granted, self._wanted)
            self._report(before)
        self._tell()

    async def wait_for(self, number: int) -> None:
        """Wait until the socket `number`, from 0, may be opened."""
        while self.is_log_away or number >= self.allotted:
            await self._changed.wait()

    async def take_spare(self) -> bool:
        """Reserve a socket beside those allotted; False if none is free."""
        if self.is_log_away:
            return False
        async with self._asking:
            needed = self.allotted + self._spare + 1
            if await self._share.allot_sockets(needed) < needed:
                return False
            self._spare += 1
            return True

    async def give_spare_back(self) -> None:
        async with self._asking:
            self._spare -= 1
            await self._share.allot_sockets(self.allotted + self._spare)

    async def follow(self, close: Callable[[], Awaitable[None]]) -> None:
        """Call `close` whenever the log has been away for too long; ask again for sockets that were taken."""
        while True:
            await self._clock.sleep(LOOK)
            self._note_elsewhere()
            away = self._share.seconds_without_log
            if away >= LOG_PATIENCE and not self.is_log_away:
                log.warning("The log has been away for %.0f s: the sockets close until it is back.", away)
                self.is_log_away = True
                await close()
            elif away == 0.0 and self.is_log_away:
                log.warning("The log is back: the sockets open again.")
                await self.ask()
                self.is_log_away = False
                self._tell()
            elif away == 0.0 and self._must_ask_again():
                await self.ask()

    def _must_ask_again(self) -> bool:
        return self.allotted < self._wanted and self._clock.steady() - self._asked_at >= ASK_AGAIN

    def _note_elsewhere(self) -> None:
        now = self._clock.steady()
        self._elsewhere.append((now, self._share.sockets_elsewhere))
        while self._elsewhere[0][0] < now - MEMORY:
            self._elsewhere.popleft()

    def _report(self, before: int) -> None:
        if self.allotted < min(before, self._wanted):
            log.warning("%s It works all the same; the others receive its events.", self._shortage())
        elif self.allotted > before:
            log.warning("This daemon has %d sockets of Slack now.", self.allotted)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
