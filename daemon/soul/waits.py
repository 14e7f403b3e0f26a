"""People who wait for the first word of an answer: which executions, and since when.

Kept in memory. Noting a call costs next to nothing: one watcher looks after all of them (long_waits.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from daemon.engine.execution import Execution

SIGN, SENTENCE = 20.0, 60.0
"""Seconds without a first word, after which a status says so, and after which a sentence does."""


@dataclass(eq=False, kw_only=True)
class Wait:
    """What a person waits for: the first words of this execution, since `since` on the steady clock.

    `signs` counts what was done about it; `telling` is on its way. `failed`: Slack did not take the sentence.
    """

    execution: Execution
    since: float
    calls: int = 0
    signs: int = 0
    telling: asyncio.Task[None] | None = None
    failed: bool = False

    @property
    def due(self) -> float | None:
        """When something is to be done about it next, on the steady clock; None: never."""
        if self.signs > 1 or not self.calls:
            return None
        return self.since + (SIGN, SENTENCE)[self.signs]

    @property
    def over(self) -> bool:
        """True once people see an answer, or were told that the model is away."""
        return self.execution.is_shown or self.execution.down

    async def told(self) -> None:
        """Until what is being said of the wait stands in Slack."""
        if self.telling is not None:
            telling, self.telling = self.telling, None
            await telling


class Waits:
    """All executions for which a person waits, while a call of theirs is queued or on its way."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Execution, Wait] = WeakKeyDictionary()
        self.any = asyncio.Event()
        """Set while somebody may wait."""

    @asynccontextmanager
    async def first_word(self, execution: Execution, now: float, *, anew: bool) -> AsyncIterator[Wait]:
        """While inside, a call is on its way for which a person waits.

        `anew`: each call counts from its own begin, and not from that of the first one.
        """
        wait = self._of.get(execution)
        if wait is None:
            wait = self._of[execution] = Wait(execution=execution, since=now)
        elif anew and not wait.calls:
            wait.since, wait.signs = now, 0
        wait.calls += 1
        self.any.set()
        try:
            yield wait
        finally:
            wait.calls -= 1
            await wait.told()

    def of(self, execution: Execution) -> Wait | None:
        """The wait for this execution, if there was one."""
        return self._of.get(execution)

    @property
    def open(self) -> Sequence[Wait]:
        """Those about which something is to be done at some time."""
        return [wait for wait in self._of.values() if wait.due is not None]
