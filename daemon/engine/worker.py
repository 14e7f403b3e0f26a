"""One turn of a thread: how it begins, runs and ends, and what becomes of it if it fails.

The worker: makes threads take their turns, one at a time in each and all beside each other.

It holds no state that the journal does not hold: a wake that is lost costs a second, never an entry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from daemon.engine.clock import JournalClock
from daemon.engine.context import Context
from daemon.engine.event import FAILED, STOPPED, Entry, Input, last_words_path, parent_of, part_key
from daemon.engine.exceptions import (
    ControlFlow,
    EngineError,
    ExecutionSuspended,
    FencedError,
    JournalDamaged,
    JournalError,
    ReplayMismatch,
    ReplayRequested,
    recorded_name,
)
from daemon.engine.execution import Execution, closes_with_turn
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import (
    AttemptFailed,
    CancelRequest,
    InputUndeliverable,
    OutageBegan,
    ThreadEnded,
    ThreadSpawned,
    TurnBegan,
    TurnEnded,
    TurnGivenUp,
    TurnNotBegun,
    TurnResumed,
    WaitEnded,
    turn_id,
)
from daemon.engine.outages import ExecutionServices
from daemon.engine.program import Program, question_answered_by
from daemon.engine.retries import (
    MOST_TRIES,
    cannot_report_end,
    crash_record,
    failed_begins,
    failure_key,
    is_superseded,
    must_give_up,
    pause_left,
    record_worker_start,
    turn_failures,
    turn_resumptions,
)
from daemon.engine.waits import WaitScheduler


def is_stale_wait(journal: JournalReader, entry: Entry[Input]) -> bool:
    """Is it the end of a wait that nobody is suspended on any more?"""
    return type(entry.event) is WaitEnded and question_answered_by(journal, entry) is None


log = logging.getLogger(__name__)


MAX_RESTARTS = 2


# What ends a turn is decided here and nowhere else:
#
#   the program returns               completed   what it took up is closed
#   it waits for an input             suspended   the same execution goes on in a later turn
#   the code no longer fits           -           it begins again with its log; after two of these: failed
#   it raises                         -           it rests, and is tried again; after too many: failed
#   it had failed, and is stopped     stopped     nothing of it runs again
#   it is given up                    failed      whoever waits is told, and all that it left open is closed
#   not even that can be done         abandoned   the same, without a word


class TurnRunner:
    """Takes turns for a program, one at a time in each thread. `life` is the seq of the worker's begin."""

    def __init__(
        self,
        journal: Journal,
        clock: JournalClock,
        program: Program,
        *,
        life: int,
        succeeded: Callable[[str], None],
        changed: Callable[[], None],
        replays_always: bool,
    ) -> None:
        self._journal = journal
        self._program = program
        self._life = life
        self._around = ExecutionServices(
            journal=journal,
            clock=clock,
            author=program.author,
            patience=program.patience,
            went_down=self._report_outage,
            succeeded=succeeded,
            changed=changed,
            replays_always=replays_always,
        )
        self.running = dict[str, Execution]()
        """What runs now, by its thread."""

    async def take_turn(self, thread: str) -> bool:
        """Take one turn of this thread, or try to; False where nothing waits for it.

        Raises Fenced and JournalError; whatever else goes wrong is recorded as a failed attempt.
        """
        try:
            execution = await self._begin(thread)
            if execution is None:
                return False
            await self._run(execution)
        except Exception as error:  # the turn boundary: a failed attempt, tried again
            if _is_of_the_journal(error):
                raise
            await self._failed(thread, error)
        finally:
            self.running.pop(thread, None)
        return True

    def notice_input(self, thread: str) -> None:
        """Something came for this thread: does it interrupt what runs there?"""
        execution = self.running.get(thread)
        if execution is None:
            return
        interrupted = any(self._program.interrupts(execution, entry) for entry in execution.has_new_inputs())
        if interrupted or self._program.overtakes(execution):
            execution.stopping.set()
        execution.outages.notice_input()

    # How it begins

    async def _begin(self, thread: str) -> Execution | None:
        epoch = self._journal.lease_epoch(thread)
        tries = failed_begins(self._journal, thread)
        half = self._journal.pending_entries(TurnBegan, thread=thread)
        if half and tries >= MOST_TRIES:
            await self._end_unresumable(half[0])
            return None
        if half:
            return await self._resume(half[0])
        if tries >= MOST_TRIES:
            event = self._unfit_inputs(thread)
        else:
            event = await self._fitting_inputs(thread)
        if event is None:
            return None
        first = event.inputs[0]
        event = replace(event, life=self._life)
        began, ours = await self._journal.append(
            thread, event, key=f"{thread}@{first}/began", cause=first, fence=Fence(thread=thread, epoch=epoch)
        )
        if not ours:
            raise FencedError(began.key)
        return self._execution(began, began.seq, is_new=event.execution == turn_id(began))

    async def _fitting_inputs(self, thread: str) -> TurnBegan | None:
        """What the program takes of what waits."""
        taken = self._program.take(self._journal, await self._deliverable_inputs(thread))
        if taken is None:
            return None
        execution = f"{thread}@{taken.inputs[0].seq}"
        if taken.resumes:
            execution = taken.resumes.event.execution
        return await self._program.began(taken, execution)

    def _unfit_inputs(self, thread: str) -> TurnBegan | None:
        """All that waits, which nobody looks at any more: only the seqs are read."""
        kinds = self._journal.kinds.kind_names([Input])
        pending = self._journal.folded_rows()["pending"]
        seqs = [seq for seq, where, kind in pending if where == thread and kind in kinds]
        if not seqs:
            return None
        return TurnBegan(execution=f"{thread}@{seqs[0]}", inputs=tuple(seqs), unfit=True)

    async def _deliverable_inputs(self, thread: str) -> list[Entry[Input]]:
        """What waits, but for what can reach nobody any more: that is closed. Raises Fenced where another
        worker has closed it.
        """
        has_ended = bool(self._journal.thread_entries(thread, ThreadEnded))
        deliverable = list[Entry[Input]]()
        for entry in self._journal.pending_inputs(thread):
            if not has_ended and not is_stale_wait(self._journal, entry):
                deliverable.append(entry)
                continue
            key, seq = f"{thread}@{entry.seq}/undeliverable", entry.seq
            await self._journal.append(
                thread, InputUndeliverable(), key=key, cause=seq, closes=[seq], requires=seq
            )
        return deliverable

    async def _resume(self, began: Entry[TurnBegan]) -> Execution:
        """Another attempt at a half turn; an entry, too. Refused where another worker ended it."""
        attempt = 2 + len(turn_resumptions(self._journal, began))
        resumed, ours = await self._journal.append(
            began.thread,
            TurnResumed(attempt=attempt, life=self._life),
            key=part_key(turn_id(began), f"attempt#{attempt}"),
            cause=began.seq,
            requires=began.seq,
        )
        if not ours:
            raise FencedError(resumed.key)
        return self._execution(began, resumed.seq)

    def _execution(
        self, began: Entry[TurnBegan], epoch: int, path: str = "", *, is_new: bool = False
    ) -> Execution:
        """One that is known to run: what came for it is noticed from its begin on."""
        execution = Execution(self._around, began, epoch, path, is_new=is_new)
        self.running[began.thread] = execution
        self.notice_input(began.thread)
        return execution

    # How it runs

    async def _run(self, execution: Execution) -> None:
        """Until its turn ends; from the top again where the code no longer fits what is recorded."""
        while True:
            try:
                ended = await self._outcome(execution)
                await self.running[execution.thread].end_turn(ended)  # by whoever had the last word
                return
            except ReplayMismatch as difference:
                log.warning("%s begins again with its log: %s.", execution.id, difference)
                await execution.restart(difference)
            except ReplayRequested:
                pass
            execution = self._execution(execution.began, execution.epoch)

    async def _outcome(self, execution: Execution) -> TurnEnded:
        """The entry that this turn ends with. What has begun to tell its end does not run again."""
        journal, began = self._journal, execution.began
        if execution.is_new and not began.event.unfit:
            return await self._run_program(execution)
        suspected = crash_record(journal, self._life, began)
        if cannot_report_end(journal, began, suspected.counted):
            return await self._abandon(execution)
        await execution.outages.settle()
        if journal.get(_last_words_key(execution, STOPPED)):
            return await self._stop(execution)
        hopeless = execution.restarts > MAX_RESTARTS or must_give_up(journal, began, suspected.counted)
        if hopeless or journal.get(_last_words_key(execution, FAILED)):
            return await self._give_up(execution)
        has_failed = suspected.suspect or bool(turn_failures(journal, began))
        if has_failed and is_superseded(journal, began):
            return await self._stop(execution)
        await self._settle(execution)
        return await self._run_program(execution)

    async def _run_program(self, execution: Execution) -> TurnEnded:
        """Run the program over it."""
        ctx = Context(execution, execution.path)
        suspends, result = False, None
        try:
            result = await self._program.run(ctx)
            ctx.check_returned()
        except ExecutionSuspended:
            suspends = True
            execution.record.check_all_read(execution.path)
        void = list[Entry[Input]]()
        if not execution.has_stale_answer:
            void = execution.void_answers()
        if void or execution.abandoned:
            await self._program.void(Context(execution, part_key(execution.turn, "void")), void)
        if suspends:
            return self._program.suspended(ctx)
        return self._program.ended(ctx, result)

    async def _settle(self, execution: Execution) -> None:
        """After a restart, what was half done before it is first brought to its end."""
        if not execution.abandoned:
            return
        await self._program.settle(Context(execution, part_key(execution.path, "settle")))
        for entry in execution.entries_left_open():
            key = part_key(entry.key, "cancel")
            if isinstance(entry.event, ThreadSpawned) and self._journal.get(key) is None:
                child = entry.event.thread  # nobody waits for it any more
                await execution.append(CancelRequest(reason="restarted"), key, thread=child)
        execution.freeze_restart_log()

    async def _report_outage(self, thread: str, outage: Entry[OutageBegan]) -> None:
        """What the program does then stands beside the steps, under the outage's key."""
        await self._program.went_down(Context(self.running[thread], outage.key), outage)

    # How it fails

    async def _failed(self, thread: str, error: Exception) -> None:
        """Record it: how long the thread rests, and whether the turn is given up, is read from there."""
        execution = self.running.get(thread)
        name = recorded_name(error)
        if execution is None:
            if not isinstance(error, JournalDamaged):  # the journal said so
                log.warning("A turn of %s could not be begun; it is tried again.", thread, exc_info=error)
            number = len(self._journal.thread_entries(thread, TurnNotBegun)) + 1
            await self._journal.append(thread, TurnNotBegun(error=name), key=f"{thread}!unbegun#{number}")
            return
        event = AttemptFailed(
            at=execution.reached,
            error=name,
            fault=self._program.is_fault(error),
            final=self._program.ends(error),
        )
        if event.final or not event.fault or isinstance(error, EngineError):
            event = replace(event, why=str(error))
        if not isinstance(error, JournalDamaged):
            _log_failure(execution, event, error)
        key = failure_key(execution.began, execution.epoch)
        await execution.append(event, key, cause=execution.epoch)

    async def _give_up(self, execution: Execution) -> TurnEnded:
        """Tell whoever waits, with steps of their own."""
        ctx = await self._begin_last_words(execution, FAILED, self._program.failed)
        return self._program.gave_up(ctx)

    async def _stop(self, execution: Execution) -> TurnEnded:
        """Somebody stops what has failed: nothing of it runs again."""
        ctx = await self._begin_last_words(execution, STOPPED, self._program.stopped)
        return replace(self._program.gave_up(ctx), outcome="stopped")

    async def _begin_last_words(
        self, execution: Execution, name: str, tell: Callable[[Context], Awaitable[None]]
    ) -> Context:
        last = self._execution(execution.began, execution.epoch, path=last_words_path(execution.id, name))
        ctx = Context(last, last.path)
        begin = _last_words_key(execution, name)
        if self._journal.get(begin) is None:
            await last.append(TurnGivenUp(), begin)
        try:
            await tell(ctx)
            ctx.check_returned()
        except ReplayRequested:
            raise
        except ControlFlow as error:
            raise EngineError(
                f"what tells the end of a turn can neither wait nor begin again: {error}"
            ) from error
        return ctx

    async def _abandon(self, execution: Execution) -> TurnEnded:
        log.error("A turn of %s (%s) is ended without a word.", execution.thread, execution.turn)
        await self._end_child(execution.began)
        return TurnEnded(outcome="abandoned")

    async def _end_unresumable(self, began: Entry[TurnBegan]) -> None:
        """The end of a half turn that cannot even be taken up again: all that it left pending is closed."""
        log.error("A turn of %s (%s) cannot be taken up again.", began.thread, began.key)
        closes = [began.seq, *began.event.inputs]
        with suppress(JournalDamaged):
            done = self._journal.entries_under(began.event.execution)
            left = [entry for entry in done if entry.thread == began.thread]
            closes += [entry.seq for entry in left if closes_with_turn(entry)]
        await self._end_child(began)
        await self._journal.append(
            began.thread,
            TurnEnded(outcome="abandoned"),
            key=f"{turn_id(began)}/ended",
            author=self._program.author,
            cause=began.seq,
            closes=self._journal.still_pending(closes),
            requires=began.seq,
        )

    async def _end_child(self, began: Entry[TurnBegan]) -> None:
        """Whoever spawned this thread must not wait for it for ever."""
        parent = parent_of(began.thread)
        for spawned in self._journal.pending_entries(ThreadSpawned, thread=parent):
            if spawned.event.thread == began.thread:
                await self._journal.append(
                    began.thread,
                    ThreadEnded(status="abandoned"),
                    key=part_key(turn_id(began), "lost"),
                    cause=spawned.seq,
                    closes=[spawned.seq],
                    requires=began.seq,
                )


def _last_words_key(execution: Execution, words: str) -> str:
    """The key of the entry with which its last words begin."""
    return f"{last_words_path(execution.id, words)}/begin"


def _is_of_the_journal(error: Exception) -> bool:
    """Is it no failure of this turn? What is damaged is: no other turn is held up by it."""
    if isinstance(error, JournalDamaged):
        return False
    return isinstance(error, FencedError | JournalError)


def _log_failure(execution: Execution, event: AttemptFailed, error: Exception) -> None:
    """Whoever runs this reads of a fault with its traceback; of what hinders a turn once, in a line."""
    if event.fault and not event.final:
        log.warning(
            "A turn of %s failed at %s; it is tried again.", execution.thread, event.at, exc_info=error
        )
        return
    level = logging.DEBUG
    if event.final or not execution.failed_attempts:
        level = logging.WARNING
    log.log(level, "A turn of %s cannot do what it has to. %s.", execution.thread, event.why.rstrip("."))


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
