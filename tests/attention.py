"""Event loop whose tests wait for conditions that no event reports."""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

from daemon.engine.journal.writer import JournalWriter

PATIENCE = float(os.environ.get("PATIENCE", "45"))
"""Real seconds after which a test gives up."""


class Attentive(selectors.DefaultSelector):
    """Selector that wakes waiting tests after each event, and once before it blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[asyncio.Future[None]] = []
        self._resting: list[asyncio.Future[None]] = []
        self._pausing: list[asyncio.Future[None]] = []
        self._passes = 0
        """Passes of the loop until `pause` ends even without rest."""
        self._working = 0
        self._looked = False
        """True if each waiting test has checked since anything ran."""

    def wait_for(self, work: asyncio.Future[Any]) -> None:
        """Count the work of a thread: no rest until it is done."""
        self._working += 1
        work.add_done_callback(self._has_ended)

    def rest(self) -> asyncio.Future[None]:
        """Return a future, done when nothing is ready, in transit or in a thread."""
        resting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._resting.append(resting)
        return resting

    def pause(self, passes: int) -> asyncio.Future[None]:
        """Return a future, done at rest or after some passes: some loops never rest."""
        pausing = self.rest()
        self._pausing.append(pausing)
        self._passes = passes
        return pausing

    def stirred(self) -> asyncio.Future[None]:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Select; the loop passes 0 if something is ready."""
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
    def __init__(self) -> None:
        self.attention = Attentive()
        super().__init__(self.attention)


class CountedWriter(JournalWriter):
    def submit(self, *args: Any, **more: Any) -> asyncio.Future[int]:
        written = super().submit(*args, **more)
        attention().wait_for(written)
        return written


def attention() -> Attentive:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AttentiveLoop), "this waits in the tests' own loop"
    return loop.attention


async def until(happened: Callable[[], object]) -> None:
    """Wait for a condition, checked after each event."""
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await attention().stirred()


async def rest() -> None:
    """Wait until nothing can continue before time moves."""
    async with asyncio.timeout(PATIENCE):
        await attention().rest()


def run(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=AttentiveLoop) as runner:
        runner.run(main)
