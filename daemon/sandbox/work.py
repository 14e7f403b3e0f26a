"""How long a child works on a cell by itself, and its end when that is too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

BREATH = 0.02
"""Least seconds between two looks."""


class ChildControl(Protocol):
    """What can be done to a child besides talking to it."""

    def pause(self) -> None:
        """Let it do nothing: no cell runs."""

    def resume(self) -> None:
        """Let it go on."""

    def cpu_seconds(self) -> float:
        """Seconds of CPU that it has used; 0 where that cannot be known."""

    def kill(self) -> None:
        """End it now."""

    async def reap(self) -> None:
        """Return when nothing is left of it; it was killed before."""


class CellTimer:
    """How long a child has worked on a cell by itself: time in which it waits for calls does not count.

    What it computes meanwhile does.
    """

    def __init__(self, process: ChildControl) -> None:
        self._now = asyncio.get_running_loop().time
        self._process = process
        self._computed_before = process.cpu_seconds()
        self._seconds = 0.0
        self._since = self._now()
        self._calls = 0

    def pause(self) -> None:
        """A call begins."""
        if not self._calls:
            self._seconds += self._now() - self._since
        self._calls += 1

    def resume(self) -> None:
        """A call has ended."""
        self._calls -= 1
        if not self._calls:
            self._since = self._now()

    def seconds(self) -> float:
        """What it has worked so far."""
        seconds = self._seconds
        if not self._calls:
            seconds += self._now() - self._since
        return max(seconds, self._process.cpu_seconds() - self._computed_before)


class CellWatchdog:
    """Looks at this work until it is stopped, and says so when it takes longer than `most` seconds."""

    def __init__(self, work: CellTimer, most: float, over: Callable[[], None]) -> None:
        self._work = work
        self._most = most
        self._over = over
        self._look()

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _look(self) -> None:
        later = asyncio.get_running_loop().call_later
        left = self._most - self._work.seconds()
        if left > 0:
            self._timer = later(max(left, BREATH), self._look)
        else:
            self._timer = later(0, self._over)
