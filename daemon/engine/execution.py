"""One attempt at an execution: its inputs, lease, recorded steps, and entries on their way to disk.

At a wait, an execution is suspended. When the input comes, it runs again from the top and reads its steps
back; a difference raises ReplayMismatch.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from daemon.engine.clock import Clock
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

E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=StepEvent)
T = TypeVar("T")

Hold = Callable[[], Awaitable[None]]
"""Check of the lease, awaited before anything visible or billed. Raises FencedError or JournalError."""


async def no_lease_check() -> None:
    """Check nothing: for requests that no lease protects."""


class ReplayLog:
    """Recorded steps of an execution. Each is unread until this run reads it back.

    Entries in `beside` may be read, but need not.
    """

    def __init__(self, path: str, entries: Sequence[Entry[Any]], beside: Iterable[Entry[Any]] = ()) -> None:
        self.path = path
        self.log: Sequence[Entry[StepEvent]] = ()
        self._entries = {entry.key: entry for entry in [*entries, *beside]}
        steps = of_kind(StepEvent, entries)
        self._unread = {entry.key for entry in steps if not is_renamed(entry.key)}
        self._parts = _parts_by_step(self._unread)
        self._taken = {entry.event.taken_from for entry in steps}
        self._claimed = {path}

    @property
    def is_replaying(self) -> bool:
        """True if a recorded step is still unread."""
        return bool(self._unread)

    def add(self, entry: Entry[Any]) -> None:
        self._entries[entry.key] = entry

    def enter_context(self, path: str) -> None:
        self._claimed.add(path)

    def find(self, key: str) -> Entry[Any] | None:
        return self._entries.get(key)

    def read_back(self, key: str, fingerprint: str = "") -> Entry[Any] | None:
        """Read back an entry; None if there is none. Raises ReplayMismatch if its fingerprint differs."""
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
        for key in self._parts.get(step, ()):
            if before is None or self._entries[key].seq < before:
                self._unread.discard(key)

    def mark_parts_as_read(self, step: str) -> None:
        """Mark all parts of a step as read: whoever repeats the step need not come to them again."""
        self._read_parts(step_of(step))

    def begin_step(self, key: str) -> None:
        """Begin a new step. Raises ReplayMismatch if a recorded step was skipped.

        Steps in this context and its parents must have been read, and contexts in them entered, unless named
        by content.
        """
        self.mark_parts_as_read(key)
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
        line = set[str]()
        for above in reversed(enclosing_contexts(path, self.path)):
            line.add(above)
            if is_named_by_content(above):
                break
        return line

    def _unclaimed(self, path: str) -> str | None:
        for above in enclosing_contexts(path, self.path):
            if above not in self._claimed:
                return above
        return None

    def check_all_read(self, path: str) -> None:
        """Raise ReplayMismatch if recorded steps of this context are unread."""
        left = [key for key in self._unread if key.startswith(f"{path}/")]
        if left:
            raise ReplayMismatch(f"{path} came to its end, and {min(left)} was not read")

    def take_over(self, fingerprint: str, finished: tuple[type[StepEvent], ...]) -> Entry[Any] | None:
        for entry in self.log:
            fits = entry.event.fingerprint == fingerprint and isinstance(entry.event, finished)
            if fits and entry.key not in self._taken:
                self._taken.add(entry.key)
                return entry
        return None


def _asks_else(entry: Entry[Any], fingerprint: str) -> bool:
    return not entry.forgotten and entry.event.fingerprint not in (fingerprint, UNHASHED)


def _parts_by_step(keys: Iterable[str]) -> Mapping[str, Sequence[str]]:
    parts = defaultdict[str, list[str]](list)
    for key in keys:
        if is_part(key):
            parts[step_of(key)].append(key)
    return parts


class AnswerMatcher:
    """Matching of questions and inputs in one attempt. Each input answers once."""

    def __init__(
        self, journal: JournalReader, began: Entry[TurnBegan], answered: Iterable[Entry[AnswerReceived]]
    ) -> None:
        self._journal = journal
        self._began = began
        self._used = {entry.event.input for entry in answered}

    def find_answer(self, waits: Entry[Any], inputs: Sequence[Entry[Input]]) -> Entry[Input] | None:
        """Return the first unused input that answers `waits`, or the same question before a restart."""
        for entry in inputs:
            if entry.seq not in self._used and self._answers(entry, waits):
                self._used.add(entry.seq)
                return entry
        return None

    def unasked_answers(self, inputs: Sequence[Entry[Input]]) -> list[Entry[Input]]:
        """Return unused inputs whose question is closed."""
        found = []
        for entry in inputs:
            asked = self.question_answered_by(entry)
            if asked and entry.seq not in self._used and not self._journal.is_pending(asked.seq):
                found.append(entry)
        return found

    def question_answered_by(self, given: Entry[Input]) -> Entry[AnswerAwaited] | None:
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
        if given.event.answers or given.seq not in self._began.event.inputs:
            return given.event.answers
        return self._began.event.answers


WRITE_RETRIES = 600
"""Number of retries of a failed write, one a second."""


async def retry_until_written(clock: Clock, write: Callable[..., Awaitable[T]], *what: object) -> T:
    """Call `write` until it succeeds. Raises JournalError after ten minutes of failures."""
    for _ in range(WRITE_RETRIES):
        try:
            return await write(*what)
        except JournalError:
            await clock.sleep(1.0)
    return await write(*what)


@dataclass(slots=True, kw_only=True)
class UnsavedEntry:
    """Entry not on disk yet. It closes the intent with the key `receipt_of`."""

    draft: EntryDraft[Any]
    receipt_of: str
    seq: asyncio.Future[int] | None = None
    """Future seq, after the entry was sent to the writer."""


class WriteBehind:
    """Entries of one attempt on their way to disk; `saved` is called with each that arrives."""

    def __init__(self, journal: Journal, record: ReplayLog, saved: Callable[[Entry[Any]], None]) -> None:
        self._journal = journal
        self._record = record
        self._saved = saved
        self._unsaved = deque[UnsavedEntry]()
        self._sending: asyncio.Handle | None = None

    def add(self, draft: EntryDraft[Any], receipt_of: str = "") -> None:
        """Queue an entry. Entries queued before the next await share a commit."""
        self._unsaved.append(UnsavedEntry(draft=draft, receipt_of=receipt_of))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().call_soon(self._begin)

    async def wait_until_saved(self) -> None:
        """Wait until all entries are on disk. Raises FencedError, or JournalError; the next call retries."""
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
                    for one in self._unsaved:  # later entries were not written either
                        one.seq = None
                raise
            if self._unsaved and self._unsaved[0] is first:  # a concurrent caller may have removed it
                self._unsaved.popleft()
                self._saved(self._entry(first, seq))

    def _entry(self, one: UnsavedEntry, seq: int) -> Entry[Any]:
        entry = one.draft.entry(seq)
        begun = self._record.find(one.receipt_of)
        return replace(entry, cause=begun.seq, closes=(begun.seq,)) if begun else entry

    def _begin(self) -> None:
        with suppress(JournalError):
            self._send()

    def _send(self) -> None:
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
    """Retrieve the error, or asyncio logs it."""
    if not seq.cancelled():
        seq.exception()


class Execution:
    """One attempt at an execution. `epoch`, the seq of its first entry, is its lease."""

    is_shown = False
    """True after people may have seen something of this attempt."""

    def __init__(
        self,
        services: ExecutionServices,
        began: Entry[TurnBegan],
        epoch: int,
        path: str = "",
        *,
        is_new: bool = False,
    ) -> None:
        self.services = services
        self.journal = journal = services.journal
        self.clock = services.clock
        self.began = began
        self.thread = began.thread
        self.epoch = epoch
        self._fence = Fence(thread=self.thread, epoch=epoch)
        self.id = began.event.execution
        self.turn = turn_id(began)
        self.first = self._beginning()
        self.inputs: list[Entry[Input]] = journal.entries_at(self._all_inputs())
        """Inputs that the execution took or accepted, in order."""
        self.stopping = asyncio.Event()
        """Set to stop the execution: running calls are cancelled, new ones refused."""
        self.latched: ReplayMismatch | None = None
        self.reached = self.id  # key of the latest step, where failures are recorded
        self.names = set[str]()  # ids taken for child threads
        self._none_since: int | None = None  # arrival marker when no input was fresh
        self.is_new = is_new
        self._lifetime: list[Entry[Event]] | None = [began] if is_new else None
        *self.abandoned, current = [self.id] if is_new else journal.execution_paths(self.id)
        self.restarts = len(self.abandoned)
        self.path = path or current
        mine, beside = self._recorded(current)
        self.record = ReplayLog(self.path, mine, beside)
        self._unawaited = WriteBehind(journal, self.record, self._written)
        self.freeze_restart_log()
        self._answers = AnswerMatcher(journal, began, of_kind(AnswerReceived, [*self.restart_log, *mine]))
        self._received = set(_received_inputs(mine))
        self.outages = OutageWaiter(self, services, self._outages_in(beside))

    def _beginning(self) -> Entry[TurnBegan]:
        if self.turn == self.id:
            return self.began
        found = self.journal.get(f"{self.id}/began")
        if found is None or not isinstance(found.event, TurnBegan):
            raise LookupError(f"an execution without a beginning: {self.id}")
        return cast(Entry[TurnBegan], found)

    def _recorded(self, current: str) -> tuple[list[Entry[Event]], list[Entry[Event]]]:
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
        return self.inputs[: len(self.first.event.inputs)]

    def freeze_restart_log(self) -> None:
        """Collect the steps of abandoned executions, after their unfinished effects were settled."""
        log = list[Entry[StepEvent]]()
        for path in self.abandoned:
            log += of_kind(StepEvent, self.journal.entries_under(path))
        self.record.log = log

    @property
    def restart_log(self) -> Sequence[Entry[StepEvent]]:
        return self.record.log

    @property
    def is_in_outage(self) -> bool:
        """True while a step waits for an unreachable service."""
        return self.outages.is_lasting

    @property
    def has_stale_answer(self) -> bool:
        """True if begun only by answers to closed questions."""
        return self.turn == self.id and all(
            self._answers.question_answered_by(entry) for entry in self.first_inputs
        )

    def owns_context(self, path: str) -> bool:
        """True for contexts of the execution itself; the report of an outage has its own."""
        return path == self.path or path.startswith(f"{self.path}/")

    async def check_lease(self) -> None:
        """Raise FencedError if a later attempt has the lease. Await it before anything visible or billed."""
        await self.journal.confirm_lease(self.thread, self.epoch)

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
        """Append an entry after all queued ones; close those of `moot` that are pending.

        Raises FencedError if a later attempt has the lease.
        """
        if cause is None:
            cause = self.began.seq
        await self.wait_until_saved()
        entry, new = await self.journal.append(
            thread or self.thread,
            event,
            key=key,
            author=self.services.author,
            cause=cause,
            closes=closes,
            moot=moot,
            fence=self._fence,
        )
        if not new:
            raise FencedError(key)
        self._written(entry)
        if self.services.replays_always and isinstance(event, StepEvent):
            raise ReplayRequested(key)
        return entry

    async def append_soon(self, event: S, key: str, *, receipt_of: str = "") -> S:
        """Queue an entry of repeatable work that nobody outside sees; return the event as readers decode it.

        Entries awaited later reach the disk after it. It closes the intent with the key `receipt_of`.
        """
        draft = self.journal.make_draft(
            self.thread,
            event,
            key=key,
            author=self.services.author,
            cause=self.began.seq,
            fence=self._fence,
        )
        self._unawaited.add(draft, receipt_of)
        if self.services.replays_always:
            await self.wait_until_saved()
            raise ReplayRequested(key)
        return draft.event

    async def wait_until_saved(self) -> None:
        await self._unawaited.wait_until_saved()

    def _written(self, entry: Entry[Any]) -> None:
        self.record.add(entry)
        if self._lifetime is not None:
            self._lifetime.append(entry)

    # Inputs

    def untaken_inputs(self) -> list[Entry[Input]]:
        """Return pending inputs that the execution has not taken."""
        arrived = self.journal.arrival_counter(self.thread)
        if arrived == self._none_since:  # nothing has arrived since
            return []
        mine = set(seqs_of(self.inputs))
        found = [entry for entry in self.journal.pending_inputs(self.thread) if entry.seq not in mine]
        if not found:
            self._none_since = arrived
        return found

    def new_inputs(self) -> list[Entry[Input]]:
        """Return new stops and messages."""
        return [
            entry
            for entry in self.untaken_inputs()
            if entry.event.rank in (InputRank.STOP, InputRank.MESSAGE)
        ]

    def unreceived_inputs(self) -> list[Entry[Input]]:
        """Return new stops and messages not yet received; none during replay."""
        if self.record.is_replaying:
            return []
        return [entry for entry in self.new_inputs() if entry.seq not in self._received]

    def mark_received(self, seqs: Sequence[int]) -> list[Entry[Input]]:
        self._received |= {*seqs}
        return self.journal.entries_at(seqs)

    @property
    def last_seen_seq(self) -> int:
        """Seq of the newest input received; waits count later entries."""
        seen = [_seen_up_to(entry) for entry in self.inputs]
        return max([*seen, *self._received], default=0)

    def accept_inputs(self, entries: Sequence[Entry[Input]]) -> None:
        known = set(seqs_of(self.inputs))
        self.inputs += [entry for entry in entries if entry.seq not in known]

    def answer_to(self, waits: Entry[Any]) -> Entry[Input] | None:
        return self._answers.find_answer(waits, self.inputs)

    def void_answers(self) -> list[Entry[Input]]:
        return self._answers.unasked_answers(self.inputs)

    # Threads and paths

    @property
    def recorded_paths(self) -> list[str]:
        """Paths under which the execution has entries: one for each restart."""
        return list(dict.fromkeys([*self.abandoned, restarted_path(self.id, self.restarts), self.path]))

    @property
    def failed_attempts(self) -> list[Entry[AttemptFailed]]:
        return turn_failures(self.journal, self.began)

    def all_recorded(self) -> list[Entry[Event]]:
        """Return the execution's entries in order, with turns, attempts and outages."""
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
        found = list[Entry[Any]]()
        for path in self.recorded_paths:
            found += self.journal.entries_under(path)
        return [entry for entry in found if isinstance(entry.event, kinds or Event)]

    async def append_result(self, event: E, key: str) -> Entry[E]:
        """Append the result of work that may have cost something; retry for ten minutes."""
        return await retry_until_written(self.clock, self.append, event, key)

    async def wait_until_all_saved(self) -> None:
        """Wait until queued entries are on disk; retry for ten minutes."""
        await retry_until_written(self.clock, self.wait_until_saved)

    @property
    def parent_thread(self) -> str:
        return parent_of(self.thread)

    def spawned_by(self) -> Entry[ThreadSpawned] | None:
        """Return the entry that spawned this thread, unless it is closed."""
        for spawned in self.journal.pending_entries(ThreadSpawned, thread=self.parent_thread):
            if spawned.event.thread == self.thread:
                return spawned
        return None

    # End

    async def restart(self, why: ReplayMismatch) -> None:
        """Abandon the recorded steps, questions and waits. The next run has a new path."""
        left = self._pending_under([self.path])
        withdrawn = [
            entry.seq for entry in left if isinstance(entry.event, AnswerAwaited | WaitBegan | OutageBegan)
        ]
        await self.append(ExecutionRestarted(why=str(why)), f"{self.path}/restarted", moot=withdrawn)

    def open_intents(self) -> list[Entry[Intent]]:
        """Return intents of abandoned executions without an outcome."""
        return of_kind(Intent, self.entries_left_open())

    def entries_left_open(self) -> list[Entry[Event]]:
        return self._pending_under(self.abandoned)

    def pending_about(self, key: str) -> list[Entry[Event]]:
        return self._pending_under([key])

    def _pending_under(self, keys: Iterable[str]) -> list[Entry[Event]]:
        entries = list[Entry[Event]]()
        for key in keys:
            entries += [*self.journal.entries_under(key), *self.journal.entries_of_step(key)]
        still = set(self.journal.still_pending(seqs_of(entries)))
        return [entry for entry in entries if entry.seq in still]

    async def end_turn(self, event: TurnEnded) -> Entry[TurnEnded]:
        """End this turn and close its inputs and, after a failure, its other pending entries.

        Watches begun by the report of the failure stay pending.
        """
        closes = [self.began.seq, *self.journal.still_pending(seqs_of(self.inputs))]
        closes += self.journal.still_pending(seqs_of(self.outages.recorded))
        moot = list[int]()
        if event.outcome in ("failed", "stopped", "abandoned"):
            moot = [seq for seq in self._ends_with_it() if seq not in closes]
        return await self.append(event, f"{self.turn}/ended", closes=closes, moot=moot)

    def _ends_with_it(self) -> list[int]:
        reports = [last_words_path(self.id, FAILED), last_words_path(self.id, STOPPED)]
        ending = list[int]()
        for entry in self._pending_under(dict.fromkeys([*self.recorded_paths, *reports])):
            stays = is_watch_wait(entry) and context_of(entry.key) in reports
            if closes_with_turn(entry) and not stays:
                ending.append(entry.seq)
        return ending


def closes_with_turn(entry: Entry[Any]) -> bool:
    return TurnEnded.kind in entry.event.closed_by and not isinstance(entry.event, Input)


def is_watch_wait(entry: Entry[Any]) -> bool:
    """True for a wait on which no execution is suspended."""
    return isinstance(entry.event, WaitBegan) and not entry.event.resumes


def _seen_up_to(given: Entry[Input]) -> int:
    """Return the seq up to which the input's sender had seen entries."""
    if isinstance(given.event, WaitEnded) and given.event.upto:
        return given.event.upto
    return given.seq


def _received_inputs(recorded: Iterable[Entry[Event]]) -> Iterator[int]:
    for received in of_kind(InputsReceived, recorded):
        yield from received.event.inputs
