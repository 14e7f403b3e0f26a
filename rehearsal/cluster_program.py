"""One program of a rehearsed cluster: `python -m daemon …` in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.tied_process import tied_command

PROJECT = Path(__file__).parents[1]
GRACE = 20.0
"""Seconds in which a program has to end."""
SHOWN_LINES = 8
"""Last lines of a program that did not start."""
LONGEST_LINE = 2**20
"""Bytes of a line of output."""


class NotStarted(Exception):
    """A program that ended before it was ready, with what it said."""


@dataclass(slots=True, kw_only=True)
class ClusterProgram:
    """A program that can be started again. `tell` is called with each line after its start."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    tell: Callable[[str], None]
    process: Process | None = None
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN_LINES))

    async def start(self) -> str:
        """Start it; return its ready line, which ends with an address. Raises NotStarted."""
        self.process = await asyncio.create_subprocess_exec(
            *tied_command([sys.executable, "-m", "daemon", *self.command]),
            cwd=PROJECT,
            env=dict(self.environment),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for us: we end them in order
        )
        async for line in self._output():
            self._lines.append(line)
            if line.startswith("ready"):
                return line
        await self.process.wait()
        raise NotStarted(f"{self.name} did not start:\n" + "\n".join(self._lines))

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    async def follow(self) -> int:
        """Tell its lines until it ends; return its exit status."""
        async for line in self._output():
            self.tell(line)
        assert self.process
        return await self.process.wait()

    async def end(self) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(self.follow(), GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _output(self) -> AsyncIterator[str]:
        assert self.process
        assert self.process.stdout
        async for line in self.process.stdout:
            yield line.decode(errors="replace").rstrip()
