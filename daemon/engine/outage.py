"""What an execution does while something that it needs cannot be reached: it waits, in its turn.

All its contexts sleep on one wait. One of them probes, and when it succeeds all go on. A wait ends at its
time, when the same could be reached elsewhere, and once for each message. Every life begins with one probe
of each subject: that it could be reached elsewhere is known to nobody after a kill.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from daemon.engine.event import Entry, Event, Input, seqs_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.journal import Clock, Journal
from daemon.engine.keys import part
from daemon.engine.kinds import Outage, OutageEnded

T = TypeVar("T")
E = TypeVar("E", bound=Event)

CHANCE = 0.2
"""What is added to each wait at the most, as a part of it: not all are to try at the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What an execution needs of the worker that runs it. The functions are the program's and the worker's.

    With `replays_always` it runs again from the top after each step: for tests.
    """

    journal: Journal
    clock: Clock
    author: str
    patience: Callable[[str, str, int], float | None]
    went_down: Callable[[str, Entry[Outage]], Awaitable[None]]
    """Told of the thread that begins to wait."""
    succeeded: Callable[[str], None]
    """Told of the subject that was reached."""
    changed: Callable[[], None]
    """An execution has gone to sleep."""
    replays_always: bool = False
    probed: set[str] = field(default_factory=set)
    """What was tried since this life began, by its subject."""


class Sleeper(Protocol):
    """What an outage needs of the execution that it holds up."""

    id: str
    thread: str
    path: str
    stopping: asyncio.Event

    async def append(self, event: E, key: str, *, closes: Sequence[int] = ()) -> Entry[E]:
        """A new entry of this attempt."""

    def unheard(self) -> list[Entry[Input]]:
        """What came for the thread, and was not received yet."""

    def outages_so_far(self) -> int:
        """How many entries tell of an outage of it."""

    def pending_about(self, key: str) -> list[Entry[Event]]:
        """What is pending of all that was done about the entry of this key."""


@dataclass(slots=True, kw_only=True)
class Wait:
    """One outage of one execution, while it lasts. `seconds` is how long it is waited now."""

    entry: Entry[Outage]
    seconds: float
    told: bool = False
    deaf: bool = False
    """A try before its time failed: what is reached elsewhere ends it no more until then."""
    over: bool = False
    gave_up: Unavailable | None = None


class Outages:
    """The outage of one execution; there is none, most of the time."""

    def __init__(self, execution: Sleeper, around: Around, pending: Entry[Outage] | None) -> None:
        self._execution = execution
        self._around = around
        self._wait = Wait(entry=pending, seconds=pending.event.due - pending.at) if pending else None
        self._at_once = False
        """Is the next try made without a sleep? When a message was accepted."""
        self._wanted = ""
        """The subject of the step that is tried."""
        self._probing = asyncio.Lock()
        self._stirred = asyncio.Event()
        self._awoken = set[int]()
        """The messages that have ended a sleep."""
        self.asleep = False

    @property
    def down(self) -> bool:
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
        self, wait: Wait, attempt: Callable[[], Awaitable[T]], subject: str, accepts: bool
    ) -> T | list[Entry[Input]] | None:
        """Sleep, and try once. None: it failed again."""
        for rests in (True, False):
            stops = self._execution.stopping.is_set()  # then the attempt itself finds out
            came = self._execution.unheard() if accepts and not stops else []
            if came:
                await self._tell(wait)  # before it is heard: what was begun answers none of it
                self._at_once = True
                return came
            if rests:
                await self._sleep(wait)
        try:
            done = await attempt()
        except Unavailable as error:
            await self._failed(wait, error)
            return None
        await self._end(wait)
        self._around.succeeded(subject)
        return done

    async def _begin(self, error: Unavailable) -> None:
        """The first failure begins a wait; others join it. Raises where nobody is patient."""
        async with self._probing:
            if self._wait is None:
                self._at_once = False
                seconds = self._patience(error, 0)
                entry = await self._record(error, seconds, number=self._execution.outages_so_far() + 1)
                self._wait = Wait(entry=entry, seconds=seconds)
                self._is_first_probe(self._wait)
                await self._tell(self._wait)

    async def _failed(self, wait: Wait, error: Unavailable) -> None:
        """A try failed. One before its time changes nothing; else the next wait begins, or the end."""
        await self._tell(wait)
        wait.deaf = True
        if not self._execution.stopping.is_set() and self._around.clock.now() < wait.entry.event.due:
            return
        try:
            wait.seconds = self._patience(error, wait.entry.event.tries + 1)
        except Unavailable:
            wait.gave_up = error
            await self._end(wait)
            raise
        number = self._execution.outages_so_far() + 1
        wait.entry = await self._record(error, wait.seconds, number=number, before=wait)
        wait.deaf = False

    def _patience(self, error: Unavailable, tries: int) -> float:
        """Seconds to the next try. Raises the error where nobody waits any more."""
        stopping = self._execution.stopping.is_set()
        seconds = None if stopping else self._around.patience(error.reason, error.subject, tries)
        if seconds is None:
            raise error
        return seconds * (1 + CHANCE * random.random())

    async def _record(
        self, error: Unavailable, seconds: float, *, number: int, before: Wait | None = None
    ) -> Entry[Outage]:
        event = Outage(
            reason=error.reason,
            subject=error.subject,
            since=self._first(before).seq if before else 0,
            tries=before.entry.event.tries + 1 if before else 0,
            due=self._around.clock.now() + seconds,
        )
        closes = [before.entry.seq] if before else []
        key = part(self._execution.path, f"outage#{number}")
        return await self._execution.append(event, key, closes=closes)

    async def _end(self, wait: Wait) -> None:
        ended = OutageEnded(gave_up=wait.gave_up is not None)
        await self._execution.append(ended, part(wait.entry.key, "ended"), closes=[wait.entry.seq])
        wait.over = True
        self._wait = None

    async def _tell(self, wait: Wait) -> None:
        """Once in each attempt: what was told in an earlier one is read back."""
        if not wait.told:
            wait.told = True
            await self._around.went_down(self._execution.thread, self._first(wait))

    async def settle(self) -> None:
        """At the begin of an attempt: what was half told when the last one was killed is told."""
        if self._wait and self._execution.pending_about(self._first(self._wait).key):
            await self._tell(self._wait)

    def _first(self, wait: Wait) -> Entry[Outage]:
        """The entry that it began with."""
        return self._around.journal.at(wait.entry.event.since or wait.entry.seq)

    # Sleeping

    async def _sleep(self, wait: Wait) -> None:
        """Until its time has come, or something has changed."""
        if self._at_once or self._execution.stopping.is_set() or self._is_first_probe(wait):
            self._at_once = False
            return
        self._stirred = stirred = asyncio.Event()
        left = min(wait.entry.event.due - self._around.clock.now(), wait.seconds)
        alarm = asyncio.create_task(self._around.clock.sleep(left), name=f"outage of {self._execution.id}")
        alarm.add_done_callback(lambda _: stirred.set())
        self.asleep = True
        self.notice()
        self._around.changed()
        try:
            await stirred.wait()
        finally:
            self.asleep = False
            alarm.cancel()

    def _is_first_probe(self, wait: Wait) -> bool:
        """Does this life know nothing yet of what is waited for? One execution finds out for all."""
        subject = self._wanted if wait.entry.event.subject else ""
        first = subject not in self._around.probed
        self._around.probed.add(subject)
        return first

    def notice(self) -> None:
        """Something came for the thread: a stop, or a message that has ended no sleep yet, ends this one."""
        came = set(seqs_of(self._execution.unheard()))
        if self.asleep and (self._execution.stopping.is_set() or came - self._awoken):
            self._awoken |= came
            self._stir()

    def may_end(self, subject: str) -> bool:
        """This was reached just now: may what is slept for be over?"""
        wait = self._wait
        if wait is None or wait.deaf or not self.asleep:
            return False
        return not wait.entry.event.subject or subject in (wait.entry.event.subject, self._wanted)

    def try_now(self) -> None:
        """Let it find out whether it is over."""
        self._stir()

    def _stir(self) -> None:
        self.asleep = False
        self._stirred.set()
