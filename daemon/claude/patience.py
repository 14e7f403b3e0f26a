"""How long one waits for the other side of a stream, on a clock that tests can move. Used by client.py."""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Self

from daemon.ports import Clock

LOOK = 60.0
"""Seconds between two looks at a wait that has no end."""


class Patience:
    """While inside, a wait that takes too long ends in TimeoutError; what is done at `rest` is never cut off.

    One watcher for the whole stream, not a timer for each event: that would cost more than the event.
    """

    def __init__(self, clock: Clock, until: float) -> None:
        self._clock = clock
        self._until = until
        self._due = math.inf
        self._over = False

    def wait(self, seconds: float) -> None:
        """From now on we wait for the other side, so long at the most."""
        self._due = min(self._clock.now() + seconds, self._until)

    def rest(self) -> None:
        """From now on it waits for us."""
        self._due = math.inf

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.cancel()
        if self._over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    async def _watch(self) -> None:
        while (left := self._due - self._clock.now()) > 0:
            await self._clock.sleep(min(left, LOOK))
        self._over = True
        self._task.cancel()  # here and not a pass later: by then it may be at rest
