"""The daemon as a process of its own, started as an owner starts it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from daemon.project import root

PATIENCE = 30.0
"""Real seconds until a daemon must be ready, or gone."""


async def start(home: Path, *command: str, **env: str) -> Process:
    """Start `python -m daemon …` with these variables and none of the machine's own."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", *command),
        cwd=root(),
        env={**inherited, "PORT": "0", "SOUL_HOME": str(home), "PYTHONWARNINGS": "error", **env},
        stdout=PIPE,
        stderr=PIPE,
    )


async def ready(process: Process) -> list[str]:
    """What it prints until it is ready; the last line says where."""
    assert process.stdout
    lines: list[str] = []
    async with asyncio.timeout(PATIENCE):
        async for line in process.stdout:
            lines.append(line.decode().rstrip())
            if lines[-1].startswith("ready"):
                return lines
    assert process.stderr
    raise AssertionError(f"never ready: {lines} {(await process.stderr.read()).decode()}")


async def ended(process: Process) -> tuple[int, str]:
    """Its exit status and what it said on stderr."""
    assert process.stderr
    async with asyncio.timeout(PATIENCE):
        said = (await process.stderr.read()).decode()
        return await process.wait(), said


@asynccontextmanager
async def running(home: Path, *command: str, **env: str) -> AsyncIterator[tuple[Process, str]]:
    """A daemon that is ready, and its URL; killed when the block ends, if it still lives."""
    process = await start(home, *command, **env)
    try:
        yield process, (await ready(process))[-1].split()[-1]
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
