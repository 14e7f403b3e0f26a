"""How long one waits for the other side of a stream, on a clock that tests can move."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from daemon.limits import STREAM, StreamLimits
from daemon.ports import Clock

LOOK = 60.0
"""Seconds between two looks at a wait that has no end."""


class CallStopped(Exception):
    """Someone stopped the soul: nobody waits for this any more."""

    recorded_name = "Stopped"


class StreamTimeout(TimeoutError):
    """A stream reached one of its limits. Its text says which one, with the seconds."""

    recorded_name = "Overdue"


class StreamDeadline:
    """While inside, a wait ends in Overdue when it takes too long, and in Stopped when `stop` is set.

    A stream has not begun before its first event. From then on each byte is a sign of life, and an event must
    come now and then, whatever bytes come. `until` is when all of it ends, on the steady clock.
    What is done at `rest` is never cut off; who stops us then closes the stream, and the next wait ends.
    One watcher for each of both, not a timer for each event: that would cost more than the event.
    """

    def __init__(
        self, clock: Clock, until: float, stop: asyncio.Event, limits: StreamLimits | None = None
    ) -> None:
        self._clock = clock
        self._until = until
        self._stop = stop
        self._limits = limits or STREAM
        self._entered = self._heard = clock.steady()
        """When it was entered, and when the last bytes came."""
        self._first_event = math.inf
        self._begun = False
        self._bytes_due = math.inf
        self._event_due = math.inf
        self._close: Callable[[], Awaitable[None]] | None = None
        self._resting = False
        self._over: Exception | None = None
        self._cut = False

    # What the stream tells

    def begin_request(self, first_event: float) -> None:
        """A request is sent now; its first event must come within so many seconds. Raises Stopped."""
        self._raise_if_over()
        self._first_event = first_event
        self._event_due = self._clock.steady() + first_event

    def note_bytes(self) -> None:
        """Bytes came, of whatever kind."""
        self._heard = self._clock.steady()
        self._bytes_due = self._heard + self._limits.stall

    def note_event(self) -> None:
        """An event came with the last bytes."""
        self._begun = True
        self._event_due = self._heard + self._limits.events

    def pause(self, close: Callable[[], Awaitable[None]]) -> None:
        """From now on it waits for us; `close` ends the stream."""
        self._resting, self._close = True, close

    def resume(self) -> None:
        """From now on we wait for the stream again, as long as at first. Raises Stopped and Overdue."""
        self._raise_if_over()
        self._resting = False
        self.note_bytes()
        self.note_event()

    def _raise_if_over(self) -> None:
        if self._over:
            raise self._over

    # Inside

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
        """When the wait takes too long, as far as is known now."""
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
        """The limit that was reached, in words for the log and for Health."""
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
        """Ends the wait at once, and not a pass later: by then it may be at rest."""
        if self._over is None:
            self._over, self._cut = why, not self._resting
            if self._cut:
                self._task.cancel()
