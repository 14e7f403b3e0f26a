"""Outages: an execution waits within its turn while a service cannot be reached.

One of its tasks tries again for all: when the time is due, after a message, or after another execution's
success. Successes are not recorded, so each worker first tries each service at once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, Input, part_key, seqs_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan, OutageEnded

T = TypeVar("T")
E = TypeVar("E", bound=Event)

JITTER = 0.2
"""Largest random addition to a wait, as a fraction of it, so that retries do not coincide."""


async def needs_no_tree(thread: str) -> None:
    """Wait for nothing: the worker takes the turns of all trees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionServices:
    """Services of the worker for its executions.

    `regain_tree` waits until the worker may take turns of the thread's tree. `replays_always` is for tests.
    """

    journal: Journal
    clock: Clock
    author: str
    patience: Callable[[str, str, int], float | None]
    went_down: Callable[[str, Entry[OutageBegan]], Awaitable[None]]
    succeeded: Callable[[str], None]
    changed: Callable[[], None]
    regain_tree: Callable[[str], Awaitable[None]] = needs_no_tree
    replays_always: bool = False
    probed: set[str] = field(default_factory=set)


class OutageHost(Protocol):
    id: str
    thread: str
    path: str
    stopping: asyncio.Event

    async def append(self, event: E, key: str, *, closes: Sequence[int] = ()) -> Entry[E]: ...

    def unreceived_inputs(self) -> list[Entry[Input]]: ...

    def pending_about(self, key: str) -> list[Entry[Event]]: ...


@dataclass(slots=True, kw_only=True)
class OutageWait:
    """Outage of an execution. `seconds` is the time between the last try and the next."""

    entry: Entry[OutageBegan]
    seconds: float
    is_reported: bool = False
    ignores_successes: bool = False
    """True from an early retry that failed until the next due time."""
    over: bool = False
    gave_up: Unavailable | None = None

    @property
    def first(self) -> int:
        """Seq of the outage's first entry."""
        return self.entry.event.since or self.entry.seq


class OutageWaiter:
    """Waits of one attempt during outages."""

    def __init__(
        self, execution: OutageHost, services: ExecutionServices, recorded: list[Entry[OutageBegan]]
    ) -> None:
        self._execution = execution
        self._services = services
        self.recorded = recorded
        self._wait = self._unended()
        self._skips_sleep = False
        self._subject = ""
        self._probing = asyncio.Lock()
        self._woken = asyncio.Event()
        self._noticed = set[int]()
        self.asleep = False

    def _unended(self) -> OutageWait | None:
        pending = self._services.journal.still_pending(seqs_of(self.recorded))
        for entry in self.recorded:
            if entry.seq in pending:
                return OutageWait(entry=entry, seconds=entry.event.due - entry.at)
        return None

    @property
    def is_lasting(self) -> bool:
        return self._wait is not None

    async def outlast(
        self, attempt: Callable[[], Awaitable[T]], subject: str, accepts: bool
    ) -> T | list[Entry[Input]]:
        """Return the result of `attempt`, or inputs if the step `accepts` them.

        After each Unavailable, wait and try again. Raises Unavailable if the program gives up.
        """
        self._subject = subject
        while True:
            if self._wait is None:
                try:
                    done = await attempt()
                except Unavailable as error:
                    await self._begin(error)
                    continue
                self._services.succeeded(subject)
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
        inputs = await self._inputs_to_accept(wait, accepts)
        if not inputs:
            await self._sleep(wait)
            inputs = await self._inputs_to_accept(wait, accepts)
        if inputs:
            return inputs
        try:
            done = await attempt()
        except Unavailable as error:
            await self._failed(wait, error)
            return None
        await self._end(wait)
        self._services.succeeded(subject)
        return done

    async def _inputs_to_accept(self, wait: OutageWait, accepts: bool) -> list[Entry[Input]]:
        if not accepts or self._execution.stopping.is_set():
            return []
        inputs = self._execution.unreceived_inputs()
        if inputs:
            await self._report(wait)  # finish the report before the inputs are received
            self._skips_sleep = True
        return inputs

    async def _begin(self, error: Unavailable) -> None:
        async with self._probing:
            if self._wait is None:
                self._skips_sleep = False
                seconds = self._patience(error, 0)
                entry = await self._record(error, seconds)
                self._wait = OutageWait(entry=entry, seconds=seconds)
                self._is_first_probe(self._wait)
                await self._report(self._wait)

    async def _failed(self, wait: OutageWait, error: Unavailable) -> None:
        """Wait again, or give up. A failure before the due time is ignored."""
        await self._report(wait)
        wait.ignores_successes = True
        is_early = self._services.clock.now() < wait.entry.event.due
        if is_early and not self._execution.stopping.is_set():
            return
        try:
            wait.seconds = self._patience(error, wait.entry.event.tries + 1)
        except Unavailable:
            wait.gave_up = error
            await self._end(wait)
            raise
        wait.entry = await self._record(error, wait.seconds, before=wait)
        wait.ignores_successes = False

    def _patience(self, error: Unavailable, tries: int) -> float:
        """Return the seconds until the next try; raise the error if there is none."""
        if self._execution.stopping.is_set():
            raise error
        seconds = self._services.patience(error.reason, error.subject, tries)
        if seconds is None:
            raise error
        return seconds * (1 + JITTER * random.random())

    async def _record(
        self, error: Unavailable, seconds: float, before: OutageWait | None = None
    ) -> Entry[OutageBegan]:
        due = self._services.clock.now() + seconds
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

    async def _report(self, wait: OutageWait) -> None:
        if not wait.is_reported:
            wait.is_reported = True
            first = self._services.journal.entry(wait.first)
            await self._services.went_down(self._execution.thread, first)

    async def settle(self) -> None:
        if self._wait is None:
            return
        first = self._services.journal.entry(self._wait.first)
        if self._execution.pending_about(first.key):
            await self._report(self._wait)

    # Sleeping

    async def _sleep(self, wait: OutageWait) -> None:
        if self._skips_sleep or self._execution.stopping.is_set() or self._is_first_probe(wait):
            self._skips_sleep = False
            return
        self._woken = woken = asyncio.Event()
        left = min(wait.entry.event.due - self._services.clock.now(), wait.seconds)
        alarm = asyncio.create_task(self._services.clock.sleep(left), name=f"outage of {self._execution.id}")
        alarm.add_done_callback(lambda _: woken.set())
        self.asleep = True
        self.notice_input()
        self._services.changed()
        try:
            await woken.wait()
        finally:
            self.asleep = False
            alarm.cancel()
        await self._services.regain_tree(self._execution.thread)

    def _is_first_probe(self, wait: OutageWait) -> bool:
        subject = ""
        if wait.entry.event.subject:
            subject = self._subject
        first = subject not in self._services.probed
        self._services.probed.add(subject)
        return first

    def notice_input(self) -> None:
        """End the wait for a stop or a new message."""
        seqs = set(seqs_of(self._execution.unreceived_inputs()))
        if self.asleep and (self._execution.stopping.is_set() or seqs - self._noticed):
            self._noticed |= seqs
            self.try_now()

    def may_end(self, subject: str) -> bool:
        """True if a success with `subject` may end the outage."""
        wait = self._wait
        if wait is None or wait.ignores_successes or not self.asleep:
            return False
        return not wait.entry.event.subject or subject in (wait.entry.event.subject, self._subject)

    def try_now(self) -> None:
        self.asleep = False
        self._woken.set()
