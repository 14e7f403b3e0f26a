"""How late an event loop is: the time for which whoever else waits in it does not get a turn."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

BREATH = 0.002
"""Seconds from one look to the next."""


class Lag:
    """Looks while inside; may be entered again, one after the other. Times are seconds."""

    def __init__(self) -> None:
        self._late: list[float] = []
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._looking
        self._looking.cancel()
        await asyncio.wait([self._looking])

    async def _look(self) -> None:
        while True:
            due = time.perf_counter() + BREATH
            try:
                await asyncio.sleep(BREATH)
            finally:
                self._late.append(max(time.perf_counter() - due, 0.0))

    @property
    def most(self) -> float:
        """How late it was at the latest."""
        return max(self._late, default=0.0)

    def percentile(self, percent: int) -> float:
        """How late it was at the most in so many of a hundred looks."""
        late = sorted(self._late)
        return late[(len(late) - 1) * percent // 100] if late else 0.0


class Held:
    """For how long others hold the loop between two of its looks, by processor time: that of a busy machine,
    too. It looks all the time while inside."""

    def __init__(self) -> None:
        self.most = 0.0
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._looking
        self._looking.cancel()
        await asyncio.wait([self._looking])

    async def _look(self) -> None:
        while True:
            began = time.thread_time()
            try:
                await asyncio.sleep(0)
            finally:
                self.most = max(self.most, time.thread_time() - began)
