"""Daemons of a workspace as processes of their own, and what they say."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from tests.attention import until
from tests.source import ROOT


class RunningMember:
    """A daemon in a process; `said` has what it said so far."""

    def __init__(self, machine: str, process: asyncio.subprocess.Process) -> None:
        self.machine = machine
        self.process = process
        self.said: list[dict[str, Any]] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            self.said.append(json.loads(line))

    def times(self, what: str) -> list[float]:
        return [one["at"] for one in self.said if one["what"] == what]

    async def until(self, what: str, times: int = 1) -> float:
        """Wait until it has said something; return when it did, as a boot time."""
        await until(lambda: len(self.times(what)) >= times)
        return self.times(what)[times - 1]

    def send(self, sent: signal.Signals) -> None:
        self.process.send_signal(sent)

    async def end(self) -> int:
        """Wait for its end, and for all that it said; return its exit status."""
        status = await self.process.wait()
        await self._reading
        return status

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        await self.end()


class Nursery:
    """Processes that end with the test."""

    def __init__(self) -> None:
        self._ending = AsyncExitStack()

    async def start(self, url: str, machine: str, cleans_up: str = "", sockets: int = 0) -> RunningMember:
        """Start a daemon. `cleans_up`: empty: it does not; `yes`; `never ends`."""
        command = (
            sys.executable,
            "-m",
            "tests.cluster.membership_process",
            url,
            machine,
            cleans_up,
            str(sockets),
        )
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        member = RunningMember(machine, process)
        self._ending.push_async_callback(member.kill)
        return member

    async def close(self) -> None:
        await self._ending.aclose()


@asynccontextmanager
async def nursery() -> AsyncIterator[Nursery]:
    made = Nursery()
    try:
        yield made
    finally:
        await made.close()
