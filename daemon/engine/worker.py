"""The worker: makes threads take their turns, one at a time in each and all beside each other.

It holds no state that the journal does not hold: a wake that is lost costs a second, never an entry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self

from daemon.engine.attempts import pause_left
from daemon.engine.exceptions import FencedError, JournalDamaged, JournalError
from daemon.engine.journal import Journal, JournalClock
from daemon.engine.program import Program
from daemon.engine.suspects import record_worker_start
from daemon.engine.turns import TurnRunner
from daemon.engine.waits import WaitScheduler

log = logging.getLogger(__name__)

SWEEP = 1.0
"""Seconds between two looks at all that waits."""
FEW = 5
"""How many of those that wait for something try again because one has reached it: each that succeeds wakes
as many more, so that not all of them try at once."""


class Worker:
    """Runs a program over a journal; an async context manager whose turns end before it does.

    `grace` is how many seconds running turns get when it is left; half ones are taken up at the next start.
    With `replays_always` each execution runs again from the top after each of its steps: for tests.
    """

    def __init__(
        self,
        journal: Journal,
        clock: JournalClock,
        program: Program,
        *,
        grace: float = 10.0,
        replays_always: bool = False,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._program = program
        self._grace = grace
        self._replays_always = replays_always
        self._waits = WaitScheduler(journal, clock, program.reminder, program.fits)
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._lost = set[str]()
        """Threads that another worker has taken over: left alone until something new comes for them."""
        self._closing = False
        self._changed = asyncio.Event()
        """Set when a task has ended, or its execution has gone to sleep."""

    async def __aenter__(self) -> Self:
        self._suspects = await record_worker_start(self._journal, self._clock, self._program.lives)
        self._turns = TurnRunner(
            self._journal,
            self._clock,
            self._program,
            life=self._suspects.life,
            succeeded=self.note_success,
            changed=self._changed.set,
            replays_always=self._replays_always,
        )
        self._sweeper = asyncio.create_task(self._sweep_for_ever(), name="sweep")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        await self._suspects.end_life()
        awake = [task for thread, task in self._busy.items() if not self.is_asleep(thread)]
        if awake:
            await asyncio.wait(awake, timeout=self._grace)
        late = [*self._busy.values()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    @property
    def is_busy(self) -> bool:
        """Is any thread at work, and not only waiting in the middle of a turn?"""
        return any(not self.is_asleep(thread) for thread in self._busy)

    @property
    def life(self) -> int:
        """The seq of the entry that this life began with."""
        return self._suspects.life

    def has_lost(self, thread: str) -> bool:
        """Has another worker taken over this thread?"""
        return thread in self._lost

    def wake(self, thread: str) -> None:
        """Something came for this thread: let it take its turns, or hear of it in the one that it takes."""
        self._lost.discard(thread)
        if thread in self._busy:
            self._notice(thread)
        else:
            self._start(thread)

    def note_success(self, subject: str = "") -> None:
        """This was reached just now: of those that wait for it, or for anything at all, a few try again."""
        waiting = [one for one in self._turns.running.values() if one.outages.may_end(subject)]
        for execution in waiting[:FEW]:
            execution.outages.try_now()

    async def wait_until_idle(self) -> None:
        """Until nothing is left to do now: all that is pending waits for an input, or for a time."""
        while True:
            self._changed.clear()
            await self.sweep()
            if not self.is_busy:
                return
            await self._changed.wait()

    async def sweep(self) -> None:
        """End the waits that are over, and wake every thread that has something to take up."""
        await self._waits.end_finished_waits()
        for thread in self._journal.busy_threads():
            if thread in self._busy:
                self._notice(thread)
            elif thread not in self._lost and self._may_turn(thread):
                self._start(thread)

    async def _sweep_for_ever(self) -> None:
        while True:
            await self._guarded(self.sweep(), "The sweep")
            await self._clock.sleep(SWEEP)
            await self._guarded(self._suspects.record_lifetime(SWEEP), "How long it lives")

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Do this; when it fails, the next sweep tries it again."""
        try:
            await work
        except JournalError as error:
            level = logging.INFO  # the journal said why
            if self._journal.is_well:
                level = logging.WARNING
            log.log(level, "%s waits for the journal. %s", name, error)
        except Exception:  # the task boundary
            log.exception("%s stopped; it is tried again in a moment.", name)

    def _start(self, thread: str) -> None:
        if thread not in self._busy and not self._closing:
            self._busy[thread] = asyncio.create_task(self._drive(thread), name=f"turns of {thread}")

    async def _drive(self, thread: str) -> None:
        try:
            await self._guarded(self._take_turns(thread), f"The thread {thread}")
        finally:
            del self._busy[thread]
            self._changed.set()

    async def _take_turns(self, thread: str) -> None:
        try:
            while not self._closing and self._may_turn(thread) and await self._turns.take_turn(thread):
                for other in await self._waits.end_finished_waits():
                    if other in self._busy:
                        self._notice(other)
                    elif other not in self._lost:
                        self._start(other)
        except FencedError:
            self._lost.add(thread)
            log.warning(
                "Another worker has taken over %s; it is left alone until something new comes.", thread
            )

    def _may_turn(self, thread: str) -> bool:
        """Is it to be at work now? After a failed attempt it rests; it may have to wait for others, too."""
        try:
            if pause_left(self._journal, thread, self._clock.now()):
                return False
            return self._suspects.may_take_turn(thread, self.is_asleep)
        except JournalDamaged:  # the journal said so
            return False

    def _notice(self, thread: str) -> None:
        with suppress(JournalError):  # the next sweep sees it
            self._turns.notice_input(thread)

    def is_asleep(self, thread: str) -> bool:
        """Does it wait in the middle of a turn, and do nothing?"""
        execution = self._turns.running.get(thread)
        return execution is not None and execution.outages.asleep
