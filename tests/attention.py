"""How a test waits for something that no event tells of: it looks again whenever anything has stirred.

Whatever moves in an event loop comes through its selector: bytes on a socket, a word from another thread, a
timer. So a test need not ask again and again, which takes the core from the program that it waits for.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

PATIENCE = 120.0
"""Real seconds after which a test gives up: far more than it ever takes, however busy the machine."""


class Attentive(selectors.DefaultSelector):
    """A selector that wakes who is waiting after each event, and once before it blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[asyncio.Future[None]] = []
        self._looked = False
        """Has everybody looked since anything ran?"""

    def stirred(self) -> asyncio.Future[None]:
        """Done when something may have changed."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As any selector does. The loop says 0 where something is ready to run."""
        if timeout is not None and timeout <= 0:
            events = super().select(0)
            self._looked = False
            if events:
                self._wake()
            return events
        if self._waiting and not self._looked:
            self._wake()
            events = super().select(0)
            self._looked = not events
            return events
        events = super().select(timeout)
        self._looked = False
        self._wake()
        return events

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


class AttentiveLoop(asyncio.SelectorEventLoop):
    """The loop of every asynchronous test."""

    def __init__(self) -> None:
        self.attention = Attentive()
        super().__init__(self.attention)


async def until(happened: Callable[[], object]) -> None:
    """Let everybody go on until this is so."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AttentiveLoop), "this waits in the tests' own loop"
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await loop.attention.stirred()


def run(main: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run does, in the tests' own loop."""
    with asyncio.Runner(loop_factory=AttentiveLoop) as runner:
        runner.run(main)
