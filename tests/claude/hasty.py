"""A clock on which the pauses between two tries take no time of the test's."""

from __future__ import annotations

import asyncio

from tests.clock import FakeClock

SHORT = 20.0
"""Seconds; what sleeps longer waits for the test to move the time."""


class HastyClock(FakeClock):
    """`pauses` tells how long they were; `looks`, how often somebody asked for the time."""

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
