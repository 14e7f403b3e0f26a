"""The worker: makes threads take their turns, one at a time in each and all beside each other.

It holds no state that the journal does not hold: a wake that is lost costs a second, never an entry.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

from daemon.engine.context import Context
from daemon.engine.event import Entry, Event, Input, Rank
from daemon.engine.exceptions import Fenced, JournalError, Nondeterminism, RunAgain, Suspended
from daemon.engine.execution import Execution
from daemon.engine.journal import Clock, Journal
from daemon.engine.keys import part
from daemon.engine.kinds import (
    Asked,
    AttemptFailed,
    Outcome,
    ThreadEnded,
    TurnBegan,
    TurnEnded,
    TurnResumed,
    Undeliverable,
    Waiting,
    Woke,
)
from daemon.engine.waits import end_waits

log = logging.getLogger(__name__)

SWEEP = 1.0
"""Seconds between two looks at all that waits."""
MAX_FAILURES = 5
SAME_PLACE = 3
"""A failure at the same key so often is no accident."""
MAX_RESTARTS = 2
LONGEST_PAUSE = 300.0
"""Seconds between two attempts at a turn that failed, at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a turn takes up. `resumes` is the question or wait of the execution that goes on with it."""

    inputs: Sequence[Entry[Input]]
    resumes: Entry[Asked] | Entry[Waiting] | None = None


class Program:
    """What a worker runs. Derive from it, and say at least `run`; all else has a plain default."""

    author = "program"
    """Who is named as the author of what executions append."""

    async def run(self, ctx: Context) -> object:
        """Do what these inputs ask for; what it returns is handed to `ended`."""
        raise NotImplementedError

    async def failed(self, ctx: Context) -> None:
        """Given up after too many attempts: tell whoever waits."""

    async def settle(self, ctx: Context) -> None:
        """After a restart, bring to an end what the abandoned execution was about to do."""
        for intent in ctx.execution.half_done():
            unknown = Outcome(unknown=True, fingerprint=intent.event.fingerprint)
            key = part(intent.key, "done")
            await ctx.execution.append(unknown, key, cause=intent.seq, closes=[intent.seq])

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> Taken | None:
        """What the next turn takes: the first in rank; all messages together; with a stop, all that waits."""
        first = min(waiting, key=lambda entry: (entry.event.rank, entry.seq), default=None)
        if first is None:
            return None
        if first.event.rank is Rank.STOP:
            return Taken(inputs=waiting)
        if first.event.rank is Rank.MESSAGE:
            return Taken(inputs=[entry for entry in waiting if entry.event.rank is Rank.MESSAGE])
        return Taken(inputs=[first], resumes=question_of(journal, first))

    def began(self, taken: Taken, execution: str) -> TurnBegan:
        """The entry that a turn begins with."""
        return TurnBegan(execution=execution, inputs=tuple(entry.seq for entry in taken.inputs))

    def ended(self, ctx: Context, result: object) -> TurnEnded:
        """The entry that a turn ends with, when its execution is through."""
        return TurnEnded(outcome="completed")

    def suspended(self, ctx: Context) -> TurnEnded:
        """The entry that a turn ends with while its execution waits."""
        return TurnEnded(outcome="suspended")


def question_of(journal: Journal, given: Entry[Input]) -> Entry[Asked] | Entry[Waiting] | None:
    """What this input answers, if that still waits; or the same question, asked again after a restart."""
    named = journal.get(given.event.answers) if given.event.answers else None
    if named is None or not isinstance(named.event, Asked | Waiting):
        return None
    if journal.is_pending(named.seq):
        return cast(Entry[Asked], named)
    for asked in journal.pending(Asked, thread=named.thread):
        same = asked.event.fingerprint == named.event.fingerprint
        if same and asked.event.execution == named.event.execution:
            return asked
    return None


class Worker:
    """Runs a program over a journal; an async context manager whose turns end before it does.

    `grace` is how many seconds running turns get when it is left; half ones are taken up at the next start.
    With `replays_always` each execution runs again from the top after each of its steps: for tests.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        program: Program,
        *,
        grace: float = 10.0,
        replays_always: bool = False,
    ) -> None:
        self._replays_always = replays_always
        self._journal = journal
        self._clock = clock
        self._program = program
        self._grace = grace
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, Execution] = {}
        self._lost = set[str]()
        """Threads that another worker has taken over: left alone until something new comes for them."""
        self._resting: dict[str, float] = {}
        """Threads whose last attempt failed, and until when they rest."""
        self._closing = False
        self._stirred = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._sweeper = asyncio.create_task(self._sweep_for_ever(), name="sweep")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        if not self._busy:
            return
        _, late = await asyncio.wait(self._busy.values(), timeout=self._grace)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def wake(self, thread: str) -> None:
        """Something came for this thread: let it take its turns."""
        self._lost.discard(thread)
        self._resting.pop(thread, None)
        self._start(thread)
        execution = self._running.get(thread)
        if execution and any(entry.event.rank is Rank.STOP for entry in execution.fresh()):
            execution.stopping.set()

    def _start(self, thread: str) -> None:
        if thread not in self._busy and not self._closing:
            self._busy[thread] = asyncio.create_task(self._drive(thread), name=f"turns of {thread}")

    async def idle(self) -> None:
        """Until nothing is left to do now: all that is pending waits for an input, or for a time."""
        while True:
            await self.sweep()
            busy = [*self._busy.values()]
            if not busy:
                return
            await asyncio.wait(busy)

    async def sweep(self) -> None:
        """End the waits that are over, and wake every thread that has something to take up."""
        now = self._clock.now()
        await end_waits(self._journal, now)
        for thread in self._journal.busy_threads():
            rests = self._resting.get(thread, 0.0) > now
            if thread not in self._lost and not rests:
                self._start(thread)

    async def _sweep_for_ever(self) -> None:
        while True:
            try:
                await self.sweep()
            except JournalError as error:
                log.warning("The sweep waits for the journal. %s", error)
            await self._clock.sleep(SWEEP)

    async def _drive(self, thread: str) -> None:
        try:
            while not self._closing and await self.take_turn(thread):
                pass
        except Fenced:
            self._lost.add(thread)
            log.warning(
                "Another worker has taken over %s; it is left alone until something new comes.", thread
            )
        except JournalError as error:
            log.warning("The turns of %s wait for the journal. %s", thread, error)
        except Exception:  # the task boundary: the next sweep tries this thread again
            log.exception("The turns of %s stopped; they are tried again in a moment.", thread)
            self._resting[thread] = self._clock.now() + SWEEP
        finally:
            del self._busy[thread]

    async def take_turn(self, thread: str) -> bool:
        """Take one turn of a thread; False where nothing waits for it."""
        execution = await self._begin(thread)
        if execution is None:
            return False
        self._running[thread] = execution
        try:
            await self._run(execution)
        except (Fenced, JournalError):
            raise
        except Exception as error:  # noqa: BLE001  the turn boundary: a failed attempt, tried again
            await self._failed(execution, error)
            return False
        finally:
            del self._running[thread]
        if execution.parent:
            self._start(execution.parent)  # what its parent waits for may be over
        return True

    async def _run(self, execution: Execution) -> None:
        """Run the program over the execution until its turn ends; again where its code no longer fits."""
        while True:
            ctx = Context(execution, execution.path)
            try:
                await execution.end(await self._outcome(execution, ctx))
                return
            except Nondeterminism as difference:
                log.warning("%s begins again with its log: %s.", execution.id, difference)
                await execution.restart(difference)
            except RunAgain:
                pass
            execution = self._execution(execution.began, execution.epoch)
            self._running[execution.thread] = execution

    async def _outcome(self, execution: Execution, ctx: Context) -> TurnEnded:
        if execution.restarts > MAX_RESTARTS or self._is_hopeless(execution):
            return await self._give_up(execution)
        await self._program.settle(ctx)
        try:
            result = await self._program.run(ctx)
            ctx.returns()
        except Suspended:
            execution.record.ends(execution.path)
            return self._program.suspended(ctx)
        return self._program.ended(ctx, result)

    async def _give_up(self, execution: Execution) -> TurnEnded:
        """Tell whoever waits, with steps of their own; where not even that can be done, end in silence."""
        if self._count(execution.turn, AttemptFailed) <= 2 * MAX_FAILURES:
            last = self._execution(execution.began, execution.epoch, path=f"{execution.id}~failed")
            await self._program.failed(Context(last, last.path))
        return TurnEnded(outcome="failed")

    def _execution(self, began: Entry[TurnBegan], epoch: int, path: str = "") -> Execution:
        execution = Execution(self._journal, self._clock, began, epoch, self._program.author, path)
        execution.replays_always = self._replays_always
        return execution

    async def _begin(self, thread: str) -> Execution | None:
        half = self._journal.pending(TurnBegan, thread=thread)
        if half:
            return await self._resume(half[0])
        await end_waits(self._journal, self._clock.now(), thread)
        waiting = await self._deliverable(thread)
        taken = self._program.take(self._journal, waiting)
        if taken is None:
            return None
        turn = f"{thread}@{taken.inputs[0].seq}"
        event = self._program.began(taken, taken.resumes.event.execution if taken.resumes else turn)
        began, ours = await self._journal.append(
            thread, event, key=f"{turn}/began", cause=taken.inputs[0].seq
        )
        if not ours:
            raise Fenced(began.key)
        return self._execution(began, began.seq)

    async def _deliverable(self, thread: str) -> list[Entry[Input]]:
        """What waits, but for what can reach nobody any more."""
        waiting = self._journal.inputs(thread)
        if self._journal.of(thread, ThreadEnded):
            lost = waiting
        else:
            lost = [entry for entry in waiting if _is_stale(self._journal, entry)]
        for entry in lost:
            key = f"{thread}@{entry.seq}/undeliverable"
            await self._journal.append(thread, Undeliverable(), key=key, cause=entry.seq, closes=[entry.seq])
        return [entry for entry in waiting if entry not in lost]

    async def _resume(self, began: Entry[TurnBegan]) -> Execution:
        turn = began.key.removesuffix("/began")
        attempt = 2 + self._count(turn, TurnResumed)
        resumed, ours = await self._journal.append(
            began.thread,
            TurnResumed(attempt=attempt),
            key=f"{turn}!attempt#{attempt}",
            cause=began.seq,
            requires=began.seq,
        )
        if not ours:
            raise Fenced(resumed.key)
        return self._execution(began, resumed.seq)

    def _count(self, turn: str, kind: type[Event]) -> int:
        return len([entry for entry in self._journal.parts(turn) if isinstance(entry.event, kind)])

    async def _failed(self, execution: Execution, error: Exception) -> None:
        """Record it; the thread rests for a while that grows, and holds nothing meanwhile."""
        failures = self._count(execution.turn, AttemptFailed) + 1
        log.warning(
            "A turn of %s failed at %s; it is tried again.",
            execution.thread,
            execution.reached,
            exc_info=error,
        )
        event = AttemptFailed(at=execution.reached, error=type(error).__name__)
        await execution.append(event, f"{execution.turn}!failure#{failures}")
        self._resting[execution.thread] = self._clock.now() + min(2.0**failures, LONGEST_PAUSE)

    def _is_hopeless(self, execution: Execution) -> bool:
        found = self._journal.parts(execution.turn)
        places = Counter(entry.event.at for entry in found if isinstance(entry.event, AttemptFailed))
        return sum(places.values()) >= MAX_FAILURES or max(places.values(), default=0) >= SAME_PLACE


def _is_stale(journal: Journal, entry: Entry[Input]) -> bool:
    """Is it the end of a wait that nobody is suspended on any more?"""
    return type(entry.event) is Woke and question_of(journal, entry) is None
