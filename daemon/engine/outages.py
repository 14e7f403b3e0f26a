"""What an execution does while something that it needs cannot be reached: it waits, in its turn.

All its contexts sleep on one wait. One of them probes, and when it succeeds all go on. A wait ends at its
time, when the same could be reached elsewhere, and once for each message. Every life begins with one probe
of each subject: that it could be reached elsewhere is known to nobody after a kill.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from daemon.engine.clock import JournalClock
from daemon.engine.event import Entry, Event, Input, part_key, seqs_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan, OutageEnded

T = TypeVar("T")


E = TypeVar("E", bound=Event)


CHANCE = 0.2
"""What is added to each wait at the most, as a part of it: not all are to try at the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionServices:
    """What an execution needs of the worker that runs it. The functions are the program's and the worker's.

    With `replays_always` it runs again from the top after each step: for tests.
    """

    journal: Journal
    clock: JournalClock
    author: str
    patience: Callable[[str, str, int], float | None]
    went_down: Callable[[str, Entry[OutageBegan]], Awaitable[None]]
    """Told of the thread that begins to wait."""
    succeeded: Callable[[str], None]
    """Told of the subject that was reached."""
    changed: Callable[[], None]
    """An execution has gone to sleep."""
    replays_always: bool = False
    probed: set[str] = field(default_factory=set)
    """What was tried since this life began, by its subject."""


class OutageHost(Protocol):
    """What an outage needs of the execution that it holds up."""

    id: str
    thread: str
    path: str
    stopping: asyncio.Event

    async def append(self, event: E, key: str, *, closes: Sequence[int] = ()) -> Entry[E]:
        """A new entry of this attempt."""

    def unreceived_inputs(self) -> list[Entry[Input]]:
        """What came for the thread, and was not received yet."""

    def pending_about(self, key: str) -> list[Entry[Event]]:
        """What is pending of all that was done about the entry of this key."""


@dataclass(slots=True, kw_only=True)
class OutageWait:
    """One outage of one execution, while it lasts. `seconds` is how long it is waited now."""

    entry: Entry[OutageBegan]
    seconds: float
    told: bool = False
    deaf: bool = False
    """A try before its time failed: what is reached elsewhere ends it no more until then."""
    over: bool = False
    gave_up: Unavailable | None = None

    @property
    def first(self) -> int:
        """The seq of the entry that it began with."""
        return self.entry.event.since or self.entry.seq


