"""One attempt at an execution: what it took up, what is recorded of it, and who may write for it.

An execution may last several turns: where it waits it suspends, and runs again from the top when its answer
has come, reading back all that it did. Its contexts (`context.py`) do the steps; the worker ends it.

What is recorded of one execution, and what of it this run has read back: the rules of replay.

Every step is looked up here before it is done. A difference between what the code does and what is recorded
is Nondeterminism.

Which of the inputs of an execution answers which of its questions.

What an execution appends and does not wait for: it is sent to disk, in order, while the execution goes on.

What may be done again needs no wait of its own. Whatever is awaited afterwards comes after it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from daemon.engine.clock import JournalClock
from daemon.engine.event import (
    FAILED,
    PART,
    STOPPED,
    UNHASHED,
    Entry,
    Event,
    Input,
    InputRank,
    StepEvent,
    context_of,
    enclosing_contexts,
    in_seq_order,
    is_named_by_content,
    is_part,
    is_renamed,
    last_words_path,
    of_kind,
    parent_of,
    restarted_path,
    seqs_of,
    step_of,
)
from daemon.engine.exceptions import FencedError, JournalError, KeyConflict, ReplayMismatch, ReplayRequested
from daemon.engine.journal.journal import EntryDraft, Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.journal.writer import Fence
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
    turn_id,
)
from daemon.engine.outages import ExecutionServices, OutageWaiter
from daemon.engine.retries import turn_failures

Hold = Callable[[], None]
"""Raises Fenced when the thread is no longer ours. Stands directly before what the world sees or bills."""


class ReplayLog:
    """The steps of an execution: `entries` stand under its path.

    What stands `beside` them is read back, too, and is no step: how an outage was told, and what was done
    before a restart, or before the last words.
    """

    def __init__(self, path: str, entries: Sequence[Entry[Any]], beside: Iterable[Entry[Any]] = ()) -> None:
        self.path = path
        self.log: Sequence[Entry[StepEvent]] = ()
        """The steps of the executions that it stands for, in order."""
        self._entries = {entry.key: entry for entry in [*entries, *beside]}
        steps = of_kind(StepEvent, entries)
        self._unread = {entry.key for entry in steps if not is_renamed(entry.key)}
        self._parts = _parts_by_step(self._unread)
        self._taken = {entry.event.taken_from for entry in steps}
        self._claimed = {path}

    @property
    def is_replaying(self) -> bool:
        """Is anything recorded, in whatever context, that was not read back yet?"""
        return bool(self._unread)

    def add(self, entry: Entry[Any]) -> None:
        """Something that this run has just appended."""
        self._entries[entry.key] = entry

    def enter_context(self, path: str) -> None:
        """The code has come to this context."""
        self._claimed.add(path)

    def find(self, key: str) -> Entry[Any] | None:
        """What is recorded under this key; the look alone changes nothing."""
        return self._entries.get(key)

    def read_back(self, key: str, fingerprint: str = "") -> Entry[Any] | None:
        """Read a step back, or a part of one. Raises Nondeterminism where something else was asked then."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if fingerprint and _asks_else(entry, fingerprint):
            raise ReplayMismatch(f"{key} asks for something else than what is recorded")
        self._unread.discard(key)
        if is_part(key):
            self._read_parts(step_of(key))
        else:
            self._read_parts(key, before=entry.seq)
        return entry

    def _read_parts(self, step: str, before: int | None = None) -> None:
        """The end of a step ends all its parts, and its entry those that were written `before` it."""
        for key in self._parts.get(step, ()):
            if before is None or self._entries[key].seq < before:
                self._unread.discard(key)

    def mark_repeatable(self, step: str) -> None:
        """This step is done again: what a former attempt did of it may be of use, and need not be."""
        self._read_parts(step_of(step))

    def begin_step(self, key: str) -> None:
        """A step that is not recorded is to be done. Raises Nondeterminism where a recorded one was missed.

        What is recorded in this context, and in those that wait for it, must have been read, and each context
        beside it that is recorded must have been claimed. A context named by its content stands alone. What a
        former attempt did of the step itself is gone on from.
        """
        self.mark_repeatable(key)
        if not self._unread:
            return
        line = self._line(context_of(key))
        for unread in self._unread:
            there = context_of(unread)
            if there in line and not is_part(unread):
                raise ReplayMismatch(f"{key} is new, and {unread} was not read")
            passed = self._unclaimed(there)
            if passed and not is_named_by_content(passed) and context_of(passed) in line:
                raise ReplayMismatch(f"{key} is new, and nobody came to {passed}")

    def _line(self, path: str) -> set[str]:
        """This context and those above it, up to the nearest that is named by its content."""
        line = set[str]()
        for above in reversed(enclosing_contexts(path, self.path)):
            line.add(above)
            if is_named_by_content(above):
                break
        return line

    def _unclaimed(self, path: str) -> str | None:
        """The uppermost context on the way to this one that the code has not come to."""
        for above in enclosing_contexts(path, self.path):
            if above not in self._claimed:
                return above
        return None

    def check_all_read(self, path: str) -> None:
        """A context is through, or suspends. Raises Nondeterminism where a recorded step was not read."""
        left = [key for key in self._unread if key.startswith(f"{path}/")]
        if left:
            raise ReplayMismatch(f"{path} came to its end, and {min(left)} was not read")

    def take_over(self, fingerprint: str, finished: tuple[type[StepEvent], ...]) -> Entry[Any] | None:
        """What an abandoned execution finished and asked with the same words; each only once, in order."""
        for entry in self.log:
            fits = entry.event.fingerprint == fingerprint and isinstance(entry.event, finished)
            if fits and entry.key not in self._taken:
                self._taken.add(entry.key)
                return entry
        return None


