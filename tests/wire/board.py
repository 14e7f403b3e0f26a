"""What the processes of one case share: a page of memory, made before the fork, and the time that it keeps.

The time runs fast and can be moved: paces, backoffs and outages cost nothing, in every process at once.
"""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import time

T0 = 1_790_000_000.0
SPEED = 20.0
"""Seconds of a scenario in one second of ours, if the scenario does not say otherwise."""

NAP = 3.0
"""Seconds of the scenario for which anybody sleeps without a look at the time."""


class Board(ctypes.Structure):
    """The shared page."""

    began: float
    moved: float
    phase: int
    port: int
    soul: int
    speed: float
    _fields_ = (
        ("began", ctypes.c_double),
        ("moved", ctypes.c_double),
        ("phase", ctypes.c_int),
        ("port", ctypes.c_int),
        ("soul", ctypes.c_int),
        ("speed", ctypes.c_double),
    )


def board() -> Board:
    """A new page, for this process and those that it forks."""
    page = Board.from_buffer(mmap.mmap(-1, ctypes.sizeof(Board)))
    page.began = time.monotonic()
    page.speed = SPEED
    return page


class SwiftClock:
    """Implements ports.Clock, the same in all processes of a case."""

    def __init__(self, page: Board) -> None:
        self._page = page

    def now(self) -> float:
        return T0 + self._page.moved + (time.monotonic() - self._page.began) * self._page.speed

    def steady(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Until it is so much later, also where the time is moved meanwhile."""
        left, until = seconds, self.now() + seconds
        while True:
            await asyncio.sleep(min(max(left, 0.0), NAP) / self._page.speed)
            left = until - self.now()
            if left <= 0:
                return
