"""A job beside the turns: the journal lists what is to be done, and it is done until nothing is left.

What cannot be done now is tried again. Any other error ends the job, and the log tells the owner.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from daemon.ports import Clock

Work = TypeVar("Work")

log = logging.getLogger(__name__)


class BackgroundJob(ABC):
    """A context manager that calls `do_all` when it is entered, and whenever `wanted` is set.

    `name` is what the log calls the job, `passing` are the errors after which it is tried again, and `pause`
    is the time until then, in seconds.
    """

    name: ClassVar[str]
    passing: ClassVar[tuple[type[Exception], ...]]
    pause: ClassVar[float]

    def __init__(self, clock: Clock, wanted: asyncio.Event) -> None:
        self._clock = clock
        self._wanted = wanted

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._for_ever(), name=self.name)
        self._task.add_done_callback(self._tell_of_an_end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @abstractmethod
    async def do_all(self) -> None:
        """Do all that is wanted now."""

    async def do_each(self, wanted: Iterable[Work], do: Callable[[Work], Awaitable[None]]) -> None:
        """Do each. What cannot be done for one holds up nobody else; its error is raised last."""
        failed: Exception | None = None
        for one in wanted:
            try:
                await do(one)
            except self.passing as error:
                failed = error
        if failed:
            raise failed

    async def _for_ever(self) -> None:
        while True:
            self._wanted.clear()
            try:
                await self.do_all()
            except self.passing as error:
                log.warning("%s is tried again in %.0f s. %s", self.name, self.pause, error)
                await self._clock.sleep(self.pause)
            else:
                await self._wanted.wait()

    def _tell_of_an_end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error:
            # What is still to be done waits in the journal for the next start.
            log.critical("%s failed. Start the daemon anew.", self.name, exc_info=error)
