"""How long the daemon lives: until it is told to stop, or cannot go on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def run_until_failure(*needs: asyncio.Future[None]) -> None:
    """Live until cancelled. `needs` fail when something is gone that it cannot go on without."""
    done, _ = await asyncio.wait(needs, return_when=asyncio.FIRST_COMPLETED)
    for end in done:
        end.result()


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """While inside, this is done beside all else. Whoever needs it does it, too, and is told what fails."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Do this until it ends, or until SIGTERM or SIGINT cancels it: then nothing comes of it."""
    task = asyncio.create_task(work)
    for sent in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sent, task.cancel)
    with suppress(asyncio.CancelledError):
        return await task
    return None
