"""How long the daemon lives: until it is told to stop, or cannot go on. For app, __main__."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from daemon.journal.journal import Journal
from daemon.life.waker import AsyncioWaker


async def live(waker: AsyncioWaker, journal: Journal, *needs: asyncio.Future[None]) -> None:
    """Live until cancelled; raises JournalError when nothing can be remembered any more.

    `needs` fail when something else is gone without which it cannot go on: then their error.
    """
    sweeping = asyncio.create_task(waker.run())
    try:
        ends: set[asyncio.Future[None]] = {sweeping, journal.died, *needs}
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Do this until it ends, or until SIGTERM or SIGINT cancels it."""
    task = asyncio.create_task(work)
    for sent in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sent, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
