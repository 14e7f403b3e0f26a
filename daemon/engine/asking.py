"""What an execution waits for, or is told meanwhile: messages, answers, times, and entries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from daemon.engine.durable_steps import StepContext
from daemon.engine.event import Entry, Input, fingerprint, seqs_of
from daemon.engine.exceptions import ExecutionSuspended
from daemon.engine.execution import is_watch_wait
from daemon.engine.keys import part_key
from daemon.engine.kinds import (
    AnswerAwaited,
    AnswerReceived,
    EntryMatch,
    InputsReceived,
    QuestionWithdrawn,
    WaitBegan,
    WaitEnded,
)

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
