"""All sockets to Slack together: each event comes on one of them. Owned by the surface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from daemon.ports import Clock
from daemon.slack.exchange import Exchange
from daemon.slack.socket import Socket


class Sockets:
    """As many as are wanted, each independent of the others. `began` is called as by each of them."""

    def __init__(self, exchange: Exchange, clock: Clock, began: Callable[[], None]) -> None:
        self._sockets = [Socket(exchange, clock, self._hear) for _ in range(exchange.hearing.wanted)]
        self._web = exchange.web
        self._began = began
        self._hearing = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        """Begin to listen; returns when the first of them does. Raises ConfigError."""
        for socket in self._sockets:
            task = asyncio.create_task(socket.keep())
            task.add_done_callback(self._ended)
            self._keeping.append(task)
        hearing = asyncio.create_task(self._hearing.wait())
        try:
            await asyncio.wait((self._web.died, hearing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            hearing.cancel()
        if self._web.died.done():
            self._web.died.result()

    async def close(self) -> None:
        """Hang up, for good."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)

    def _hear(self) -> None:
        self._hearing.set()
        self._began()

    def _ended(self, keeping: asyncio.Task[None]) -> None:
        """A socket ends by itself only when it must not go on."""
        if not keeping.cancelled() and (error := keeping.exception()):
            self._web.end(error)
