"""Worker: runs the turns of all threads, one at a time in each thread.

Its only state is the journal: a missed notice costs a second, but no entry is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from daemon.engine.clock import Clock
from daemon.engine.context import Context
from daemon.engine.event import (
    FAILED,
    STOPPED,
    Entry,
    Input,
    last_words_path,
    parent_of,
    part_key,
    root_of,
)
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
from daemon.engine.journal.reader import EntryHead, JournalReader
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import (
    LEASES,
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
from daemon.engine.outages import ExecutionServices, needs_no_tree
from daemon.engine.program import Program, question_answered_by
from daemon.engine.retries import (
    MAX_FAILED_BEGINS,
    CrashRecord,
    cannot_report_end,
    crash_record,
    failed_begins,
    failure_key,
    is_superseded,
    must_give_up,
    pause_left,
    turn_failures,
    turn_resumptions,
)
from daemon.engine.shared_suspects import begin_life
from daemon.engine.tree_share import AllTrees, TreeShare
from daemon.engine.waits import WaitScheduler

log = logging.getLogger(__name__)
MAX_RESTARTS = 2


# Ends of a turn:
#     program returns       completed
#     it awaits an input    suspended
#     replay mismatch       restart with its log; failed after two
#     error                 retry after a pause; failed after too many
#     stop after a failure  stopped
#     given up              failed, and reported
#     report fails, too     abandoned


class TurnRunner:
    """Runner of turns: takes inputs, runs the program, and records the end."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        program: Program,
        *,
        life: int,
        succeeded: Callable[[str], None],
        changed: Callable[[], None],
        replays_always: bool,
        record: Callable[[Entry[TurnBegan]], CrashRecord] | None = None,
        regain_tree: Callable[[str], Awaitable[None]] = needs_no_tree,
    ) -> None:
        self._journal = journal
        self._program = program
        self._life = life
        self._crash_record = record or partial(crash_record, journal, life)
        self._services = ExecutionServices(
            journal=journal,
            clock=clock,
            author=program.author,
            patience=program.patience,
            went_down=self._report_outage,
            succeeded=succeeded,
            changed=changed,
            replays_always=replays_always,
            regain_tree=regain_tree,
        )
        self.running = dict[str, Execution]()

    async def take_turn(self, thread: str) -> bool:
        """Run the next turn of this thread; False if it has no inputs.

        Raises FencedError and JournalError. Other errors are recorded.
        """
        try:
            execution = await self._begin(thread)
            if execution is None:
                return False
            await self._run(execution)
        except Exception as error:  # boundary of a turn
            if _is_of_the_journal(error):
                raise
            await self._failed(thread, error)
        finally:
            self.running.pop(thread, None)
        return True

    def notice_input(self, thread: str) -> None:
        execution = self.running.get(thread)
        if execution is None:
            return
        interrupted = any(self._program.interrupts(execution, entry) for entry in execution.untaken_inputs())
        if interrupted or self._program.overtakes(execution):
            execution.stopping.set()
        execution.outages.notice_input()

    # Begin

    async def _begin(self, thread: str) -> Execution | None:
        epoch = self._journal.lease_epoch(thread)
        tries = failed_begins(self._journal, thread)
        half = self._journal.pending_entries(TurnBegan, thread=thread)
        if half and tries >= MAX_FAILED_BEGINS:
            await self._end_unresumable(half[0])
            return None
        if half:
            return await self._resume(half[0])
        if tries >= MAX_FAILED_BEGINS:
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
        taken = self._program.take(self._journal, await self._deliverable_inputs(thread))
        if taken is None:
            return None
        execution = f"{thread}@{taken.inputs[0].seq}"
        if taken.resumes:
            execution = taken.resumes.event.execution
        return await self._program.began(taken, execution)

    def _unfit_inputs(self, thread: str) -> TurnBegan | None:
        """Return a turn over all pending inputs, unread."""
        kinds = self._journal.kinds.kind_names([Input])
        pending = self._journal.folded_rows()["pending"]
        seqs = [seq for seq, where, kind in pending if where == thread and kind in kinds]
        if not seqs:
            return None
        return TurnBegan(execution=f"{thread}@{seqs[0]}", inputs=tuple(seqs), unfit=True)

    async def _deliverable_inputs(self, thread: str) -> list[Entry[Input]]:
        """Return pending inputs; close those of ended threads and waits."""
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
        """Begin a new attempt. Raises FencedError if the turn has ended."""
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
        execution = Execution(self._services, began, epoch, path, is_new=is_new)
        self.running[began.thread] = execution
        self.notice_input(began.thread)
        return execution

    # Run

    async def _run(self, execution: Execution) -> None:
        """Run until the turn ends; after a mismatch, begin again."""
        while True:
            try:
                ended = await self._outcome(execution)
                last = self.running[execution.thread]  # another execution if it reported the end
                await last.end_turn(ended)
                return
            except ReplayMismatch as difference:
                log.warning("Restarting the execution %s with its log: %s.", execution.id, difference)
                await execution.restart(difference)
            except ReplayRequested:
                pass
            execution = self._execution(execution.began, execution.epoch)

    async def _outcome(self, execution: Execution) -> TurnEnded:
        """Return the last entry of the turn. After the report of a failure has begun, the program does not
        run again.
        """
        journal, began = self._journal, execution.began
        if execution.is_new and not began.event.unfit:
            return await self._run_program(execution)
        suspected = self._crash_record(began)
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
        """Settle unfinished effects of abandoned executions, and stop their children."""
        if not execution.abandoned:
            return
        await self._program.settle(Context(execution, part_key(execution.path, "settle")))
        for entry in execution.entries_left_open():
            key = part_key(entry.key, "cancel")
            if isinstance(entry.event, ThreadSpawned) and self._journal.get(key) is None:
                child = entry.event.thread  # nobody waits for this child any more
                await execution.append(CancelRequest(reason="restarted"), key, thread=child)
        execution.freeze_restart_log()

    async def _report_outage(self, thread: str, outage: Entry[OutageBegan]) -> None:
        await self._program.went_down(Context(self.running[thread], outage.key), outage)

    # Failure

    async def _failed(self, thread: str, error: Exception) -> None:
        """Record a failure, from which pauses and giving up are computed."""
        execution = self.running.get(thread)
        name = recorded_name(error)
        if execution is None:
            if not isinstance(error, JournalDamaged):  # the journal has logged it
                log.warning("Could not begin a turn of %s; it is tried again.", thread, exc_info=error)
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
        ctx = await self._begin_last_words(execution, FAILED, self._program.failed)
        return self._program.gave_up(ctx)

    async def _stop(self, execution: Execution) -> TurnEnded:
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
        log.error(
            "Ended a turn of %s (%s) without reporting it to anybody.", execution.thread, execution.turn
        )
        await self._end_child(execution.began)
        return TurnEnded(outcome="abandoned")

    async def _end_unresumable(self, began: Entry[TurnBegan]) -> None:
        """End a turn that cannot be resumed, and close what it left pending."""
        log.error("Could not resume a turn of %s (%s); it is abandoned.", began.thread, began.key)
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


