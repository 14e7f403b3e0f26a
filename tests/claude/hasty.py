"""A clock that skips pauses between retries."""

from __future__ import annotations

import asyncio

from tests.clock import FakeClock

SHORT = 20.0
"""Seconds; only a longer sleep waits for the test."""


class HastyClock(FakeClock):
    """Clock that notes its `pauses` and counts reads of the time in `looks`."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self.looks = 0
        self.short = SHORT

    def steady(self) -> float:
        self.looks += 1
        return super().steady()

    async def sleep(self, seconds: float) -> None:
        if seconds > self.short:
            return await super().sleep(seconds)
        self.pauses.append(seconds)
        self._now += seconds
        return await asyncio.sleep(0)
