"""What a process does its steps with. A step that is recorded is read back, and never done again.

A context belongs to one task; what runs in parallel gets contexts of its own, by `within` and `gather`.
Steps stand in `durable_steps.py`, what waits in `asking.py`, and here what concerns other threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from daemon.engine.asking import WaitContext
from daemon.engine.event import Entry, Input, fingerprint, seqs_of
from daemon.engine.keys import part_key
from daemon.engine.kinds import (
    AnswerAwaited,
    CancelRequest,
    InputSent,
    InputsReceived,
    ThreadEnded,
    ThreadSpawned,
    WaitBegan,
)


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
