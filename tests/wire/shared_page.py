"""Memory page that the processes of a case share, with a fast clock that can be moved."""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import time

T0 = 1_790_000_000.0
SPEED = 20.0
"""Scenario seconds per real second."""

NAP = 3.0
"""Scenario seconds between looks at a clock that may have moved."""


class SharedPage(ctypes.Structure):
    began: float
    moved: float
    phase: int
    port: int
    worker: int
    speed: float
    _fields_ = (
        ("began", ctypes.c_double),
        ("moved", ctypes.c_double),
        ("phase", ctypes.c_int),
        ("port", ctypes.c_int),
        ("worker", ctypes.c_int),
        ("speed", ctypes.c_double),
    )


def share_page() -> SharedPage:
    """Return a page shared with later forks."""
    page = SharedPage.from_buffer(mmap.mmap(-1, ctypes.sizeof(SharedPage)))
    page.began = time.monotonic()
    page.speed = SPEED
    return page


class FastClock:
    """Implements ports.Clock, equal in all processes of a case."""

    def __init__(self, page: SharedPage) -> None:
        self._page = page

    def now(self) -> float:
        return T0 + self._page.moved + (time.monotonic() - self._page.began) * self._page.speed

    def steady(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time has come, also by a move."""
        left, until = seconds, self.now() + seconds
        while True:
            await asyncio.sleep(min(max(left, 0.0), NAP) / self._page.speed)
            left = until - self.now()
            if left <= 0:
                return
