"""One attempt at an execution: what it took up, what is recorded of it, and who may write for it.

An execution may last several turns: where it waits it suspends, and runs again from the top when its answer
has come, reading back all that it did. Its contexts (`context.py`) do the steps; the worker ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

from daemon.engine.answers import AnswerMatcher
from daemon.engine.attempts import turn_failures, turn_id
from daemon.engine.event import Entry, Event, Input, InputRank, StepEvent, in_seq_order, of_kind, seqs_of
from daemon.engine.exceptions import FencedError, ReplayMismatch, ReplayRequested
from daemon.engine.keys import FAILED, PART, STOPPED, context_of, last_words_path, parent_of, restarted_path
from daemon.engine.kinds import (
    AnswerAwaited,
    AnswerReceived,
    AttemptFailed,
    ExecutionRestarted,
    InputsReceived,
    Intent,
    OutageBegan,
    ThreadSpawned,
    TurnBegan,
    TurnEnded,
    WaitBegan,
    WaitEnded,
)
from daemon.engine.outage import ExecutionServices, OutageWaiter
from daemon.engine.recorded import ReplayLog
from daemon.engine.unawaited import WriteBehind, retry_until_written
from daemon.engine.writer import Fence

E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=StepEvent)


class Execution:
    """An execution during one attempt. `epoch` is the seq of the entry that began this attempt: its lease.

    `is_new`: it begins with an entry that was just written, so that nothing can be recorded of it yet.
    """

    is_shown = False
    """True once this attempt is about to show people anything."""

    def __init__(
        self,
        around: ExecutionServices,
        began: Entry[TurnBegan],
        epoch: int,
        path: str = "",
        *,
        is_new: bool = False,
    ) -> None:
        self.around = around
        self.journal = journal = around.journal
        self.clock = around.clock
        self.began = began
        self.thread = began.thread
        self.epoch = epoch
        self._fence = Fence(thread=self.thread, epoch=epoch)
        self.id = began.event.execution
        self.turn = turn_id(began)
        self.first = self._beginning()
        self.inputs: list[Entry[Input]] = journal.entries_at(self._all_inputs())
        """All that it took up, in its turns and by accepting it, in order."""
        self.stopping = asyncio.Event()
        """Set when somebody wants it to end: what is in flight is broken off, and nothing new is begun."""
        self.latched: ReplayMismatch | None = None
        self.reached = self.id
        """The key that was taken last: where a failure happened."""
        self.names = set[str]()
        """The ids that its contexts have taken for threads under this one."""
        self._none_since: int | None = None
        """What had arrived when there was nothing fresh."""
        self.is_new = is_new
        self._lifetime: list[Entry[Event]] | None = [began]
        paths = [self.id]
        if not is_new:
            self._lifetime = None
            paths = journal.execution_paths(self.id)
        *self.abandoned, current = paths
        self.restarts = len(self.abandoned)
        self.path = path or current
        mine, beside = self._recorded(current)
        self.record = ReplayLog(self.path, mine, beside)
        self._unawaited = WriteBehind(journal, self.record, self._written)
        self.freeze_restart_log()
        self._answers = AnswerMatcher(journal, began, of_kind(AnswerReceived, [*self.restart_log, *mine]))
        self._received = set(_received_inputs(mine))
        self.outages = OutageWaiter(self, around, self._outages_in(beside))

    def _beginning(self) -> Entry[TurnBegan]:
        """The entry with which it began, in this turn or in an earlier one."""
        if self.turn == self.id:
            return self.began
        found = self.journal.get(f"{self.id}/began")
        if found is None or not isinstance(found.event, TurnBegan):
            raise LookupError(f"an execution without a beginning: {self.id}")
        return cast(Entry[TurnBegan], found)

    def _recorded(self, current: str) -> tuple[list[Entry[Event]], list[Entry[Event]]]:
        """What is recorded under its path, and what is recorded of it beside that."""
        if self.is_new:
            return [], []
        beside = self.journal.entries_of_step(self.path)
        if self.turn != self.path:
            beside += self.journal.entries_of_step(self.turn)
        for other in [*self.abandoned, current]:
            if other != self.path:
                beside += self.journal.entries_under(other)
        return self.journal.entries_under(self.path), beside

    def _outages_in(self, beside: Sequence[Entry[Event]]) -> list[Entry[OutageBegan]]:
        return [entry for entry in of_kind(OutageBegan, beside) if entry.key.startswith(f"{self.path}{PART}")]

    def _all_inputs(self) -> list[int]:
        return list(dict.fromkeys([*self.first.event.inputs, *self.began.event.inputs]))

    @property
    def first_inputs(self) -> list[Entry[Input]]:
        """What it took up at its first begin."""
        return self.inputs[: len(self.first.event.inputs)]

    def freeze_restart_log(self) -> None:
        """What the executions did that this one stands for, once nothing of it is half done any more."""
        log = list[Entry[StepEvent]]()
        for path in self.abandoned:
            log += of_kind(StepEvent, self.journal.entries_under(path))
        self.record.log = log

    @property
    def restart_log(self) -> Sequence[Entry[StepEvent]]:
        """What the executions did that this one stands for, after a restart."""
        return self.record.log

    @property
    def is_in_outage(self) -> bool:
        """Does it wait for something that cannot be reached? Then what is tried is shown to nobody."""
        return self.outages.is_lasting

    @property
    def has_stale_answer(self) -> bool:
        """Did it take up an answer to a question that waits no more?"""
        return self.turn == self.id and all(
            self._answers.question_answered_by(entry) for entry in self.first_inputs
        )

    def owns_context(self, path: str) -> bool:
        """Is this context one of its own? What is done beside it, to tell of an outage, waits for none."""
        return path == self.path or path.startswith(f"{self.path}/")

    def check_lease(self) -> None:
        """Is the thread still ours? Directly before whatever the world sees or bills. Raises Fenced."""
        if not self.journal.holds_lease(self.thread, self.epoch):
            raise FencedError(f"another attempt at {self.thread} began after this one")

    async def append(
        self,
        event: E,
        key: str,
        *,
        thread: str = "",
        cause: int | None = None,
        closes: Sequence[int] = (),
        moot: Sequence[int] = (),
    ) -> Entry[E]:
        """A new entry of this attempt; it closes what is `moot`, too, if nothing else has by then.

        What was appended soon is on disk before. Raises Fenced where a later attempt has taken over.
        """
        if cause is None:
            cause = self.began.seq
        await self.wait_until_saved()
        entry, new = await self.journal.append(
            thread or self.thread,
            event,
            key=key,
            author=self.around.author,
            cause=cause,
            closes=closes,
            moot=moot,
            fence=self._fence,
        )
        if not new:
            raise FencedError(key)
        self._written(entry)
        if self.around.replays_always and isinstance(event, StepEvent):
            raise ReplayRequested(key)
        return entry

    async def append_soon(self, event: S, key: str, *, receipt_of: str = "") -> S:
        """The same, without waiting for it: only for what may be done again, and what the world does not see.

        It comes to disk in order, before all that is awaited afterwards. Returns the event as it is read
        back; `receipt_of` is the key of the intent that it closes.
        """
        draft = self.journal.make_draft(
            self.thread,
            event,
            key=key,
            author=self.around.author,
            cause=self.began.seq,
            fence=self._fence,
        )
        self._unawaited.add(draft, receipt_of)
        if self.around.replays_always:
            await self.wait_until_saved()
            raise ReplayRequested(key)
        return draft.event

    async def wait_until_saved(self) -> None:
        """Until all that was appended soon is on disk. Raises Fenced and JournalError."""
        await self._unawaited.wait_until_saved()

    def _written(self, entry: Entry[Any]) -> None:
        """This is on disk, and was appended by this attempt."""
        self.record.add(entry)
        if self._lifetime is not None:
            self._lifetime.append(entry)

    # What comes to it

    def has_new_inputs(self) -> list[Entry[Input]]:
        """What waits for this thread and is not taken up by this execution."""
        arrived = self.journal.arrival_counter(self.thread)
        if arrived == self._none_since:  # where there is none, there is none until something arrives
            return []
        mine = set(seqs_of(self.inputs))
        found = [entry for entry in self.journal.pending_inputs(self.thread) if entry.seq not in mine]
        if not found:
            self._none_since = arrived
        return found

    def new_inputs(self) -> list[Entry[Input]]:
        """What of it may concern a running execution: stops and messages."""
        return [
            entry
            for entry in self.has_new_inputs()
            if entry.event.rank in (InputRank.STOP, InputRank.MESSAGE)
        ]

    def unreceived_inputs(self) -> list[Entry[Input]]:
        """What of that it has not received yet; nothing while it replays."""
        if self.record.is_replaying:
            return []
        return [entry for entry in self.new_inputs() if entry.seq not in self._received]

    def mark_received(self, seqs: Sequence[int]) -> list[Entry[Input]]:
        """These it has looked at."""
        self._received |= {*seqs}
        return self.journal.entries_at(seqs)

    @property
    def last_seen_seq(self) -> int:
        """The seq of the newest that it was given to see: a wait counts what comes after."""
        looked = [_seen_up_to(entry) for entry in self.inputs]
        return max([*looked, *self._received], default=0)

    def accept_inputs(self, entries: Sequence[Entry[Input]]) -> None:
        """These, too, are inputs of this execution, and end with its turn."""
        known = set(seqs_of(self.inputs))
        self.inputs += [entry for entry in entries if entry.seq not in known]

    def answer_to(self, waits: Entry[Any]) -> Entry[Input] | None:
        """The input of this execution that answers this question or wait; each input answers once."""
        return self._answers.find_answer(waits, self.inputs)

    def void_answers(self) -> list[Entry[Input]]:
        """Answers that it took up, whose question it does not ask any more."""
        return self._answers.unasked_answers(self.inputs)

    # Its place among threads

    @property
    def recorded_paths(self) -> list[str]:
        """The paths under which it has recorded anything: before each restart, and now."""
        return list(dict.fromkeys([*self.abandoned, restarted_path(self.id, self.restarts), self.path]))

    @property
    def failed_attempts(self) -> list[Entry[AttemptFailed]]:
        """The attempts at this turn that failed so far, in order."""
        return turn_failures(self.journal, self.began)

    def all_recorded(self) -> list[Entry[Event]]:
        """All that is recorded of it, with its turns, the attempts at them and its outages, in order.

        Read once: nobody else records anything of it as long as this attempt lasts.
        """
        if self._lifetime is None:
            self._lifetime = self._recorded_so_far()
        return self._lifetime

    def _recorded_so_far(self) -> list[Entry[Event]]:
        found = self.recorded_entries(Event)
        keys = self.recorded_paths
        for began in self.journal.thread_entries(self.thread, TurnBegan, since=self.first.seq):
            if began.event.execution == self.id:
                found.append(began)
                keys.append(turn_id(began))
        for key in dict.fromkeys(keys):
            found += self.journal.entries_of_step(key)
        return in_seq_order(found)

    def recorded_entries(self, *kinds: type[E]) -> list[Entry[E]]:
        """All that is recorded of it, of these kinds (of all, where none is named), in order."""
        found = list[Entry[Any]]()
        for path in self.recorded_paths:
            found += self.journal.entries_under(path)
        return [entry for entry in found if isinstance(entry.event, kinds or Event)]

    async def append_result(self, event: E, key: str) -> Entry[E]:
        """Append what was done already and may have cost something: where the journal cannot be written it
        is kept, and tried again, for as long as ten minutes."""
        return await retry_until_written(self.clock, self.append, event, key)

    async def wait_until_all_saved(self) -> None:
        """The same wait as `saved`, and as patient, where something was done that may have cost something."""
        await retry_until_written(self.clock, self.wait_until_saved)

    @property
    def parent_thread(self) -> str:
        """The thread above this one; empty for a root."""
        return parent_of(self.thread)

    def spawned_by(self) -> Entry[ThreadSpawned] | None:
        """The entry that began this thread, if it is under another one and has not ended."""
        for spawned in self.journal.pending_entries(ThreadSpawned, thread=self.parent_thread):
            if spawned.event.thread == self.thread:
                return spawned
        return None

    # Its end

    async def restart(self, why: ReplayMismatch) -> None:
        """Leave what is recorded, with its questions and waits; the next run has a path of its own."""
        left = self._pending_under([self.path])
        withdrawn = [
            entry.seq for entry in left if isinstance(entry.event, AnswerAwaited | WaitBegan | OutageBegan)
        ]
        await self.append(ExecutionRestarted(why=str(why)), f"{self.path}/restarted", moot=withdrawn)

    def open_intents(self) -> list[Entry[Intent]]:
        """What abandoned executions were about to do, when nobody knows whether it was done."""
        return of_kind(Intent, self.entries_left_open())

    def entries_left_open(self) -> list[Entry[Event]]:
        """What abandoned executions left pending."""
        return self._pending_under(self.abandoned)

    def pending_about(self, key: str) -> list[Entry[Event]]:
        """What is pending of all that was done about this entry."""
        return self._pending_under([key])

    def _pending_under(self, keys: Iterable[str]) -> list[Entry[Event]]:
        entries = list[Entry[Event]]()
        for key in keys:
            entries += [*self.journal.entries_under(key), *self.journal.entries_of_step(key)]
        still = set(self.journal.still_pending(seqs_of(entries)))
        return [entry for entry in entries if entry.seq in still]

    async def end_turn(self, event: TurnEnded) -> Entry[TurnEnded]:
        """The last entry of this turn: closes what was taken up; where it failed, all that it left open, but
        for what has come of that and was not taken up, what is seen through beside it, and the watches that
        its last words set."""
        closes = [self.began.seq, *self.journal.still_pending(seqs_of(self.inputs))]
        closes += self.journal.still_pending(seqs_of(self.outages.recorded))
        moot = list[int]()
        if event.outcome in ("failed", "stopped", "abandoned"):
            moot = [seq for seq in self._ends_with_it() if seq not in closes]
        return await self.append(event, f"{self.turn}/ended", closes=closes, moot=moot)

    def _ends_with_it(self) -> list[int]:
        """What it left open, and is closed where it has failed."""
        told = [last_words_path(self.id, FAILED), last_words_path(self.id, STOPPED)]
        ending = list[int]()
        for entry in self._pending_under(dict.fromkeys([*self.recorded_paths, *told])):
            stays = is_watch_wait(entry) and context_of(entry.key) in told
            if closes_with_turn(entry) and not stays:
                ending.append(entry.seq)
        return ending


def closes_with_turn(entry: Entry[Any]) -> bool:
    """Is it closed where its turn has failed? Not what came to it, and not what only something else ends."""
    return TurnEnded.kind in entry.event.closed_by and not isinstance(entry.event, Input)


def is_watch_wait(entry: Entry[Any]) -> bool:
    """Is it a wait that no execution is suspended on?"""
    return isinstance(entry.event, WaitBegan) and not entry.event.resumes


def _seen_up_to(given: Entry[Input]) -> int:
    """Up to where an execution that took this up had seen what came."""
    if isinstance(given.event, WaitEnded) and given.event.upto:
        return given.event.upto
    return given.seq


def _received_inputs(recorded: Iterable[Entry[Event]]) -> Iterator[int]:
    """The inputs that it has looked at, as far as this tells."""
    for received in of_kind(InputsReceived, recorded):
        yield from received.event.inputs
