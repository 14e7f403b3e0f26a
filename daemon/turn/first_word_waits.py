"""Waits of people for the first words of an answer, in memory only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from daemon.engine.execution import Execution

SECONDS_TO_STATUS, SECONDS_TO_SENTENCE = 20.0, 60.0
"""Seconds without a first word until people see a status, and until they see a sentence."""


@dataclass(eq=False, kw_only=True)
class FirstWordWait:
    """A wait for an answer's first words; `since` is steady time.

    `signs` counts the notices so far, `telling` is the one being sent. `failed`: Slack refused the sentence.
    """

    since: float
    calls: int = 0
    signs: int = 0
    telling: asyncio.Task[None] | None = None
    failed: bool = False

    @property
    def next_sign_at(self) -> float | None:
        """Steady time of the next notice, or None."""
        if self.signs > 1:
            return None
        return self.since + (SECONDS_TO_STATUS, SECONDS_TO_SENTENCE)[self.signs]

    async def finish_telling(self) -> None:
        """Wait until a notice being sent is in Slack."""
        if self.telling is not None:
            telling, self.telling = self.telling, None
            await telling


class FirstWordWaits:
    """Waits for first words, by execution."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Execution, FirstWordWait] = WeakKeyDictionary()
        self._calling: dict[Execution, FirstWordWait] = {}
        self.any = asyncio.Event()
        """Set while any execution may wait."""

    @asynccontextmanager
    async def track_wait(
        self, execution: Execution, now: float, *, anew: bool
    ) -> AsyncIterator[FirstWordWait]:
        """Count the time in which a model call waits or runs; `anew` begins at zero for each call."""
        wait = self._of.get(execution)
        if wait is None:
            wait = self._of[execution] = FirstWordWait(since=now)
        elif anew and not wait.calls:
            wait.since, wait.signs = now, 0
        wait.calls += 1
        self._calling[execution] = wait
        self.any.set()
        try:
            yield wait
        finally:
            wait.calls -= 1
            if not wait.calls:
                del self._calling[execution]
            await wait.finish_telling()

    def has_failed(self, execution: Execution) -> bool:
        wait = self._of.get(execution)
        return wait is not None and wait.failed

    @property
    def next_sign_at(self) -> float | None:
        """Earliest steady time of a notice, or None."""
        return min(
            (wait.next_sign_at for wait in self._calling.values() if wait.next_sign_at is not None),
            default=None,
        )

    def overdue(self, now: float) -> Mapping[Execution, FirstWordWait]:
        return {
            execution: wait
            for execution, wait in self._calling.items()
            if wait.next_sign_at is not None and wait.next_sign_at <= now
        }
