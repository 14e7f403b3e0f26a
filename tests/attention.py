"""How a test waits for something that no event tells of: it looks again whenever anything has stirred."""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

from daemon.engine.journal.writer import JournalWriter

PATIENCE = float(os.environ.get("PATIENCE", "45"))
"""Real seconds after which a test gives up: far more than it ever takes, however busy the machine."""


class Attentive(selectors.DefaultSelector):
    """A selector that wakes who is waiting after each event, and once before it blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[asyncio.Future[None]] = []
        self._resting: list[asyncio.Future[None]] = []
        self._pausing: list[asyncio.Future[None]] = []
        self._passes = 0
        """After so many more passes of the loop whoever pauses goes on, at rest or not."""
        self._working = 0
        self._looked = False
        """Has everybody looked since anything ran?"""

    def wait_for(self, work: asyncio.Future[Any]) -> None:
        """A thread works on this: while it does, there is no rest."""
        self._working += 1
        work.add_done_callback(self._has_ended)

    def rest(self) -> asyncio.Future[None]:
        """Done when nothing is ready to run, no byte is on its way and no thread is at work."""
        resting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resting.append(resting)
        return resting

    def pause(self, passes: int) -> asyncio.Future[None]:
        """Done at the next rest, or after so many passes of the loop: some never come to rest."""
        pausing = self.rest()
        self._pausing.append(pausing)
        self._passes = passes
        return pausing

    def stirred(self) -> asyncio.Future[None]:
        """Done when something may have changed."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As any selector does. The loop says 0 where something is ready to run."""
        if self._pausing:
            self._passes -= 1
            if self._passes <= 0:
                self._let_go(self._pausing)
                timeout = 0
        if timeout is not None and timeout <= 0:
            events = super().select(0)
            self._looked = False
            if events:
                self._let_go(self._waiting)
            return events
        if self._resting and not self._working:
            if not (events := super().select(0)):
                self._let_go(self._resting)
                self._pausing.clear()
            return events
        if self._waiting and not self._looked:
            self._let_go(self._waiting)
            events = super().select(0)
            self._looked = not events
            return events
        events = super().select(timeout)
        self._looked = False
        self._let_go(self._waiting)
        return events

    def _let_go(self, waiting: list[asyncio.Future[None]]) -> None:
        for one in waiting:
            if not one.done():
                one.set_result(None)
        waiting.clear()

    def _has_ended(self, _: object) -> None:
        self._working -= 1


class AttentiveLoop(asyncio.SelectorEventLoop):
    """The loop of every asynchronous test."""

    def __init__(self) -> None:
        self.attention = Attentive()
        super().__init__(self.attention)


class CountedWriter(JournalWriter):
    """The journal's writer; while it writes, there is no rest."""

    def submit(self, *args: Any, **more: Any) -> asyncio.Future[int]:
        written = super().submit(*args, **more)
        attention().wait_for(written)
        return written


def attention() -> Attentive:
    """The selector of the loop that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AttentiveLoop), "this waits in the tests' own loop"
    return loop.attention


async def until(happened: Callable[[], object]) -> None:
    """Let everybody go on until this is so."""
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await attention().stirred()


async def rest() -> None:
    """Let everybody go on until nobody can before the time moves."""
    async with asyncio.timeout(PATIENCE):
        await attention().rest()


def run(main: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run does, in the tests' own loop."""
    with asyncio.Runner(loop_factory=AttentiveLoop) as runner:
        runner.run(main)
