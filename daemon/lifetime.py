"""Lifetime of the daemon and its background work."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class RoleHolder(Protocol):
    """Roles of this daemon. Of all daemons that share a log, one holds each role."""

    def holds(self, role: str) -> bool: ...

    async def hold(self, role: str) -> None:
        """Wait until this daemon has the role."""


class EveryRole:
    """Holder of all roles, for a daemon that shares its journal with no other."""

    def holds(self, role: str) -> bool:
        return True

    async def hold(self, role: str) -> None:
        return


async def run_until_failure(*needs: asyncio.Future[None]) -> None:
    """Wait until one of `needs` ends; raise its error."""
    done, _ = await asyncio.wait(needs, return_when=asyncio.FIRST_COMPLETED)
    for end in done:
        end.result()


@asynccontextmanager
async def failing_with(need: asyncio.Future[None]) -> AsyncIterator[None]:
    """Cancel the block if `need` fails, and raise its error."""
    block = asyncio.current_task()
    assert block is not None

    def end(failed: asyncio.Future[None]) -> None:
        if not failed.cancelled():
            block.cancel()

    need.add_done_callback(end)
    try:
        yield
    except asyncio.CancelledError:
        if need.done() and not need.cancelled():
            block.uncancel()
            need.result()
        raise
    finally:
        need.remove_done_callback(end)


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run work in the background of the block; drop its errors, which its users meet, too."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end, even if the caller is cancelled meanwhile; then the caller is."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    return task.result()


async def run_until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run work; SIGTERM or SIGINT cancels it, and the result is None."""
    task = asyncio.create_task(work)
    for sent in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sent, task.cancel)
    with suppress(asyncio.CancelledError):
        return await task
    return None
