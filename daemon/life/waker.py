"""The waker on one machine: one task per busy thread, and a sweep each second.

Holds no state that the journal does not hold: a lost wake costs a second, never an event. The seam
for a waker over many machines is `wake` and `live`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from daemon.entry import Entry
from daemon.errors import Fenced, JournalDamaged, JournalError
from daemon.journal.journal import Journal
from daemon.life.due import is_due
from daemon.life.resting import rest
from daemon.life.suspects import Suspects
from daemon.ports import Clock

log = logging.getLogger(__name__)

SWEEP = 1.0


class AsyncioWaker:
    """Makes threads take their turns. `live` takes one turn of a thread and says whether there was one;
    `notice` is told what comes for a thread that takes a turn already; `suspects` says which threads have to
    wait, because the daemon may have died of them. `due` says which of those that wait may go on now; without
    it, those whose time has come."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        live: Callable[[str], Awaitable[bool]],
        notice: Callable[[str], None] = lambda _thread: None,
        suspects: Suspects | None = None,
        due: Callable[[Sequence[Entry]], Sequence[Entry]] | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._live = live
        self._notice = notice
        self._suspects = suspects
        self._due = due or self._timed
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._resting: dict[str, asyncio.Task[None]] = {}
        """Who comes back to a thread when its pause is over; a sweep would, too, a moment later."""
        self._lost: set[str] = set()
        self._closing = False

    def wake(self, thread: str) -> None:
        """Let this thread take its turns. Also takes back a thread that was lost to another daemon."""
        self._lost.discard(thread)
        if thread in self._busy:
            self._notice(thread)
        elif not self._closing:
            self._busy[thread] = asyncio.create_task(self._drive(thread), name=f"turns of {thread}")

    @property
    def busy(self) -> bool:
        """Is any thread taking a turn now?"""
        return bool(self._busy)

    def lost(self, thread: str) -> bool:
        """Has another daemon taken over this thread?"""
        return thread in self._lost

    async def run(self) -> None:
        """Sweep, each second, for ever."""
        while True:
            self.sweep()
            await self._clock.sleep(SWEEP)
            await self.lived(SWEEP)

    async def lived(self, seconds: float) -> None:
        """The daemon has gone on living for so long."""
        if self._suspects:
            try:
                await self._suspects.lived(seconds)
            except JournalError as error:
                log.debug("How long it has lived is not known to the journal. %s", error)

    def sweep(self) -> None:
        """Wake every thread that has something to do. A fenced daemon does not sweep what it just lost."""
        due = [watch.thread for watch in self._due(self._watches())]
        for thread in dict.fromkeys((*due, *self._journal.waiting("perception", "turn-began"))):
            if thread not in self._lost:
                self.wake(thread)

    def _watches(self) -> Sequence[Entry]:
        """All that wait, but in threads that are lost. A damaged one stands in no other thread's way."""
        try:
            watches = self._journal.open("watch")
        except JournalDamaged:
            watches = []
            for thread in self._journal.waiting("watch"):
                with suppress(JournalDamaged):
                    watches += self._journal.open("watch", thread=thread)
        return [watch for watch in watches if watch.thread not in self._lost]

    def _timed(self, watches: Sequence[Entry]) -> Sequence[Entry]:
        now = self._clock.now()
        return [watch for watch in watches if is_due(self._journal, watch, now)]

    async def drain(self, seconds: float) -> None:
        """No new turns; running ones may finish within this time, or stay half for the next start."""
        self._closing = True
        for coming_back in self._resting.values():
            coming_back.cancel()
        if self._suspects:
            await self._suspects.go_to_sleep()
        if not self._busy:
            return
        _, late = await asyncio.wait(self._busy.values(), timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _drive(self, thread: str) -> None:
        try:
            while self._may_turn(thread) and await self._live(thread):
                pass
        except Fenced:
            self._lost.add(thread)
            log.warning(
                "Another daemon has taken over %s; leaving it alone until something new comes.", thread
            )
        except JournalError as error:
            level = logging.WARNING if self._journal.well else logging.INFO  # the journal said why
            log.log(level, "The turns of %s wait for the journal. %s", thread, error)
        except Exception:  # the task boundary: the next sweep tries this thread again
            log.exception("The turns of %s stopped; they are tried again in a moment.", thread)
        finally:
            del self._busy[thread]

    def _may_turn(self, thread: str) -> bool:
        """Is it to take a turn now? After a failed attempt it rests; it may have to wait for others, too."""
        if self._closing:
            return False
        if seconds := rest(self._journal, thread, self._clock.now()):
            if thread not in self._resting:
                coming_back = asyncio.create_task(self._come_back(thread, seconds), name=f"rest of {thread}")
                self._resting[thread] = coming_back
            return False
        return self._suspects is None or self._suspects.may_turn(thread)

    async def _come_back(self, thread: str, seconds: float) -> None:
        try:
            await self._clock.sleep(seconds)
        finally:
            del self._resting[thread]
        if thread not in self._lost:
            self.wake(thread)
