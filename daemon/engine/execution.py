"""One attempt at an execution: what it took up, what is recorded of it, and who may write for it.

An execution may last several turns: where it waits it suspends, and runs again from the top when its answer
has come, reading back all that it did. Its contexts (`context.py`) do the steps; the worker ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from daemon.engine.event import Entry, Event, Input, StepEvent
from daemon.engine.exceptions import Fenced, Nondeterminism, RunAgain
from daemon.engine.journal import Clock, Journal
from daemon.engine.keys import restarted
from daemon.engine.kinds import Answered, Asked, Intent, Restarted, Spawned, TurnBegan, TurnEnded, Waiting
from daemon.engine.record import Record
from daemon.engine.writer import Fence

E = TypeVar("E", bound=Event)


class Execution:
    """An execution during one attempt. `epoch` is the seq of the entry that began this attempt: its lease."""

    def __init__(
        self, journal: Journal, clock: Clock, began: Entry[TurnBegan], epoch: int, author: str, path: str = ""
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.began = began
        self.thread = began.thread
        self.epoch = epoch
        self.author = author
        self.id = began.event.execution
        self.turn = began.key.removesuffix("/began")
        self.first = began if self.turn == self.id else _beginning(journal, self.id)
        self.inputs: list[Entry[Input]] = journal.many(self._all_inputs())
        """All that it took up, in its turns and by accepting it, in order."""
        self.stopping = asyncio.Event()
        """Set when somebody wants it to end: what is in flight is broken off, and nothing new is begun."""
        self.latched: Nondeterminism | None = None
        self.replays_always = False
        """Does it run again from the top after each step? For tests."""
        self.reached = self.id
        """The key that was taken last: where a failure happened."""
        self._names = set[str]()
        self.restarts = 0
        while journal.get(f"{restarted(self.id, self.restarts)}/restarted"):
            self.restarts += 1
        self.path = path or restarted(self.id, self.restarts)
        self.abandoned = [restarted(self.id, times) for times in range(self.restarts)]
        self.record = self._read_record()
        self._answered_by = {
            entry.event.input for entry in journal.under(self.path) if isinstance(entry.event, Answered)
        }

    def _all_inputs(self) -> list[int]:
        return list(dict.fromkeys([*self.first.event.inputs, *self.began.event.inputs]))

    def _read_record(self) -> Record:
        log = list[Entry[Any]]()
        for path in self.abandoned:
            log += [entry for entry in self.journal.under(path) if isinstance(entry.event, StepEvent)]
        return Record(self.path, self.journal.under(self.path), log)

    @property
    def log(self) -> Sequence[Entry[StepEvent]]:
        """What the executions did that this one stands for, after a restart."""
        return self.record.log

    def check_lease(self) -> None:
        """Is the thread still ours? Directly before whatever the world sees or bills. Raises Fenced."""
        if not self.journal.holds(self.thread, self.epoch):
            raise Fenced(f"another attempt at {self.thread} began after this one")

    async def append(
        self,
        event: E,
        key: str,
        *,
        thread: str = "",
        cause: int | None = None,
        closes: Sequence[int] = (),
    ) -> Entry[E]:
        """A new entry of this attempt. Raises Fenced where a later attempt has taken over."""
        entry, new = await self.journal.append(
            thread or self.thread,
            event,
            key=key,
            author=self.author,
            cause=self.began.seq if cause is None else cause,
            closes=closes,
            fence=Fence(thread=self.thread, epoch=self.epoch),
        )
        if not new:
            raise Fenced(key)
        self.record.add(entry)
        if self.replays_always and isinstance(event, StepEvent):
            raise RunAgain(key)
        return entry

    def fresh(self) -> list[Entry[Input]]:
        """What waits for this thread and is not taken up by this execution."""
        mine = {entry.seq for entry in self.inputs}
        return [entry for entry in self.journal.inputs(self.thread) if entry.seq not in mine]

    def accept(self, entries: Sequence[Entry[Input]]) -> None:
        """These, too, are inputs of this execution, and end with its turn."""
        known = {entry.seq for entry in self.inputs}
        self.inputs += [entry for entry in entries if entry.seq not in known]

    def answer_to(self, waits: Entry[Any]) -> Entry[Input] | None:
        """The input of this execution that answers this question or wait; each input answers once.

        One that names the question of an abandoned execution counts where the same is asked again.
        """
        for entry in self.inputs:
            if entry.seq not in self._answered_by and self._answers(entry, waits):
                self._answered_by.add(entry.seq)
                return entry
        return None

    def _answers(self, given: Entry[Input], waits: Entry[Any]) -> bool:
        named = given.event.answers
        if named == waits.key:
            return True
        asked = self.journal.get(named) if named else None
        if asked is None or not isinstance(asked.event, Asked | Waiting):
            return False
        same = asked.event.fingerprint == waits.event.fingerprint
        return same and asked.event.execution == self.id and asked.kind == waits.kind

    @property
    def parent(self) -> str:
        """The thread above this one; empty for a root."""
        return self.thread.rpartition(".")[0]

    def spawned_by(self) -> Entry[Spawned] | None:
        """The entry that began this thread, if it is under another one and has not ended."""
        above = self.journal.pending(Spawned, thread=self.parent)
        return next((entry for entry in above if entry.event.thread == self.thread), None)

    def free_name(self, label: str) -> str:
        """An id for a thread under this one that no other has."""
        taken = self._names | {entry.event.thread for entry in self.journal.of(self.thread, Spawned)}
        name = plain = f"{self.thread}.{label}"
        n = 1
        while name in taken:
            n += 1
            name = f"{plain}-{n}"
        self._names.add(name)
        return name

    async def restart(self, why: Nondeterminism) -> None:
        """Leave what is recorded, with its questions and waits; the next run has a path of its own."""
        left = self._pending_under([self.path])
        withdrawn = [entry.seq for entry in left if isinstance(entry.event, Asked | Waiting)]
        await self.append(Restarted(why=str(why)), f"{self.path}/restarted", closes=withdrawn)

    def half_done(self) -> list[Entry[Intent]]:
        """What abandoned executions were about to do, when nobody knows whether it was done."""
        found = self._pending_under(self.abandoned)
        return [cast(Entry[Intent], entry) for entry in found if isinstance(entry.event, Intent)]

    def _pending_under(self, paths: Sequence[str]) -> list[Entry[Event]]:
        entries = [entry for path in paths for entry in self.journal.under(path)]
        still = set(self.journal.still_pending([entry.seq for entry in entries]))
        return [entry for entry in entries if entry.seq in still]

    async def end(self, event: TurnEnded) -> Entry[TurnEnded]:
        """The last entry of this turn: closes what was taken up; where it failed, all that it left open."""
        closes = [self.began.seq, *self.journal.still_pending([entry.seq for entry in self.inputs])]
        if event.outcome == "failed":
            left = self._pending_under([*self.abandoned, restarted(self.id, self.restarts), self.path])
            closes += [entry.seq for entry in left]
        return await self.append(event, f"{self.turn}/ended", closes=list(dict.fromkeys(closes)))


def _beginning(journal: Journal, execution: str) -> Entry[TurnBegan]:
    found = journal.get(f"{execution}/began")
    if found is None or not isinstance(found.event, TurnBegan):
        raise LookupError(f"an execution without a beginning: {execution}")
    return cast(Entry[TurnBegan], found)
