"""Contexts: a program performs its steps through them. Each step is recorded under its key, and read back on
replay.

Each parallel task needs its own context.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar, cast, overload

from daemon.engine.event import Entry, Input, StepEvent, fingerprint, part_key, seqs_of
from daemon.engine.exceptions import (
    ControlFlow,
    ExecutionSuspended,
    ReplayMismatch,
    Unavailable,
    most_severe_error,
)
from daemon.engine.execution import Execution, is_watch_wait
from daemon.engine.kinds import (
    AnswerAwaited,
    AnswerReceived,
    CancelRequest,
    EntryMatch,
    InputSent,
    InputsReceived,
    Intent,
    QuestionWithdrawn,
    StepGivenUp,
    StepResult,
    ThreadEnded,
    ThreadSpawned,
    WaitBegan,
    WaitEnded,
)

S = TypeVar("S", bound=StepEvent)
T = TypeVar("T")
Q = TypeVar("Q", bound=AnswerAwaited)
A = TypeVar("A", bound=AnswerReceived)


class StepContext:
    """Durable steps of one task, and their keys."""

    def __init__(self, execution: Execution, path: str) -> None:
        self.execution = execution
        self.path = path
        self._uses: Counter[str] = Counter()
        self._latched: ControlFlow | None = None
        self.current_key = path  # key of the latest step
        execution.record.enter_context(path)

    # Contexts

    def child_context(self, name: str) -> Self:
        """Return a context for a parallel task. Its key is `name` with a number."""
        return type(self)(self.execution, self.next_key(name))

    def context_about(self, *content: object) -> Self:
        """Return a context for a parallel task. Its key is made from `content`, so tasks may begin in any
        order.
        """
        return self.child_context(f":{fingerprint(*content)[:12]}")

    def context_in_step(self, key: str) -> Self:
        """Return a context for work inside the step `key`. A replay need not read its entries."""
        self.execution.record.mark_parts_as_read(key)
        return type(self)(self.execution, part_key(key, "in"))

    async def gather(self, *branches: tuple[Self, Callable[[Self], Awaitable[T]]]) -> list[T]:
        """Run each task in its context, in parallel; return the results.

        If any fail, the most severe error is raised after all have ended.
        """
        self._check()
        tasks = [self._branch(context, body) for context, body in branches]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        error = most_severe_error(results)
        if error is not None:
            raise self._latch(error)
        return cast(list[T], results)

    async def _branch(self, context: Self, body: Callable[[Self], Awaitable[T]]) -> T:
        result = await body(context)
        context.check_returned()
        return result

    def check_returned(self) -> None:
        """End this context. Raises control flow that was swallowed, or ReplayMismatch if recorded steps are
        unread.
        """
        self._check()
        self._guard(self.execution.record.check_all_read, self.path)

    # Steps

    async def run(
        self, name: str, do: Callable[[], Awaitable[Any]], asks: object = None, *, subject: str = ""
    ) -> Any:
        """Run `do` and record its JSON result, or read it back. After a crash before the record, `do` runs
        again.

        A replay compares `asks` with what is recorded. `subject` names the service that `do` uses.
        """

        async def result() -> StepResult:
            return StepResult(value=await do())

        entry = await self.step(name, asks, result, StepResult, subject=subject)
        return entry.event.value

    @overload
    async def step(
        self,
        name: str,
        asks: object,
        do: Callable[[], Awaitable[S]],
        kind: type[S],
        *,
        subject: str = ...,
        interruptible: Literal[False] = ...,
        patient: bool = ...,
    ) -> Entry[S]: ...

    @overload
    async def step(
        self,
        name: str,
        asks: object,
        do: Callable[[], Awaitable[S]],
        kind: type[S],
        *,
        subject: str = ...,
        interruptible: bool,
    ) -> Entry[S] | Entry[InputsReceived]: ...

    async def step(
        self,
        name: str,
        asks: object,
        do: Callable[[], Awaitable[S]],
        kind: type[S],
        *,
        subject: str = "",
        interruptible: bool = False,
        patient: bool = True,
    ) -> Entry[S] | Entry[InputsReceived]:
        """Run `do` and record its event, or read it back. Other parameters are as in `run`.

        If `do` raises Unavailable, a `patient` step is retried until the program gives up. An `interruptible`
        step may return new inputs instead: accept them, and call it again. Parallel tasks cannot be
        interrupted.
        """
        if interruptible and self.path != self.execution.path:
            raise RuntimeError("only the trunk of an execution is interruptible, never a parallel branch")
        key = self.next_key(name)
        asked = fingerprint(kind.kind, name, asks)
        found = await self._recorded(key, asked, (kind,))
        if found is None:
            found = await self._try(key, asked, do, subject, interruptible, patient)
        if isinstance(found.event, StepGivenUp):
            raise Unavailable(found.event.reason, found.event.subject)
        if isinstance(found.event, InputsReceived):
            self.execution.mark_received(found.event.inputs)
        return found

    async def _try(
        self,
        key: str,
        asked: str,
        do: Callable[[], Awaitable[S]],
        subject: str,
        accepts: bool,
        patient: bool,
    ) -> Entry[Any]:
        async def attempt() -> Entry[S]:
            await self.execution.check_lease()
            event = await do()
            return await self.execution.append_result(replace(event, fingerprint=asked), key)

        if not self.execution.owns_context(self.path):
            return await attempt()
        try:
            if not patient:
                return await attempt()
            done = await self.execution.outages.outlast(attempt, subject, accepts)
        except Unavailable as error:
            event = StepGivenUp(reason=error.reason, subject=error.subject, fingerprint=asked)
            return await self.execution.append(event, key)
        if isinstance(done, Entry):
            return done
        received = InputsReceived(inputs=tuple(seqs_of(done)), fingerprint=asked)
        return await self.execution.append(received, key)

    async def record(self, event: S, name: str = "", *, closes: Sequence[int] = ()) -> Entry[S]:
        """Append this event, or return the recorded entry."""
        key = self.next_key(name or event.kind)
        asked = fingerprint(event.kind, name, event)
        found = self.read_or_begin(key, asked)
        if found:
            return found
        return await self.execution.append(replace(event, fingerprint=asked), key, closes=closes)

    async def record_soon(self, event: S, name: str = "") -> tuple[str, S]:
        """Append an event without waiting for the disk, or read it back. Return its key and the event."""
        key = self.next_key(name or event.kind)
        asked = fingerprint(event.kind, name, event)
        found = self.read_or_begin(key, asked)
        if found:
            return key, found.event
        return key, await self.execution.append_soon(replace(event, fingerprint=asked), key)

    async def effect(
        self,
        intent: Intent,
        do: Callable[[], Awaitable[S]],
        unknown: S,
        *,
        repeatable: bool = False,
    ) -> Entry[S]:
        """Record an intent, run `do`, and record its outcome.

        After a crash in between, a `repeatable` effect runs again; for others, `unknown` is recorded.
        """
        key = self.next_key(intent.name)
        asked = fingerprint(intent.kind, intent)
        finished: tuple[type[StepEvent], ...] = (type(unknown),)
        if repeatable:
            finished = ()
        begun = await self._recorded(key, asked, finished)
        if begun is None:
            begun = await self.execution.append(replace(intent, fingerprint=asked), key)
        if not isinstance(begun.event, Intent):
            return begun
        receipt = part_key(key, "done")
        done = self.read_back(receipt)
        if done:
            return done
        self.execution.record.mark_parts_as_read(key)  # what a broken attempt did within it need not be read
        await self.execution.check_lease()
        doubtful = begun.seq < self.execution.epoch and not repeatable
        outcome = unknown
        if not doubtful:
            outcome = await do()
        outcome = replace(outcome, fingerprint=asked)
        return await self.execution.append(outcome, receipt, cause=begun.seq, closes=[begun.seq])

    async def effect_soon(self, intent: Intent, do: Callable[[], Awaitable[S]]) -> S:
        """Perform a repeatable effect without waiting for its records; return the outcome.

        Earlier entries are on disk before `do` runs.
        """
        key = self.next_key(intent.name)
        asked = fingerprint(intent.kind, intent)
        if await self._recorded(key, asked, ()) is None:
            await self.execution.wait_until_saved()
            await self.execution.append_soon(replace(intent, fingerprint=asked), key)
        done = self.read_back(part_key(key, "done"))
        if done:
            return cast(S, done.event)
        self.execution.record.mark_parts_as_read(key)
        await self.execution.check_lease()
        outcome = replace(await do(), fingerprint=asked)
        return await self.execution.append_soon(outcome, part_key(key, "done"), receipt_of=key)

    async def record_if_found(self, name: str, look: Callable[[], S | None]) -> Entry[S] | None:
        """Record the event that `look` returns, unless None. A replay does not call `look`."""
        key = self.next_key(name)
        found = self.read_back(key)
        if found or self.execution.record.is_replaying:
            return found
        event = look()
        if event is None:
            return None
        return await self.execution.append(event, key)

    async def append_note(self, event: S, name: str) -> Entry[S]:
        """Append an entry as a part of the current step."""
        before = len(self.execution.journal.entries_of_step(self.current_key))
        return await self.execution.append(event, part_key(self.current_key, f"{name}-{before + 1}"))

    # Building blocks of custom steps

    def recorded_step(self, name: str) -> Entry[Any] | None:
        """Return the first entry under this name, without marking it as read."""
        return self.execution.record.find(f"{self.path}/{name}#1")

    def next_key(self, name: str) -> str:
        """Return the next key of this name. Call it before the first await of a step."""
        self._check()
        self._uses[name] += 1
        key = f"{self.path}/{name}#{self._uses[name]}"
        self.current_key = self.execution.reached = key
        return key

    def uses_of(self, name: str) -> int:
        """Return the number of keys of this name that this context has taken."""
        return self._uses[name]

    def read_back(self, key: str, asked: str = "") -> Entry[Any] | None:
        """Read back the entry of this key; None if there is none. Raises ReplayMismatch if its fingerprint is
        not `asked`.
        """
        return self._guard(self.execution.record.read_back, key, asked)

    def begin_step(self, key: str) -> None:
        """Begin a new step. Raises ReplayMismatch if a recorded step was skipped."""
        self._guard(self.execution.record.begin_step, key)

    def read_or_begin(self, key: str, asked: str) -> Entry[Any] | None:
        found = self.read_back(key, asked)
        if found is None:
            self.begin_step(key)
        return found

    def take_over(self, asked: str, kind: type[S]) -> Entry[S] | None:
        """Return a finished step with the fingerprint `asked` from an abandoned execution, or None. No step
        is returned twice.
        """
        return self.execution.record.take_over(asked, (kind,))

    # Replay

    async def _recorded(
        self, key: str, asked: str, finished: tuple[type[StepEvent], ...]
    ) -> Entry[Any] | None:
        found = self.read_or_begin(key, asked)
        if found:
            return found
        old = self.execution.record.take_over(asked, finished)
        if old is None:
            return None
        return await self.execution.append(replace(old.event, taken_from=old.key), key)

    def _guard(self, look: Callable[..., T], *what: str) -> T:
        try:
            return look(*what)
        except ReplayMismatch as difference:
            self.execution.latched = difference
            raise

    def _check(self) -> None:
        if self.execution.latched:
            raise self.execution.latched
        if self._latched:
            raise self._latched

    def _latch(self, error: BaseException) -> BaseException:
        if isinstance(error, ControlFlow):
            self._latched = error
        return error


def _accept_any(_: Entry[Input]) -> bool:
    return True


class WaitContext(StepContext):
    """Steps that wait. Without the awaited input, they suspend the execution."""

    # Inputs

    async def receive(self, wanted: Callable[[Entry[Input]], bool] = _accept_any) -> list[Entry[Input]]:
        """Record and return the new inputs that are `wanted`, or read them back. Not for parallel tasks."""
        if self.path != self.execution.path:
            raise RuntimeError("only the trunk of an execution receives, never a parallel branch")
        key = self.next_key("receive")
        found = self.read_back(key)
        if found:
            return self.execution.mark_received(found.event.inputs)
        if self.execution.record.is_replaying:
            return []
        new = [entry for entry in self.execution.new_inputs() if wanted(entry)]
        if new:
            seqs = tuple(seqs_of(new))
            await self.execution.append(InputsReceived(inputs=seqs), key)
            self.execution.mark_received(seqs)
        return new

    def accept(self, entries: Sequence[Entry[Input]]) -> None:
        """Add inputs that this execution answers, too."""
        self.execution.accept_inputs(entries)

    async def ask(
        self, name: str, question: AnswerAwaited, *, within: float | None = None, until: Sequence[int] = ()
    ) -> Entry[Input] | None:
        """Suspend until the answer comes. Return None after `within` seconds, or when an entry of `until` is
        closed.
        """
        found = await self.ask_for(
            name, question, answered=_as_answer_received, kind=AnswerReceived, within=within, until=until
        )
        answer = self.execution.journal.entry(found.event.input)
        if isinstance(answer.event, WaitEnded):
            return None
        return answer

    async def ask_for(
        self,
        name: str,
        question: Q,
        *,
        answered: Callable[[Entry[Q], Entry[Input]], Awaitable[A]],
        kind: type[A],
        first: Callable[[str], Awaitable[Q]] | None = None,
        within: float | None = None,
        until: Sequence[int] = (),
    ) -> Entry[A]:
        """Suspend until the answer comes; return the entry of the event that `answered` makes.

        `first` posts the question under its key. At the deadline (as in `ask`), `answered` gets a WaitEnded.
        """
        key = self.next_key(name)
        asked = fingerprint(question.kind, name, question, within)
        waits = await self._recorded(key, asked, (kind,))
        if waits is None:
            event = question
            if first:
                event = await first(key)
            event = replace(event, fingerprint=asked, execution=self.execution.id)
            waits = await self.execution.append(event, key)
        if isinstance(waits.event, AnswerReceived):  # answered in an abandoned execution
            return waits
        deadline = await self._deadline(waits, within, until)
        return await self._answer(waits, answered, deadline)

    async def _deadline(
        self, asked: Entry[Any], within: float | None, until: Sequence[int]
    ) -> Entry[WaitBegan] | None:
        if within is None and not until:
            return None
        key = part_key(asked.key, "deadline")
        found = self.read_back(key)
        if found:
            return found
        event = WaitBegan(closed=tuple(until), want="any", execution=self.execution.id)
        if within is not None:
            event = replace(event, due=self.execution.clock.now() + within)
        return await self.execution.append(event, key, cause=asked.seq)

    async def wait(
        self,
        *,
        closed: Sequence[int] = (),
        want: Literal["any", "all"] = "all",
        matching: EntryMatch | None = None,
        within: float | None = None,
        name: str = "wait",
    ) -> Entry[WaitEnded]:
        """Suspend until all `closed` entries are closed and one fits `matching`, or for `within` seconds.

        With `want` "any", one of these conditions is enough.
        """
        event = WaitBegan(closed=tuple(closed), want=want, matching=matching)
        waits = await self._waiting(name, event, within)
        found = await self._answer(waits, _as_answer_received)
        return self.execution.journal.entry(found.event.input)

    async def watch(
        self,
        *,
        closed: Sequence[int] = (),
        want: Literal["any", "all"] = "all",
        matching: EntryMatch | None = None,
        within: float | None = None,
        since: float | None = None,
        note: Any = None,
        name: str = "watch",
    ) -> Entry[WaitBegan]:
        """Begin a wait without suspending. At its end, the program's reminder comes as an input.

        `within` counts from `since` (Unix seconds; default: now).
        """
        event = WaitBegan(closed=tuple(closed), want=want, matching=matching, note=note, resumes=False)
        return await self._waiting(name, event, within, since)

    async def unwatch(self, watches: Sequence[int]) -> Entry[QuestionWithdrawn]:
        """Withdraw these watches, unless they have ended."""
        key = self.next_key("unwatch")
        asked = fingerprint("unwatch", tuple(watches))
        found = self.read_or_begin(key, asked)
        if found:
            return found
        return await self.execution.append(QuestionWithdrawn(fingerprint=asked), key, moot=watches)

    async def sleep(self, seconds: float) -> None:
        await self.wait(within=seconds, name="sleep")

    async def _waiting(
        self, name: str, event: WaitBegan, within: float | None, since: float | None = None
    ) -> Entry[WaitBegan]:
        if not event.closed and event.matching is None and within is None:
            raise ValueError("a wait needs entries to wait for, or a time")
        key = self.next_key(name)
        asked = fingerprint(name, event, within)
        found = self.read_or_begin(key, asked)
        if found:
            return found
        event = replace(event, execution=self.execution.id, fingerprint=asked)
        if within is not None:
            if since is None:
                since = self.execution.clock.now()
            event = replace(event, due=since + within)
        if event.matching:
            event = replace(event, matching=self._placed(event.matching))
        return await self.execution.append(event, key)

    def _placed(self, matching: EntryMatch) -> EntryMatch:
        after = matching.after
        if after is None:
            after = self.execution.last_seen_seq
        return replace(matching, thread=matching.thread or self.execution.thread, after=after)

    async def _answer(
        self,
        waits: Entry[Any],
        answered: Callable[[Entry[Any], Entry[Input]], Awaitable[A]],
        deadline: Entry[Any] | None = None,
    ) -> Entry[A]:
        key = part_key(waits.key, "answer")
        found = self.read_back(key)
        if found:
            return found
        answer = self.execution.answer_to(waits)
        if answer is None and deadline is not None:
            answer = self.execution.answer_to(deadline)
        if answer is None:
            raise self._latch(ExecutionSuspended(waits.key))
        self.begin_step(key)
        event = replace(await answered(waits, answer), fingerprint=waits.event.fingerprint)
        over = [waits.seq]
        if deadline:
            over.append(deadline.seq)
        closes = self.execution.journal.still_pending(over)
        return await self.execution.append(event, key, cause=answer.seq, closes=closes)

    async def withdraw(self, watches: Sequence[int] = ()) -> list[Entry[Any]]:
        """Withdraw the waits and questions of other executions in this thread, and these watches; return them
        all.
        """
        key = self.next_key("withdraw")
        journal, thread = self.execution.journal, self.execution.thread
        found = self.read_back(key)
        if found is None:
            self.begin_step(key)
            pending: list[Entry[Any]] = journal.pending_entries(AnswerAwaited, WaitBegan, thread=thread)
            others = [entry for entry in pending if entry.event.execution != self.execution.id]
            moot = [entry.seq for entry in others if not is_watch_wait(entry)]
            found = await self.execution.append(QuestionWithdrawn(), key, moot=[*moot, *watches])
        return journal.entries_at(found.closes)


async def _as_answer_received(_waits: Entry[Any], given: Entry[Input]) -> AnswerReceived:
    return AnswerReceived(input=given.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """Result of a child thread; the status is "missing" if the child has not ended."""

    thread: str
    status: str
    result: Any = None


class Context(WaitContext):
    """Steps of one task, also those that concern other threads."""

    # Other threads

    async def send(self, name: str, thread: str, event: Input) -> Entry[InputSent]:
        """Send an input to another thread. `delivered` is False if the thread had ended."""
        key = self.next_key(name)
        asked = fingerprint("sent", name, thread, event.kind, event)
        sent = self.read_or_begin(key, asked)
        if sent is None:
            ended = self.execution.journal.thread_entries(thread, ThreadEnded)
            sent = await self.execution.append(
                InputSent(to=thread, delivered=not ended, fingerprint=asked), key
            )
        if sent.event.delivered:
            await self._deliver(event, sent, thread)
        return sent

    async def _deliver(self, event: Input, sent: Entry[Any], thread: str) -> None:
        key = part_key(sent.key, "input")
        if not self.read_back(key):
            await self.execution.append(event, key, thread=thread, cause=sent.seq)

    async def spawn(self, label: str, first: Input) -> Entry[ThreadSpawned]:
        """Begin a child thread with its first input."""
        key = self.next_key("spawn")
        asked = fingerprint("spawn", label, first.kind, first)
        spawned = self.read_or_begin(key, asked)
        if spawned is None:
            child = self._free_name(label)
            spawned = await self.execution.append(ThreadSpawned(thread=child, fingerprint=asked), key)
        await self._deliver(first, spawned, spawned.event.thread)
        return spawned

    def _free_name(self, label: str) -> str:
        execution = self.execution
        begun = execution.journal.thread_entries(execution.thread, ThreadSpawned)
        taken = {*execution.names, *(entry.event.thread for entry in begun)}
        name = plain = f"{execution.thread}.{label}"
        n = 0
        while name in taken:
            n += 1
            name = f"{plain}-{n}"
        execution.names.add(name)
        return name

    async def join(
        self,
        children: Sequence[Entry[ThreadSpawned]],
        *,
        want: Literal["any", "all"] = "all",
        within: float | None = None,
    ) -> list[ChildResult]:
        """Suspend until the children end, or for `within` seconds; return their results in order."""
        woke = await self.wait(closed=seqs_of(children), want=want, within=within, name="join")
        return [self._child_result(child, woke.seq) for child in children]

    def _child_result(self, child: Entry[ThreadSpawned], before: int) -> ChildResult:
        thread = child.event.thread
        ended = self.execution.journal.thread_entries(thread, ThreadEnded)
        if not ended or ended[0].seq > before:
            return ChildResult(thread=thread, status="missing")
        end = ended[0].event
        return ChildResult(thread=thread, status=end.status, result=end.result)

    async def cancel(self, children: Sequence[Entry[ThreadSpawned]] = (), reason: str = "cancelled") -> None:
        """Stop these children, or all unfinished ones: in a root thread only those of this execution."""
        await self._cancel(seqs_of(children) or await self._children(), reason)

    async def cancel_all(self, reason: str = "cancelled") -> Sequence[Entry[ThreadSpawned]]:
        """Stop and return all unfinished children, including those of other executions."""
        seqs = await self._children(of_all=True)
        await self._cancel(seqs, reason)
        return self.execution.journal.entries_at(seqs)

    async def _cancel(self, seqs: Sequence[int], reason: str) -> None:
        for seq in seqs:
            child = self.execution.journal.entry(seq)
            await self.send(f"cancel-{seq}", child.event.thread, CancelRequest(reason=reason))

    async def _children(self, *, of_all: bool = False) -> Sequence[int]:
        key = self.next_key("children")
        found = self.read_back(key)
        if found:
            return cast(InputsReceived, found.event).inputs
        if self.execution.record.is_replaying:
            return ()
        pending = self.execution.journal.pending_entries(ThreadSpawned, thread=self.execution.thread)
        if not of_all and not self.execution.parent_thread:
            # a root never ends, so other executions keep their children
            own = set(seqs_of(self.execution.recorded_entries(ThreadSpawned)))
            pending = [child for child in pending if child.seq in own]
        seqs = tuple(seqs_of(pending))
        if seqs:
            await self.execution.append(InputsReceived(inputs=seqs), key)
        return seqs

    async def end_thread(self, result: Any = None, status: str = "completed") -> None:
        """End this thread: stop its children, withdraw its questions and waits, and send its parent the
        `result`.
        """
        await self.cancel(reason=f"{self.execution.thread} has ended")
        key = self.next_key("end")
        asked = fingerprint("end", result, status)
        if self.read_back(key, asked):
            return
        spawned = self.execution.spawned_by()
        if spawned is None:
            return
        self.begin_step(key)
        event = ThreadEnded(status=status, result=result, fingerprint=asked)
        moot = seqs_of(
            self.execution.journal.pending_entries(AnswerAwaited, WaitBegan, thread=self.execution.thread)
        )
        await self.execution.append(event, key, cause=spawned.seq, closes=[spawned.seq], moot=moot)
