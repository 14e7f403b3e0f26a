"""A call that waits in a task of its own: whoever waits can leave at once, and the server is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

from daemon.sandbox.foreign_output import mask_given, strip_control_text

T = TypeVar("T")

MOST_PROGRESS = 200
"""Most characters of a progress text."""

PROGRESS_PAUSE = 0.2
"""Least seconds between two progress texts; others are dropped."""


class OpenCall:
    """Time limit of a call, which each report of progress extends, and which stands still in a pause.

    `secrets` are masked in reports.
    """

    def __init__(self, seconds: float, report: Callable[[str], None], secrets: Collection[str] = ()) -> None:
        self._seconds = seconds
        self._report = report
        self._secrets = secrets
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + seconds
        self._reported = float("-inf")

    async def take_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Take a report of progress, as the SDK hands it on."""
        now = self._loop.time()
        self._until = now + self._seconds
        if now - self._reported >= PROGRESS_PAUSE:
            self._reported = now
            self._report(_progress_text(progress, total, mask_given(message or "", self._secrets)))

    async def pause(self, asked: Awaitable[T]) -> T:
        """Wait for people, on their time."""
        left = self._until - self._loop.time()
        self._until = float("inf")
        try:
            return await asked
        finally:
            self._until = self._loop.time() + left

    async def wait(self, work: Coroutine[Any, Any, T], tasks: set[asyncio.Task[Any]]) -> T:
        """Return the result of the work; if the time or the wait ends, cancel the work and leave it.

        Raises TimeoutError. `tasks` holds the work until it has ended.
        """
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(_retrieve)
        try:
            while not task.done():
                left = self._until - self._loop.time()
                if left <= 0:
                    raise TimeoutError
                await asyncio.wait([task], timeout=min(left, self._seconds))
        finally:
            task.cancel()
        return task.result()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Mark the error of work that nobody waits for any more as seen."""
    if not task.cancelled():
        task.exception()


def _progress_text(progress: float, total: float | None, message: str) -> str:
    if message:
        return " ".join(strip_control_text(message).split())[:MOST_PROGRESS]
    if total:
        return f"{progress:g}/{total:g}"
    return f"{progress:g}"
