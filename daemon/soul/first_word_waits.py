"""People who wait for the first word of an answer: which executions, and since when.

Kept in memory. Noting a call costs next to nothing: one watcher looks after all of them (long_waits.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from daemon.engine.execution import Execution

SECONDS_TO_STATUS, SENTENCE = 20.0, 60.0
"""Seconds without a first word, after which a status says so, and after which a sentence does."""


@dataclass(eq=False, kw_only=True)
class FirstWordWait:
    """A person's wait for the first words of one execution, since `since` on the steady clock.

    `signs` counts what was done about it; `telling` is on its way. `failed`: Slack did not take the sentence.
    """

    since: float
    calls: int = 0
    signs: int = 0
    telling: asyncio.Task[None] | None = None
    failed: bool = False

    @property
    def next_sign_at(self) -> float | None:
        """The time of its next sign, on the steady clock; None: there is none."""
        if self.signs > 1:
            return None
        return self.since + (SECONDS_TO_STATUS, SENTENCE)[self.signs]

    async def finish_telling(self) -> None:
        """Wait until what is being said of the wait stands in Slack."""
        if self.telling is not None:
            telling, self.telling = self.telling, None
            await telling


class FirstWordWaits:
    """All executions for which a person waits."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Execution, FirstWordWait] = WeakKeyDictionary()
        self._calling: dict[Execution, FirstWordWait] = {}
        self.any = asyncio.Event()
        """Set while somebody may wait."""

    @asynccontextmanager
    async def track_wait(
        self, execution: Execution, now: float, *, anew: bool
    ) -> AsyncIterator[FirstWordWait]:
        """While inside, a call is queued or on its way for which a person waits.

        `anew`: each call counts from its own begin, and not from that of the first one.
        """
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
        """True if Slack did not take the sentence on the wait for this execution."""
        wait = self._of.get(execution)
        return wait is not None and wait.failed

    @property
    def next_sign_at(self) -> float | None:
        """The time of the next sign of any of them, on the steady clock; None: there is none."""
        return min(
            (wait.next_sign_at for wait in self._calling.values() if wait.next_sign_at is not None),
            default=None,
        )

    def overdue(self, now: float) -> Mapping[Execution, FirstWordWait]:
        """Return those whose next sign is due by now."""
        return {
            execution: wait
            for execution, wait in self._calling.items()
            if wait.next_sign_at is not None and wait.next_sign_at <= now
        }
