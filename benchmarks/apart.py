"""A server of a benchmark in its own process."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def apart(module: str, argument: object) -> AsyncIterator[str]:
    """Run a module as a process; yield the URL that it prints first."""
    command = (sys.executable, "-m", module, str(argument))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert process.stdout
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()