class OutageWaiter:
    """The outage of one execution; there is none, most of the time."""

    def __init__(
        self, execution: OutageHost, around: ExecutionServices, recorded: list[Entry[OutageBegan]]
    ) -> None:
        self._execution = execution
        self._around = around
        self.recorded = recorded
        """All that tells of an outage of it, in order."""
        self._wait = self._unended()
        self._at_once = False
        """Is the next try made without a sleep? When a message was accepted."""
        self._wanted = ""
        """The subject of the step that is tried."""
        self._probing = asyncio.Lock()
        self._stirred = asyncio.Event()
        self._awoken = set[int]()
        """The messages that have ended a sleep."""
        self.asleep = False

    def _unended(self) -> OutageWait | None:
        """The outage that lasted when the attempt before this one came to its end."""
        pending = self._around.journal.still_pending(seqs_of(self.recorded))
        for entry in self.recorded:
            if entry.seq in pending:
                return OutageWait(entry=entry, seconds=entry.event.due - entry.at)
        return None

    @property
    def is_lasting(self) -> bool:
        """Does one last?"""
        return self._wait is not None

    async def outlast(
        self, attempt: Callable[[], Awaitable[T]], subject: str, accepts: bool
    ) -> T | list[Entry[Input]]:
        """What the attempt returns, as soon as it can; or, where the step `accepts` them, inputs that came.

        Raises Unavailable when it was tried for long enough.
        """
        self._wanted = subject
        while True:
            if self._wait is None:
                try:
                    done = await attempt()
                except Unavailable as error:
                    await self._begin(error)
                    continue
                self._around.succeeded(subject)
                return done
            wait = self._wait
            async with self._probing:
                if wait.gave_up:
                    raise wait.gave_up
                if wait.over:
                    continue
                found = await self._probe(wait, attempt, subject, accepts)
            if found is not None:
                return found

    async def _probe(
        self, wait: OutageWait, attempt: Callable[[], Awaitable[T]], subject: str, accepts: bool
    ) -> T | list[Entry[Input]] | None:
        """Sleep, and try once. None: it failed again."""
        came = await self._accepted(wait, accepts)
        if not came:
            await self._sleep(wait)
            came = await self._accepted(wait, accepts)
        if came:
            return came
        try:
            done = await attempt()
        except Unavailable as error:
            await self._failed(wait, error)
            return None
        await self._end(wait)
        self._around.succeeded(subject)
        return done

    async def _accepted(self, wait: OutageWait, accepts: bool) -> list[Entry[Input]]:
        """What came for the thread, where the step accepts it; whether it is stopped the step finds out."""
        if not accepts or self._execution.stopping.is_set():
            return []
        came = self._execution.unreceived_inputs()
        if came:
            await self._tell(wait)  # before it is heard: what was begun answers none of it
            self._at_once = True
        return came

    async def _begin(self, error: Unavailable) -> None:
        """The first failure begins a wait; others join it. Raises where nobody is patient."""
        async with self._probing:
            if self._wait is None:
                self._at_once = False
                seconds = self._patience(error, 0)
                entry = await self._record(error, seconds)
                self._wait = OutageWait(entry=entry, seconds=seconds)
                self._is_first_probe(self._wait)
                await self._tell(self._wait)

    async def _failed(self, wait: OutageWait, error: Unavailable) -> None:
        """A try failed. One before its time changes nothing; else the next wait begins, or the end."""
        await self._tell(wait)
        wait.deaf = True
        is_early = self._around.clock.now() < wait.entry.event.due
        if is_early and not self._execution.stopping.is_set():
            return
        try:
            wait.seconds = self._patience(error, wait.entry.event.tries + 1)
        except Unavailable:
            wait.gave_up = error
            await self._end(wait)
            raise
        wait.entry = await self._record(error, wait.seconds, before=wait)
        wait.deaf = False

    def _patience(self, error: Unavailable, tries: int) -> float:
        """Seconds to the next try. Raises the error where nobody waits any more."""
        if self._execution.stopping.is_set():
            raise error
        seconds = self._around.patience(error.reason, error.subject, tries)
        if seconds is None:
            raise error
        return seconds * (1 + CHANCE * random.random())

    async def _record(
        self, error: Unavailable, seconds: float, before: OutageWait | None = None
    ) -> Entry[OutageBegan]:
        due = self._around.clock.now() + seconds
        event = OutageBegan(reason=error.reason, subject=error.subject, due=due)
        closes = list[int]()
        if before:
            event = replace(event, since=before.first, tries=before.entry.event.tries + 1)
            closes = [before.entry.seq]
        key = part_key(self._execution.path, f"outage#{self._next_number()}")
        entry = await self._execution.append(event, key, closes=closes)
        self.recorded.append(entry)
        return entry

    def _next_number(self) -> int:
        if not self.recorded:
            return 1
        last = self.recorded[-1].key.rpartition("#")[2]
        return int(last) + 1

    async def _end(self, wait: OutageWait) -> None:
        ended = OutageEnded(gave_up=wait.gave_up is not None)
        key = part_key(wait.entry.key, "ended")
        await self._execution.append(ended, key, closes=[wait.entry.seq])
        wait.over = True
        self._wait = None

    async def _tell(self, wait: OutageWait) -> None:
        """Once in each attempt: what was told in an earlier one is read back."""
        if not wait.told:
            wait.told = True
            first = self._around.journal.entry(wait.first)
            await self._around.went_down(self._execution.thread, first)

    async def settle(self) -> None:
        """At the begin of an attempt: what was half told when the last one was killed is told."""
        if self._wait is None:
            return
        first = self._around.journal.entry(self._wait.first)
        if self._execution.pending_about(first.key):
            await self._tell(self._wait)

    # Sleeping

    async def _sleep(self, wait: OutageWait) -> None:
        """Until its time has come, or something has changed."""
        if self._at_once or self._execution.stopping.is_set() or self._is_first_probe(wait):
            self._at_once = False
            return
        self._stirred = stirred = asyncio.Event()
        left = min(wait.entry.event.due - self._around.clock.now(), wait.seconds)
        alarm = asyncio.create_task(self._around.clock.sleep(left), name=f"outage of {self._execution.id}")
        alarm.add_done_callback(lambda _: stirred.set())
        self.asleep = True
        self.notice_input()
        self._around.changed()
        try:
            await stirred.wait()
        finally:
            self.asleep = False
            alarm.cancel()

    def _is_first_probe(self, wait: OutageWait) -> bool:
        """Does this life know nothing yet of what is waited for? One execution finds out for all."""
        subject = ""
        if wait.entry.event.subject:
            subject = self._wanted
        first = subject not in self._around.probed
        self._around.probed.add(subject)
        return first

    def notice_input(self) -> None:
        """Something came for the thread: a stop, or a message that has ended no sleep yet, ends this one."""
        came = set(seqs_of(self._execution.unreceived_inputs()))
        if self.asleep and (self._execution.stopping.is_set() or came - self._awoken):
            self._awoken |= came
            self.try_now()

    def may_end(self, subject: str) -> bool:
        """This was reached just now: may what is slept for be over?"""
        wait = self._wait
        if wait is None or wait.deaf or not self.asleep:
            return False
        return not wait.entry.event.subject or subject in (wait.entry.event.subject, self._wanted)

    def try_now(self) -> None:
        """Let it find out whether it is over."""
        self.asleep = False
        self._stirred.set()
