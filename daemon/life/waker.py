"""The waker on one machine: one task per busy thread, and a sweep each second.

Holds no state that the journal does not hold: a lost wake costs a second, never an event. The seam
for a waker over many machines is `wake` and `live`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from daemon.errors import Fenced, JournalDamaged, JournalError
from daemon.journal.journal import Journal
from daemon.life.due import is_due
from daemon.ports import Clock

log = logging.getLogger(__name__)

SWEEP = 1.0


class AsyncioWaker:
    """Makes threads take their turns. `live` takes one turn of a thread and says whether there was one;
    `notice` is told what comes for a thread that takes a turn already."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        live: Callable[[str], Awaitable[bool]],
        notice: Callable[[str], None] = lambda _thread: None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._live = live
        self._notice = notice
        self._busy: dict[str, asyncio.Task[None]] = {}
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

    def sweep(self) -> None:
        """Wake every thread that has something to do. A fenced daemon does not sweep what it just lost."""
        for thread in dict.fromkeys((*self._due(), *self._journal.waiting("perception", "turn-began"))):
            if thread not in self._lost:
                self.wake(thread)

    def _due(self) -> Iterator[str]:
        """The threads with a watch whose time has come. A damaged one stands in no other thread's way."""
        now = self._clock.now()
        for thread in self._journal.waiting("watch"):
            with suppress(JournalDamaged):
                watches = self._journal.open("watch", thread=thread)
                if any(is_due(self._journal, watch, now) for watch in watches):
                    yield thread

    async def drain(self, seconds: float) -> None:
        """No new turns; running ones may finish within this time, or stay half for the next start."""
        self._closing = True
        if not self._busy:
            return
        _, late = await asyncio.wait(self._busy.values(), timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _drive(self, thread: str) -> None:
        try:
            while not self._closing and await self._live(thread):
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