def is_stale_wait(journal: JournalReader, entry: Entry[Input]) -> bool:
    """True if a wait has ended and no execution is suspended on it."""
    return type(entry.event) is WaitEnded and question_answered_by(journal, entry) is None


def _last_words_key(execution: Execution, words: str) -> str:
    return f"{last_words_path(execution.id, words)}/begin"


def _is_of_the_journal(error: Exception) -> bool:
    if isinstance(error, JournalDamaged):
        return False
    return isinstance(error, FencedError | JournalError)


def _log_failure(execution: Execution, event: AttemptFailed, error: Exception) -> None:
    if event.fault and not event.final:
        log.warning(
            "A turn of %s failed at %s; it is tried again.", execution.thread, event.at, exc_info=error
        )
        return
    level = logging.DEBUG
    if event.final or not execution.failed_attempts:
        level = logging.WARNING
    log.log(level, "A turn of %s is held up: %s.", execution.thread, event.why.rstrip("."))


SWEEP_SECONDS = 1.0
"""Seconds between sweeps."""

RETRIES_PER_SUCCESS = 5
"""Executions that retry after one success elsewhere."""


class Worker:
    """Worker that runs a program over a journal: an async context manager.

    At exit, running turns have `grace` seconds; others are resumed at the next start. `share` says which
    trees of threads are this worker's.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        program: Program,
        *,
        grace: float = 10.0,
        replays_always: bool = False,
        share: TreeShare | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._program = program
        self._grace = grace
        self._replays_always = replays_always
        self._share = share or AllTrees()
        self._waits = WaitScheduler(
            journal, clock, program.reminder, program.fits, follows=self._share.follows
        )
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._lost = set[str]()
        """Threads that another worker has taken over. New inputs remove them."""
        self._closing = False
        self._changed = asyncio.Event()
        """Set when a thread's task ends, or waits for an unreachable service."""
        self._trees = dict[str, asyncio.Event]()
        """Trees that this worker holds beside others; each event is set with `_changed`."""
        self._regained = dict[str, asyncio.Event]()
        """Trees that awoken executions wait to hold again; each event is set then."""
        self._input_kinds = frozenset(journal.kinds.kind_names([Input]))
        self._lease_kinds = frozenset(journal.kinds.kind_names(LEASES))
        self._success_kinds = frozenset(journal.kinds.kind_names(program.successes))

    async def __aenter__(self) -> Self:
        self._suspects = await begin_life(self._journal, self._clock, self._program.lives, self._share)
        self._turns = TurnRunner(
            self._journal,
            self._clock,
            self._program,
            life=self._suspects.life,
            succeeded=self.note_success,
            changed=self._note_change,
            replays_always=self._replays_always,
            record=self._suspects.record_of,
            regain_tree=self._regain_tree,
        )
        self._open = AsyncExitStack()
        await self._open.enter_async_context(self._share.serve(self.run_tree))
        self._tasks = [asyncio.create_task(self._sweep_for_ever(), name="sweep")]
        if self._share.follows:
            self._tasks.append(asyncio.create_task(self._follow_for_ever(), name="follow"))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._share.take_no_more()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._end_life()
        awake = [task for thread, task in self._busy.items() if not self.is_asleep(thread)]
        if awake:
            await asyncio.wait(awake, timeout=self._grace)
        late = [*self._busy.values()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await self._open.aclose()

    async def _end_life(self) -> None:
        """Record the stop; a log that is away does not keep this worker from it."""
        limit = self._grace if self._share.follows else None
        try:
            async with asyncio.timeout(limit):
                await self._suspects.end_life()
        except TimeoutError:
            log.warning("Could not record the stop of this worker: the log is away.")

    @property
    def is_busy(self) -> bool:
        return any(not self.is_asleep(thread) for thread in self._busy)

    @property
    def life(self) -> int:
        """Seq of this worker's start."""
        return self._suspects.life

    def has_lost(self, thread: str) -> bool:
        return thread in self._lost

    def wake(self, thread: str) -> None:
        """Start the turns of a thread, or notify its running execution."""
        self._lost.discard(thread)
        if thread in self._busy:
            self._notice(thread)
        else:
            self._start(thread)

    def note_success(self, subject: str = "") -> None:
        """Let a few of the executions that wait for `subject` retry."""
        waiting = [one for one in self._turns.running.values() if one.outages.may_end(subject)]
        for execution in waiting[:RETRIES_PER_SUCCESS]:
            execution.outages.try_now()

    async def wait_until_idle(self) -> None:
        """Run turns until all threads wait for inputs or times."""
        while True:
            self._changed.clear()
            await self.sweep()
            if not self.is_busy:
                return
            await self._changed.wait()

    async def sweep(self) -> None:
        """End waits that are over, and start threads with inputs or unfinished turns."""
        await self._suspects.judge_dead_workers()
        await self._waits.end_finished_waits()
        keepers = self._keepers()
        for thread in self._journal.busy_threads():
            keeper = keepers.get(root_of(thread), 0)
            if thread in self._busy:
                self._notice(thread)
                if root_of(thread) in self._regained:
                    self._share.note_busy(thread, keeps=True)
            elif self._is_ours(keeper) and thread not in self._lost and self._may_turn(thread):
                self._start(thread)
                if not self._share.may_take(thread):
                    self._share.note_busy(thread, keeps=bool(keeper))

    async def _sweep_for_ever(self) -> None:
        while True:
            await self._guarded(self.sweep(), "The sweep")
            await self._clock.sleep(SWEEP_SECONDS)
            await self._guarded(self._suspects.record_lifetime(SWEEP_SECONDS), "Recording the uptime")

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except JournalError as error:
            level = logging.INFO  # the journal has logged it
            if self._journal.is_well:
                level = logging.WARNING
            log.log(level, "%s waits for the journal. %s", name, error)
        except Exception:  # boundary of a task
            log.exception("%s failed; it is tried again in a moment.", name)

    def _start(self, thread: str) -> None:
        if thread not in self._busy and not self._closing and self._share.may_take(thread):
            self._busy[thread] = asyncio.create_task(self._drive(thread), name=f"turns of {thread}")

    async def _drive(self, thread: str) -> None:
        try:
            await self._guarded(self._take_turns(thread), f"The thread {thread}")
        finally:
            del self._busy[thread]
            self._note_change_of(root_of(thread))

    def _note_change(self) -> None:
        """Note that an execution waits for an unreachable service."""
        self._changed.set()
        if not self._trees:  # they are all this worker's
            return
        for thread, execution in self._turns.running.items():
            if execution.outages.asleep:
                self._note_change_of(root_of(thread))

    def _note_change_of(self, root: str) -> None:
        self._changed.set()
        if root in self._trees:
            self._trees[root].set()
        if root in self._regained and not any(root_of(thread) == root for thread in self._busy):
            del self._regained[root]

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
                "Another worker has taken over the thread %s; it is ignored here until new input comes.",
                thread,
            )

    def _may_turn(self, thread: str) -> bool:
        """True if the thread is neither in a pause nor held back as a suspect, and this worker is alive."""
        try:
            if not self._share.is_sure or pause_left(self._journal, thread, self._clock.now()):
                return False
            return self._suspects.may_take_turn(thread, self.is_asleep)
        except JournalDamaged:  # the journal has logged it
            return False

    def _notice(self, thread: str) -> None:
        with suppress(JournalError):  # the next sweep repeats it
            self._turns.notice_input(thread)

    def is_asleep(self, thread: str) -> bool:
        """True if the thread's execution waits for an unreachable service, or to go on after that."""
        execution = self._turns.running.get(thread)
        return execution is not None and (execution.outages.asleep or root_of(thread) in self._regained)

    # Beside other workers

    async def note_death(self, *dead: object) -> None:
        """Judge a daemon that was counted as dead, and offer its trees, at once."""
        await self._guarded(self.sweep(), "The sweep after a death")

    async def run_tree(self, root: str) -> int:
        """Take the turns of a tree of threads until none of them can go on.

        Returns the id of another worker that keeps it in memory, if there is one; else 0.
        """
        keeper = self._keepers(root).get(root, 0)
        if not self._is_ours(keeper):
            return keeper
        self._lost = {thread for thread in self._lost if root_of(thread) != root}
        changed = self._trees[root] = asyncio.Event()
        if root in self._regained:
            self._regained.pop(root).set()
        try:
            while True:
                changed.clear()
                self._start_tree(root)
                if all(self.is_asleep(thread) for thread in self._busy if root_of(thread) == root):
                    return 0
                await changed.wait()
        finally:
            del self._trees[root]

    def _start_tree(self, root: str) -> None:
        for thread in self._journal.busy_threads(root):
            if thread not in self._busy and thread not in self._lost and self._may_turn(thread):
                self._start(thread)

    def _keepers(self, root: str = "") -> dict[str, int]:
        """Return the ids of workers by the roots of the trees (or of one) of which they run a turn."""
        if self._share.name is None:
            return {}
        found = dict[str, int]()
        for thread in self._journal.threads_with_pending(TurnBegan, root=root):
            keeper = self._suspects.keeper_of(thread)
            if keeper:
                found[root_of(thread)] = keeper
        return found

    def _is_ours(self, keeper: int) -> bool:
        return not keeper or (self._share.name is not None and keeper == self._share.name.id)

    async def _regain_tree(self, thread: str) -> None:
        """Wait until this worker may take turns of the thread's tree."""
        while not self._share.may_take(thread):
            regained = self._regained.setdefault(root_of(thread), asyncio.Event())
            self._share.note_busy(thread, keeps=True)
            await regained.wait()

    async def _follow_for_ever(self) -> None:
        """Act at once on what others write."""
        upto = self._journal.last_seq_of_all()
        while True:
            changed = self._journal.next_change
            heads = self._journal.heads_since(upto)
            for head in heads:
                upto = head.seq
                await self._guarded(self._follow(head), f"The entry {head.seq}")
            if not heads:
                await changed.wait()

    async def _follow(self, head: EntryHead) -> None:
        if head.kind in self._input_kinds and self._journal.is_pending(head.seq):
            self.wake(head.thread)
        elif head.kind in self._lease_kinds:
            execution = self._turns.running.get(head.thread)
            if execution and not self._journal.holds_lease(head.thread, execution.epoch):
                self._busy[head.thread].cancel()  # another worker goes on with it
        elif head.kind in self._success_kinds and head.thread not in self._busy:
            for entry in self._journal.readable_entries([head.seq]):
                subject = self._program.subject_reached(entry)
                if subject is not None:
                    self.note_success(subject)
