"""Deadlines of a stream, and its stop by a person."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from daemon.engine.clock import Clock
from daemon.settings.limits import STREAM, StreamLimits

LOOK = 60.0
"""Longest sleep between two checks of the deadlines, in seconds."""


class CallStopped(Exception):
    recorded_name = "Stopped"


class StreamTimeout(TimeoutError):
    """Error for a stream that passed a time limit; the text names the limit."""

    recorded_name = "Overdue"


class StreamDeadline:
    """Async context manager that ends the wait for a stream at a time limit or when `stop` is set.

    Raises StreamTimeout or CallStopped. `until` is the end of the whole stream on the steady clock. After the
    first event, both the time between bytes and the time between events are limited. During a pause the task
    is never cancelled: a stop closes the stream instead. Two watcher tasks cost less than a timer per event.
    """

    def __init__(
        self, clock: Clock, until: float, stop: asyncio.Event, limits: StreamLimits | None = None
    ) -> None:
        self._clock = clock
        self._until = until
        self._stop = stop
        self._limits = limits or STREAM
        self._entered = self._heard = clock.steady()
        self._first_event = math.inf
        self._begun = False
        self._bytes_due = math.inf
        self._event_due = math.inf
        self._close: Callable[[], Awaitable[None]] | None = None
        self._resting = False
        self._over: Exception | None = None
        self._cut = False

    def begin_request(self, first_event: float) -> None:
        self._raise_if_over()
        self._first_event = first_event
        self._event_due = self._clock.steady() + first_event

    def note_bytes(self) -> None:
        self._heard = self._clock.steady()
        self._bytes_due = self._heard + self._limits.stall

    def note_event(self) -> None:
        self._begun = True
        self._event_due = self._heard + self._limits.events

    def pause(self, close: Callable[[], Awaitable[None]]) -> None:
        """Suspend the time limits; a stop then calls `close`."""
        self._resting, self._close = True, close

    def resume(self) -> None:
        self._raise_if_over()
        self._resting = False
        self.note_bytes()
        self.note_event()

    def _raise_if_over(self) -> None:
        if self._over:
            raise self._over

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._watch_stop())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = self._cut and self._task.uncancel() <= self._cancelling
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        if ours and self._over and kind is asyncio.CancelledError:
            raise self._over from error

    @property
    def _deadline(self) -> float:
        if self._resting:
            return math.inf
        due = min(self._event_due, self._until)
        if self._begun:
            due = min(due, self._bytes_due)
        return due

    async def _watch(self) -> None:
        look = min(LOOK, self._limits.stall)
        left = self._deadline - self._clock.steady()
        while left > 0:
            await self._clock.sleep(min(left, look))
            left = self._deadline - self._clock.steady()
        self._end(StreamTimeout(self._reached_limit()))

    def _reached_limit(self) -> str:
        now = self._clock.steady()
        if not self._begun and now >= self._event_due:
            return f"no first event within {self._first_event:g} s, MODEL_FIRST_TOKEN"
        if now >= self._bytes_due:
            return f"no byte for {self._limits.stall:g} s, MODEL_STALL"
        if now >= self._event_due:
            return f"no event for {self._limits.events:g} s, though the connection lives"
        return f"not whole after {self._until - self._entered:g} s"

    async def _watch_stop(self) -> None:
        await self._stop.wait()
        self._end(CallStopped())
        if self._resting and self._close:
            await self._close()

    def _end(self, why: Exception) -> None:
        """Cancel the task at once: after one pass of the event loop it may be paused."""
        if self._over is None:
            self._over, self._cut = why, not self._resting
            if self._cut:
                self._task.cancel()
