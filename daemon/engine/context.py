"""The steps of an execution: each is done once under its key, recorded, and read back afterwards.

What a step asks is kept as a fingerprint, and compared whenever it is read back.

What an execution waits for, or is told meanwhile: messages, answers, times, and entries.

What a process does its steps with. A step that is recorded is read back, and never done again.

A context belongs to one task; what runs in parallel gets contexts of its own, by `within` and `gather`.
Steps stand in `durable_steps.py`, what waits in `asking.py`, and here what concerns other threads.
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


class StepContext:
    """Where the steps of one task take their keys from; `context.py` has all that can be done with it."""

    def __init__(self, execution: Execution, path: str) -> None:
        self.execution = execution
        self.path = path
        self._uses: Counter[str] = Counter()
        self._latched: ControlFlow | None = None
        self._reached = path
        execution.record.enter_context(path)

    # Contexts

    def child_context(self, name: str) -> Self:
        """A context of its own for something that runs beside this one; named by where it stands."""
        return type(self)(self.execution, self.next_key(name))

    def context_about(self, *content: object) -> Self:
        """A context named by what it is about: the order in which such contexts come does not matter."""
        return self.child_context(f":{fingerprint(*content)[:12]}")

    def context_in_step(self, key: str) -> Self:
        """A context for what is done within the step of this key. It ends with that step: what is recorded
        in it and is not asked for again is no difference."""
        self.execution.record.mark_repeatable(key)
        return type(self)(self.execution, part_key(key, "in"))

    async def gather(self, *branches: tuple[Self, Callable[[Self], Awaitable[T]]]) -> list[T]:
        """Run contexts in parallel; all are awaited. Which error is raised follows from its kind."""
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
        """The code of this context is through. Raises what the code swallowed, and Nondeterminism."""
        self._check()
        self._guard(self.execution.record.check_all_read, self.path)

    # Steps

    async def run(
        self, name: str, do: Callable[[], Awaitable[Any]], asks: object = None, *, subject: str = ""
    ) -> Any:
        """Do something once, and keep its result (JSON). After a crash before that it is done again."""

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
        """Do something once, and keep the event that it returns; `asks` is compared when it is read back.

        Where `do` raises Unavailable, a `patient` step waits until the `subject` can be reached; only when
        the program is patient no more is it raised here. An `interruptible` step of the trunk gives way
        meanwhile to what comes for the thread, and returns that: accept it, and ask anew.
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
        """The step is done, or it is recorded what came in its place."""

        async def attempt() -> Entry[S]:
            self.execution.check_lease()
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
        came = InputsReceived(inputs=tuple(seqs_of(done)), fingerprint=asked)
        return await self.execution.append(came, key)

    async def record(self, event: S, name: str = "", *, closes: Sequence[int] = ()) -> Entry[S]:
        """Append this event once, or read it back."""
        key = self.next_key(name or event.kind)
        asked = fingerprint(event.kind, name, event)
        found = self.read_or_begin(key, asked)
        if found:
            return found
        return await self.execution.append(replace(event, fingerprint=asked), key, closes=closes)

    async def record_soon(self, event: S, name: str = "") -> tuple[str, S]:
        """The same, without waiting until it is on disk: its key, and the event."""
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
        """Do something in the world: its intent first, then what became of it.

        After a crash between the two it is done again if it is `repeatable`; else its outcome is `unknown`.
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
        self.execution.check_lease()
        doubtful = begun.seq < self.execution.epoch and not repeatable
        outcome = unknown
        if not doubtful:
            outcome = await do()
        outcome = replace(outcome, fingerprint=asked)
        return await self.execution.append(outcome, receipt, cause=begun.seq, closes=[begun.seq])

    async def effect_soon(self, intent: Intent, do: Callable[[], Awaitable[S]]) -> S:
        """The same of what may be done again, without waiting for its records: what became of it.

        Before it is done all that came before is on disk; its own records are when anything is awaited later.
        """
        key = self.next_key(intent.name)
        asked = fingerprint(intent.kind, intent)
        if await self._recorded(key, asked, ()) is None:
            await self.execution.wait_until_saved()
            await self.execution.append_soon(replace(intent, fingerprint=asked), key)
        done = self.read_back(part_key(key, "done"))
        if done:
            return cast(S, done.event)
        self.execution.check_lease()
        outcome = replace(await do(), fingerprint=asked)
        return await self.execution.append_soon(outcome, part_key(key, "done"), receipt_of=key)

    async def record_if_found(self, name: str, look: Callable[[], S | None]) -> Entry[S] | None:
        """Look at something that changes, and record what was found; nothing found leaves no entry.

        A replay sees what is recorded, and nothing new.
        """
        key = self.next_key(name)
        found = self.read_back(key)
        if found or self.execution.record.is_replaying:
            return found
        event = look()
        if event is None:
            return None
        return await self.execution.append(event, key)

    async def append_note(self, event: S, name: str) -> Entry[S]:
        """Append something about the step that is under way, which is no step itself."""
        before = len(self.execution.journal.entries_of_step(self._reached))
        return await self.execution.append(event, part_key(self._reached, f"{name}-{before + 1}"))

    # What steps are made of: those of another shape a program makes itself

    @property
    def current_key(self) -> str:
        """The key of the step that is under way."""
        return self._reached

    def recorded_step(self, name: str) -> Entry[Any] | None:
        """What is recorded of the first step of this name here; the look alone changes nothing."""
        return self.execution.record.find(f"{self.path}/{name}#1")

    def next_key(self, name: str) -> str:
        """The next key of this name. To be taken before the first await of a step."""
        self._check()
        self._uses[name] += 1
        key = f"{self.path}/{name}#{self._uses[name]}"
        self._reached = self.execution.reached = key
        return key

    def read_back(self, key: str, asked: str = "") -> Entry[Any] | None:
        """Read back what is recorded under this key. Raises Nondeterminism where it asked something else."""
        return self._guard(self.execution.record.read_back, key, asked)

    def begin_step(self, key: str) -> None:
        """This key is not recorded, and is about to be. Raises Nondeterminism where something was missed."""
        self._guard(self.execution.record.begin_step, key)

    def read_or_begin(self, key: str, asked: str) -> Entry[Any] | None:
        """Read back what is recorded under this key; where nothing is, it goes live."""
        found = self.read_back(key, asked)
        if found is None:
            self.begin_step(key)
        return found

    def take_over(self, asked: str, kind: type[S]) -> Entry[S] | None:
        """What an abandoned execution finished that asked the same, if it was not taken over yet."""
        return self.execution.record.take_over(asked, (kind,))

    # Replay

    async def _recorded(
        self, key: str, asked: str, finished: tuple[type[StepEvent], ...]
    ) -> Entry[Any] | None:
        """What is recorded under this key, or was finished by an execution that this one stands for."""
        found = self.read_or_begin(key, asked)
        if found:
            return found
        old = self.execution.record.take_over(asked, finished)
        if old is None:
            return None
        return await self.execution.append(replace(old.event, taken_from=old.key), key)

    def _guard(self, look: Callable[..., T], *what: str) -> T:
        """A difference found anywhere ends the whole execution, whoever swallows it."""
        try:
            return look(*what)
        except ReplayMismatch as difference:
            self.execution.latched = difference
            raise

    def _check(self) -> None:
        """Raise again what was raised before: code that swallowed it cannot go on."""
        if self.execution.latched:
            raise self.execution.latched
        if self._latched:
            raise self._latched

    def _latch(self, error: BaseException) -> BaseException:
        if isinstance(error, ControlFlow):
            self._latched = error
        return error


Q = TypeVar("Q", bound=AnswerAwaited)


A = TypeVar("A", bound=AnswerReceived)


def _accept_any(_: Entry[Input]) -> bool:
    return True


class WaitContext(StepContext):
    """The steps that wait. Where there is no answer yet they suspend, and the execution holds nothing."""

    # What comes from outside

    async def receive(self, wanted: Callable[[Entry[Input]], bool] = _accept_any) -> list[Entry[Input]]:
        """Look what came meanwhile, and record it. A replay sees what is recorded, and nothing new.

        Only the trunk of an execution receives. What it accepts, it answers; the rest waits on.
        """
        if self.path != self.execution.path:
            raise RuntimeError("only the trunk of an execution receives, never a parallel branch")
        key = self.next_key("receive")
        found = self.read_back(key)
        if found:
            return self.execution.mark_received(found.event.inputs)
        if self.execution.record.is_replaying:
            return []
        came = [entry for entry in self.execution.new_inputs() if wanted(entry)]
        if came:
            seqs = tuple(seqs_of(came))
            await self.execution.append(InputsReceived(inputs=seqs), key)
            self.execution.mark_received(seqs)
        return came

    def accept(self, entries: Sequence[Entry[Input]]) -> None:
        """These are answered by this execution, too."""
        self.execution.accept_inputs(entries)

    async def ask(
        self, name: str, question: AnswerAwaited, *, within: float | None = None, until: Sequence[int] = ()
    ) -> Entry[Input] | None:
        """Ask, and suspend until it is answered; None where nobody did `within` so many seconds, or before
        one of the entries `until` was closed."""
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
        """The same for a program with questions and answers of its own: the entry that `answered` made.

        `first` says the question to whoever is to answer it, under the key that it will have, and returns
        it as it is recorded. Where one of the entries `until` is closed, nobody needs to answer any more.
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
        if isinstance(waits.event, AnswerReceived):  # taken over from before a restart
            return waits
        deadline = await self._deadline(waits, within, until)
        return await self._answer(waits, answered, deadline)

    async def _deadline(
        self, asked: Entry[Any], within: float | None, until: Sequence[int]
    ) -> Entry[WaitBegan] | None:
        """What ends the question without an answer: a time, or the end of what it is for."""
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
        """Suspend until these entries are closed and one that matches has come, or for so many seconds.

        With `want` "any", one of all that is enough.
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
        """The same, without suspending: when it is over, the program's `reminder` comes to this thread.

        The seconds count from now, or from a time that the execution has read (`since`).
        """
        event = WaitBegan(closed=tuple(closed), want=want, matching=matching, note=note, resumes=False)
        return await self._waiting(name, event, within, since)

    async def unwatch(self, watches: Sequence[int]) -> Entry[QuestionWithdrawn]:
        """What these wait for is wanted no more. One that is over already has become an input."""
        key = self.next_key("unwatch")
        asked = fingerprint("unwatch", tuple(watches))
        found = self.read_or_begin(key, asked)
        if found:
            return found
        return await self.execution.append(QuestionWithdrawn(fingerprint=asked), key, moot=watches)

    async def sleep(self, seconds: float) -> None:
        """Suspend for so long."""
        await self.wait(within=seconds, name="sleep")

    async def _waiting(
        self, name: str, event: WaitBegan, within: float | None, since: float | None = None
    ) -> Entry[WaitBegan]:
        """A wait takes a delay; its time is reckoned when it is first appended, and so is what it matches."""
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
        """Where and from when on it is looked for."""
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
        """How this was answered, in time or not; suspends where it is not yet."""
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
        """Nobody needs to answer what other executions of this thread wait for, and these watches are wanted
        no more; what that was.
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
    """How an input is recorded as an answer, where the program has no kind of its own for that."""
    return AnswerReceived(input=given.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """What came of a child: how it ended, or `status` "missing" where it has not ended yet."""

    thread: str
    status: str
    result: Any = None


class Context(WaitContext):
    """Where one task of an execution takes its steps from."""

    # Other threads

    async def send(self, name: str, thread: str, event: Input) -> Entry[InputSent]:
        """An input for another thread, or for this one. `delivered`: had it not ended?"""
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
        """What was sent, or begins a thread, comes there once."""
        key = part_key(sent.key, "input")
        if not self.read_back(key):
            await self.execution.append(event, key, thread=thread, cause=sent.seq)

    async def spawn(self, label: str, first: Input) -> Entry[ThreadSpawned]:
        """Begin a thread under this one, with its first input."""
        key = self.next_key("spawn")
        asked = fingerprint("spawn", label, first.kind, first)
        spawned = self.read_or_begin(key, asked)
        if spawned is None:
            child = self._free_name(label)
            spawned = await self.execution.append(ThreadSpawned(thread=child, fingerprint=asked), key)
        await self._deliver(first, spawned, spawned.event.thread)
        return spawned

    def _free_name(self, label: str) -> str:
        """An id for a thread under this one that no other has."""
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
        """Suspend until these children have ended, or until a time; what came of each, in their order."""
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
        """Send a stop to these children, or to all that have not ended; in a root, that it has begun."""
        await self._cancel(seqs_of(children) or await self._children(), reason)

    async def cancel_all(self, reason: str = "cancelled") -> Sequence[Entry[ThreadSpawned]]:
        """Send a stop to all that goes on under this thread, whichever execution began it; what that was."""
        seqs = await self._children(whoever=True)
        await self._cancel(seqs, reason)
        return self.execution.journal.entries_at(seqs)

    async def _cancel(self, seqs: Sequence[int], reason: str) -> None:
        for seq in seqs:
            child = self.execution.journal.entry(seq)
            await self.send(f"cancel-{seq}", child.event.thread, CancelRequest(reason=reason))

    async def _children(self, *, whoever: bool = False) -> Sequence[int]:
        """The children that have not ended, as they were when this was first asked."""
        key = self.next_key("children")
        found = self.read_back(key)
        if found:
            return cast(InputsReceived, found.event).inputs
        if self.execution.record.is_replaying:
            return ()
        pending = self.execution.journal.pending_entries(ThreadSpawned, thread=self.execution.thread)
        if not (
            whoever or self.execution.parent_thread
        ):  # a root does not end: what others spawned there goes on
            own = set(seqs_of(self.execution.recorded_entries(ThreadSpawned)))
            pending = [child for child in pending if child.seq in own]
        seqs = tuple(seqs_of(pending))
        if seqs:
            await self.execution.append(InputsReceived(inputs=seqs), key)
        return seqs

    async def end_thread(self, result: Any = None, status: str = "completed") -> None:
        """The last word of this thread: its children are stopped, and the one that spawned it is told.

        What anybody was asked here, and what was waited for, needs no answer any more.
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