def _asks_else(entry: Entry[Any], fingerprint: str) -> bool:
    """True if the step is known to have asked something else: what was forgotten is read back as it is."""
    return not entry.forgotten and entry.event.fingerprint not in (fingerprint, UNHASHED)


def _parts_by_step(keys: Iterable[str]) -> Mapping[str, Sequence[str]]:
    parts = defaultdict[str, list[str]](list)
    for key in keys:
        if is_part(key):
            parts[step_of(key)].append(key)
    return parts


class AnswerMatcher:
    """Of one attempt. Each input answers once; `answered` are the answers that are recorded already."""

    def __init__(
        self, journal: JournalReader, began: Entry[TurnBegan], answered: Iterable[Entry[AnswerReceived]]
    ) -> None:
        self._journal = journal
        self._began = began
        self._used = {entry.event.input for entry in answered}

    def find_answer(self, waits: Entry[Any], inputs: Sequence[Entry[Input]]) -> Entry[Input] | None:
        """The first of these inputs that answers this question or wait.

        One that names the question of an abandoned execution counts where the same is asked again.
        """
        for entry in inputs:
            if entry.seq not in self._used and self._answers(entry, waits):
                self._used.add(entry.seq)
                return entry
        return None

    def unasked_answers(self, inputs: Sequence[Entry[Input]]) -> list[Entry[Input]]:
        """Those of these that answer a question which is not asked any more."""
        found = []
        for entry in inputs:
            asked = self.question_answered_by(entry)
            if asked and entry.seq not in self._used and not self._journal.is_pending(asked.seq):
                found.append(entry)
        return found

    def question_answered_by(self, given: Entry[Input]) -> Entry[AnswerAwaited] | None:
        """The question that this input answers."""
        key = self._named(given)
        if not key:
            return None
        named = self._journal.get(key)
        if named is None or not isinstance(named.event, AnswerAwaited):
            return None
        return cast(Entry[AnswerAwaited], named)

    def _answers(self, given: Entry[Input], waits: Entry[Any]) -> bool:
        if self._named(given) == waits.key:
            return True
        asked = self.question_answered_by(given)
        if asked is None:
            return False
        same = asked.event.asks_the_same(waits.event)
        return same and asked.event.execution == self._began.event.execution and asked.kind == waits.kind

    def _named(self, given: Entry[Input]) -> str:
        """The key of the question that this input answers: it says so itself, or its turn does."""
        if given.event.answers or given.seq not in self._began.event.inputs:
            return given.event.answers
        return self._began.event.answers


T = TypeVar("T")


PATIENCE = 600
"""Seconds for which what was done is kept that the journal does not take."""


async def retry_until_written(clock: JournalClock, write: Callable[..., Awaitable[T]], *what: object) -> T:
    """Write it, or raise JournalError when it could not be written for so long."""
    for _ in range(PATIENCE):
        try:
            return await write(*what)
        except JournalError:
            await clock.sleep(1.0)
    return await write(*what)


@dataclass(slots=True, kw_only=True)
class UnsavedEntry:
    """One entry that is not known to be on disk. `receipt_of` is the key of the intent that it closes."""

    draft: EntryDraft[Any]
    receipt_of: str
    seq: asyncio.Future[int] | None = None
    """None as long as it is not on its way."""


class WriteBehind:
    """The entries of one attempt that nobody has waited for yet. `saved` is told of each that is on disk."""

    def __init__(self, journal: Journal, record: ReplayLog, saved: Callable[[Entry[Any]], None]) -> None:
        self._journal = journal
        self._record = record
        self._saved = saved
        self._unsaved = deque[UnsavedEntry]()
        self._sending: asyncio.Handle | None = None

    def add(self, draft: EntryDraft[Any], receipt_of: str = "") -> None:
        """Send it with whatever else is added before the execution waits for anything: in one commit."""
        self._unsaved.append(UnsavedEntry(draft=draft, receipt_of=receipt_of))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().call_soon(self._begin)

    async def wait_until_saved(self) -> None:
        """Until all of it is on disk.

        Raises Fenced where another attempt has taken over, JournalError where it cannot be written: then it
        is sent again by whoever waits next.
        """
        while self._unsaved:
            self._send()
            first = self._unsaved[0]
            assert first.seq is not None
            sent = first.seq
            try:
                seq = await asyncio.shield(sent)
            except KeyConflict:
                raise FencedError(first.draft.row.key) from None
            except JournalError:
                if first.seq is sent:
                    for one in self._unsaved:  # none of those that come after it is written either
                        one.seq = None
                raise
            if self._unsaved and self._unsaved[0] is first:  # nobody else has waited for it, too
                self._unsaved.popleft()
                self._saved(self._entry(first, seq))

    def _entry(self, one: UnsavedEntry, seq: int) -> Entry[Any]:
        entry = one.draft.entry(seq)
        begun = self._record.find(one.receipt_of)
        return replace(entry, cause=begun.seq, closes=(begun.seq,)) if begun else entry

    def _begin(self) -> None:
        """Nobody waits yet; whoever does hears what went wrong."""
        with suppress(JournalError):
            self._send()

    def _send(self) -> None:
        """All that is not on its way. Each comes after the one before, or fails with it."""
        if self._sending:
            self._sending.cancel()
            self._sending = None
        before = ""
        for one in self._unsaved:
            if one.seq is None:
                one.seq = self._journal.submit(one.draft, after=before, receipt_of=one.receipt_of)
                one.seq.add_done_callback(_ignore_failure)
            before = one.draft.row.key


def _ignore_failure(seq: asyncio.Future[int]) -> None:
    """A failure is no news to the loop: whoever waits raises it."""
    if not seq.cancelled():
        seq.exception()


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
