"""What answers of the page are made of is read beside all else: no answer waits for a long journal.

Each answer says how much is still to be read, and holds what is there.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

AT_ONCE = 10_000
"""Entries that are read before an answer; where more are left, it does not wait for them."""
PAUSE = 0.1
"""Seconds after which the collector is told of what was read by then."""


class BackgroundFoldReader:
    """Reads with `read` when somebody asks; `left` says how many entries are not read yet. `first` reads what
    an answer waits for even then."""

    def __init__(
        self,
        read: Callable[[], Coroutine[Any, Any, None]],
        left: Callable[[], int],
        at_once: int = AT_ONCE,
        first: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._read = read
        self._left = left
        self._at_once = at_once
        self._first = first
        self._task: asyncio.Task[None] | None = None

    async def entries_left(self) -> int:
        """How many entries are not read yet; 0 where all is there.

        Reads them: at once if they are few, else beside all else. Raises what went wrong at that, once.
        """
        if self._task and self._task.done():
            done, self._task = self._task, None
            done.result()
        if self._task is None and self._left() <= self._at_once:
            await self._read()
            return 0
        if self._task is None:
            self._task = asyncio.create_task(self._reading(), name="reading for the page")
            if self._first:
                await self._first()
        return self._left()

    async def close(self) -> None:
        """End what is still read."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _reading(self) -> None:
        """What was read stays: the collector need not go through it again and again, and hold up all else."""
        reading = asyncio.create_task(self._read())
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=PAUSE)
                gc.freeze()
            reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
