"""The steps of an execution: each is done once under its key, recorded, and read back afterwards.

What a step asks is kept as a fingerprint, and compared whenever it is read back.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, TypeVar, cast, overload

from daemon.engine.event import Entry, StepEvent, fingerprint, seqs_of
from daemon.engine.exceptions import ControlFlow, ReplayMismatch, Unavailable, most_severe_error
from daemon.engine.execution import Execution
from daemon.engine.keys import part_key
from daemon.engine.kinds import InputsReceived, Intent, StepGivenUp, StepResult

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
