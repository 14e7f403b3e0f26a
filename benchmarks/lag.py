"""Delays of the event loop."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

BREATH = 0.002
"""Seconds between checks."""


class Lag:
    """Delays by wall clock, in seconds, while entered."""

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
        return max(self._late, default=0.0)

    def percentile(self, percent: int) -> float:
        """Return the delay not exceeded in `percent` of the checks."""
        late = sorted(self._late)
        return late[(len(late) - 1) * percent // 100] if late else 0.0


class Held:
    """Longest time that others hold the loop, in CPU seconds: independent of the machine's load.

    It checks without pause.
    """

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
