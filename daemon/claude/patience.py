"""How long one waits for the other side of a stream, on a clock that tests can move. Used by client.py."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from daemon.ports import Clock

LOOK = 60.0
"""Seconds between two looks at a wait that has no end."""


class Stopped(Exception):
    """Someone stopped the soul: nobody waits for this any more."""


class Patience:
    """While inside, a wait ends in TimeoutError when it takes too long, and in Stopped when `stop` is set.

    What is done at `rest` is never cut off; who stops us then closes the stream, and the next wait ends.
    One watcher for each of both, not a timer for each event: that would cost more than the event.
    """

    def __init__(self, clock: Clock, until: float, stop: asyncio.Event) -> None:
        self._clock = clock
        self._until = until
        self._stop = stop
        self._due = math.inf
        self._close: Callable[[], Awaitable[None]] | None = None
        self._resting = False
        self._over: Exception | None = None
        self._cut = False

    def wait(self, seconds: float) -> None:
        """From now on we wait for the other side, so long at the most. Raises Stopped."""
        if self._over:
            raise self._over
        self._resting, self._due = False, min(self._clock.steady() + seconds, self._until)

    def rest(self, close: Callable[[], Awaitable[None]]) -> None:
        """From now on it waits for us; `close` ends the stream."""
        self._resting, self._due, self._close = True, math.inf, close

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._watchers = [asyncio.create_task(self._watch()), asyncio.create_task(self._heed())]
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

    async def _watch(self) -> None:
        left = self._due - self._clock.steady()
        while left > 0:
            await self._clock.sleep(min(left, LOOK))
            left = self._due - self._clock.steady()
        self._end(TimeoutError())

    async def _heed(self) -> None:
        await self._stop.wait()
        self._end(Stopped())
        if self._resting and self._close:
            await self._close()

    def _end(self, why: Exception) -> None:
        """Ends the wait at once, and not a pass later: by then it may be at rest."""
        if self._over is None:
            self._over, self._cut = why, not self._resting
            if self._cut:
                self._task.cancel()
