"""How long the daemon lives: until it is told to stop, or cannot go on. For app, __main__."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


async def live(*needs: asyncio.Future[None]) -> None:
    """Live until cancelled. `needs` fail when something is gone that it cannot go on without."""
    done, _ = await asyncio.wait(needs, return_when=asyncio.FIRST_COMPLETED)
    for end in done:
        end.result()


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Do this until it ends, or until SIGTERM or SIGINT cancels it."""
    task = asyncio.create_task(work)
    for sent in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sent, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
