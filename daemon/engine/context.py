"""What a process does its steps with. A step that is recorded is read back, and never done again.

A context belongs to one task; what runs in parallel gets contexts of its own, by `within` and `gather`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

from daemon.engine.event import Entry, Input, Rank, StepEvent, fingerprint
from daemon.engine.exceptions import ControlFlow, Nondeterminism, Suspended, first_error
from daemon.engine.execution import Execution
from daemon.engine.keys import part
from daemon.engine.kinds import (
    Answered,
    Asked,
    Intent,
    Received,
    Result,
    Sent,
    Spawned,
    Stop,
    ThreadEnded,
    Waiting,
    Withdrawn,
    Woke,
)

S = TypeVar("S", bound=StepEvent)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What came of a child: how it ended, or `status` "missing" where it has not ended yet."""

    thread: str
    status: str
    result: Any = None


class Context:
    """Where the steps of one task take their keys from."""

    def __init__(self, execution: Execution, path: str) -> None:
        self.execution = execution
        self.path = path
        self._uses: Counter[str] = Counter()
        self._latched: ControlFlow | None = None
        execution.record.claim(path)

    # Contexts

    def within(self, name: str) -> Context:
        """A context of its own for something that runs beside this one; named by where it stands."""
        return Context(self.execution, self._key(name))

    def about(self, *content: object) -> Context:
        """A context named by what it is about: the order in which such contexts come does not matter."""
        return self.within(f":{fingerprint(*content)[:12]}")

    async def gather(self, *branches: tuple[Context, Callable[[Context], Awaitable[T]]]) -> list[T]:
        """Run contexts in parallel; all are awaited. Which error is raised follows from its kind."""
        self._check()
        tasks = [self._branch(context, body) for context, body in branches]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        error = first_error(results)
        if error is not None:
            raise self._latch(error)
        return cast(list[T], results)

    async def _branch(self, context: Context, body: Callable[[Context], Awaitable[T]]) -> T:
        result = await body(context)
        context.returns()
        return result

    def returns(self) -> None:
        """The code of this context is through. Raises what the code swallowed, and Nondeterminism."""
        self._check()
        self._guard(lambda: self.execution.record.ends(self.path))

    # Steps

    async def run(self, name: str, do: Callable[[], Awaitable[Any]], asks: object = None) -> Any:
        """Do something once, and keep its result (JSON). After a crash before that it is done again."""

        async def result() -> Result:
            return Result(value=await do())

        entry = await self.step(name, asks, result, Result)
        return entry.event.value

    async def step(self, name: str, asks: object, do: Callable[[], Awaitable[S]], kind: type[S]) -> Entry[S]:
        """Do something once, and keep the event that it returns. `asks` is compared when it is read back."""
        key = self._key(name)
        asked = fingerprint(kind.kind, name, asks)
        found = await self._recorded(key, asked, (kind,))
        if found:
            return cast(Entry[S], found)
        self.execution.check_lease()
        event = await do()
        return await self.execution.append(replace(event, fingerprint=asked), key)

    async def record(self, event: S, name: str = "", *, closes: Sequence[int] = ()) -> Entry[S]:
        """Append this event once, or read it back."""
        key = self._key(name or event.kind)
        asked = fingerprint(event.kind, name, event)
        found = self._read(key, asked)
        if found:
            return cast(Entry[S], found)
        self._goes_live(key)
        return await self.execution.append(replace(event, fingerprint=asked), key, closes=closes)

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
        key = self._key(intent.name)
        asked = fingerprint(intent.kind, intent)
        kinds = () if repeatable else (type(unknown),)
        begun = await self._recorded(key, asked, kinds)
        if begun is not None and not isinstance(begun.event, Intent):
            return cast(Entry[S], begun)
        if begun is None:
            begun = await self.execution.append(replace(intent, fingerprint=asked), key)
        done = self._read(part(key, "done"))
        if done:
            return cast(Entry[S], done)
        self.execution.check_lease()
        doubtful = begun.seq < self.execution.epoch and not repeatable
        outcome = unknown if doubtful else await do()
        outcome = replace(outcome, fingerprint=asked)
        return await self.execution.append(outcome, part(key, "done"), cause=begun.seq, closes=[begun.seq])

    # What comes from outside

    async def receive(self, wanted: Callable[[Entry[Input]], bool] = lambda _: True) -> list[Entry[Input]]:
        """Look what came meanwhile, and record it. A replay sees what is recorded, and nothing new.

        Only the trunk of an execution receives. What it accepts, it answers; the rest waits on.
        """
        if self.path != self.execution.path:
            raise RuntimeError("only the trunk of an execution receives, never a parallel branch")
        key = self._key("receive")
        found = self._read(key)
        if found:
            return self.execution.journal.many(found.event.inputs)
        if self.execution.record.replaying:
            return []
        fresh = [entry for entry in self.execution.fresh() if entry.event.rank in (Rank.STOP, Rank.MESSAGE)]
        came = [entry for entry in fresh if wanted(entry)]
        if came:
            await self.execution.append(Received(inputs=tuple(entry.seq for entry in came)), key)
        return came

    def accept(self, entries: Sequence[Entry[Input]]) -> None:
        """These are answered by this execution, too."""
        self.execution.accept(entries)

    async def ask(self, name: str, question: Asked, *, within: float | None = None) -> Entry[Input] | None:
        """Ask, and suspend until it is answered; None where nobody did `within` so many seconds."""
        key = self._key(name)
        asked = fingerprint(question.kind, name, question, within)
        waits = await self._recorded(key, asked, (Answered,))
        if waits is None:
            event = replace(question, fingerprint=asked, execution=self.execution.id)
            waits = await self.execution.append(event, key)
        answer = await self._answer(waits, also=await self._deadline(waits, within))
        return None if isinstance(answer.event, Woke) else answer

    async def _deadline(self, asked: Entry[Any], within: float | None) -> Entry[Waiting] | None:
        if within is None or isinstance(asked.event, Answered):
            return None
        key = part(asked.key, "deadline")
        found = self._read(key)
        if found:
            return cast(Entry[Waiting], found)
        event = Waiting(due=asked.at + within, execution=self.execution.id)
        return await self.execution.append(event, key, cause=asked.seq)

    async def wait(
        self,
        *,
        closed: Sequence[int] = (),
        want: Literal["any", "all"] = "all",
        within: float | None = None,
        name: str = "wait",
    ) -> Entry[Woke]:
        """Suspend until these entries are closed, or until so many seconds have passed."""
        waits = await self._waiting(name, closed, want, within, note=None, resumes=True)
        return cast(Entry[Woke], await self._answer(waits))

    async def watch(
        self,
        *,
        closed: Sequence[int] = (),
        want: Literal["any", "all"] = "all",
        within: float | None = None,
        note: Any = None,
        name: str = "watch",
    ) -> Entry[Waiting]:
        """The same, without suspending: what it waits for will come to this thread as an input of its own."""
        return await self._waiting(name, closed, want, within, note=note, resumes=False)

    async def sleep(self, seconds: float) -> None:
        """Suspend for so long."""
        await self.wait(within=seconds, name="sleep")

    async def _waiting(
        self, name: str, closed: Sequence[int], want: Literal["any", "all"], within: float | None, **more: Any
    ) -> Entry[Waiting]:
        if not closed and within is None:
            raise ValueError("a wait needs entries to wait for, or a time")
        key = self._key(name)
        asked = fingerprint("waiting", name, list(closed), want, within, more)
        found = self._read(key, asked)
        if found:
            return cast(Entry[Waiting], found)
        self._goes_live(key)
        due = None if within is None else self.execution.clock.now() + within
        event = Waiting(
            closed=tuple(closed), want=want, due=due, execution=self.execution.id, fingerprint=asked, **more
        )
        return await self.execution.append(event, key)

    async def _answer(self, waits: Entry[Any], also: Entry[Any] | None = None) -> Entry[Input]:
        """The input that this was answered by; suspends where there is none yet."""
        if isinstance(waits.event, Answered):  # taken over from before a restart
            return cast(Entry[Input], self.execution.journal.at(waits.event.input))
        key = part(waits.key, "answer")
        found = self._read(key)
        if found:
            return cast(Entry[Input], self.execution.journal.at(found.event.input))
        answer = self.execution.answer_to(waits)
        if answer is None and also is not None:
            answer = self.execution.answer_to(also)
        if answer is None:
            raise self._latch(Suspended(waits.key))
        self._goes_live(key)
        open_now = [waits.seq, *([also.seq] if also else [])]
        closes = self.execution.journal.still_pending(open_now)
        event = Answered(input=answer.seq, fingerprint=waits.event.fingerprint)
        await self.execution.append(event, key, cause=answer.seq, closes=closes)
        return answer

    async def withdraw(self) -> None:
        """Nobody needs to answer what other executions of this thread wait for."""
        key = self._key("withdraw")
        if self._read(key):
            return
        self._goes_live(key)
        journal, thread = self.execution.journal, self.execution.thread
        pending = [*journal.pending(Asked, thread=thread), *journal.pending(Waiting, thread=thread)]
        mine = self.execution.id
        others = [entry.seq for entry in pending if getattr(entry.event, "execution", "") != mine]
        await self.execution.append(Withdrawn(), key, closes=others)

    # Other threads

    async def send(self, name: str, thread: str, event: Input) -> Entry[Sent]:
        """An input for another thread, or for this one. `delivered`: had it not ended?"""
        key = self._key(name)
        asked = fingerprint("sent", name, thread, event.kind, event)
        sent = self._read(key, asked)
        if sent is None:
            self._goes_live(key)
            ended = bool(self.execution.journal.of(thread, ThreadEnded))
            sent = await self.execution.append(Sent(to=thread, delivered=not ended, fingerprint=asked), key)
        if sent.event.delivered and not self._read(part(key, "input")):
            await self.execution.append(event, part(key, "input"), thread=thread, cause=sent.seq)
        return cast(Entry[Sent], sent)

    async def spawn(self, label: str, first: Input) -> Entry[Spawned]:
        """Begin a thread under this one, with its first input."""
        key = self._key("spawn")
        asked = fingerprint("spawn", label, first.kind, first)
        spawned = self._read(key, asked)
        if spawned is None:
            self._goes_live(key)
            child = self.execution.free_name(label)
            spawned = await self.execution.append(Spawned(thread=child, fingerprint=asked), key)
        if not self._read(part(key, "input")):
            child = spawned.event.thread
            await self.execution.append(first, part(key, "input"), thread=child, cause=spawned.seq)
        return cast(Entry[Spawned], spawned)

    async def join(
        self,
        children: Sequence[Entry[Spawned]],
        *,
        want: Literal["any", "all"] = "all",
        within: float | None = None,
    ) -> list[Joined]:
        """Suspend until these children have ended, or until a time; what came of each, in their order."""
        woke = await self.wait(
            closed=[child.seq for child in children], want=want, within=within, name="join"
        )
        return [self._came_of(child, woke.seq) for child in children]

    def _came_of(self, child: Entry[Spawned], before: int) -> Joined:
        ended = self.execution.journal.of(child.event.thread, ThreadEnded)
        if not ended or ended[0].seq > before:
            return Joined(thread=child.event.thread, status="missing")
        return Joined(thread=child.event.thread, status=ended[0].event.status, result=ended[0].event.result)

    async def cancel(self, children: Sequence[Entry[Spawned]] = (), reason: str = "cancelled") -> None:
        """Send a stop to these children, or to all that have not ended."""
        for seq in [child.seq for child in children] or await self._children():
            child = self.execution.journal.at(seq)
            await self.send(f"cancel-{seq}", child.event.thread, Stop(reason=reason))

    async def _children(self) -> Sequence[int]:
        """The children that have not ended, as they were when this was first asked."""
        key = self._key("children")
        found = self._read(key)
        if found:
            return cast(Entry[Received], found).event.inputs
        if self.execution.record.replaying:
            return ()
        pending = self.execution.journal.pending(Spawned, thread=self.execution.thread)
        seqs = tuple(child.seq for child in pending)
        if seqs:
            await self.execution.append(Received(inputs=seqs), key)
        return seqs

    async def end_thread(self, result: Any = None, status: str = "completed") -> None:
        """The last word of this thread: its children are stopped, and the one that spawned it is told."""
        await self.cancel(reason=f"{self.execution.thread} has ended")
        key = self._key("end")
        asked = fingerprint("end", result, status)
        if self._read(key, asked):
            return
        spawned = self.execution.spawned_by()
        if spawned is None:
            return
        self._goes_live(key)
        event = ThreadEnded(status=status, result=result, fingerprint=asked)
        await self.execution.append(event, key, cause=spawned.seq, closes=[spawned.seq])

    # Replay

    def _key(self, name: str) -> str:
        """The next key of this name. Taken before the first await of a step."""
        self._check()
        self._uses[name] += 1
        key = f"{self.path}/{name}#{self._uses[name]}"
        self.execution.reached = key
        return key

    def _read(self, key: str, asked: str = "") -> Entry[Any] | None:
        return self._guard(lambda: self.execution.record.read(key, asked))

    def _goes_live(self, key: str) -> None:
        self._guard(lambda: self.execution.record.goes_live(key))

    async def _recorded(
        self, key: str, asked: str, finished: tuple[type[StepEvent], ...]
    ) -> Entry[Any] | None:
        """What is recorded under this key, or was finished by an execution that this one stands for."""
        found = self._read(key, asked)
        if found:
            return found
        self._goes_live(key)
        old = self.execution.record.take_over(asked, finished)
        if old is None:
            return None
        return await self.execution.append(replace(old.event, taken_from=old.key), key)

    def _guard(self, look: Callable[[], T]) -> T:
        """A difference found anywhere ends the whole execution, whoever swallows it."""
        try:
            return look()
        except Nondeterminism as difference:
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
