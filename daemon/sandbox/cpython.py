"""The cpython environment: cells run in a child process of the same Python, which gives up its rights first.

x86_64 Linux with seccomp; elsewhere it refuses. The child has the standard library, no files, no network.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import daemon
from daemon.environment import USUAL, Function, SandboxError, SandboxLimits
from daemon.sandbox.host import INSTEAD, ChildSandbox, ConfinedChild, accept_child

BOOT = f"import sys; sys.path.insert(0, sys.argv[1]); from {__package__}.child import main; main(sys.argv[2])"
FLAGS = ("-P", "-s", "-S", "-X", "utf8")
"""No site, no folder of the user's: as -I, which would not read PYTHONHASHSEED."""
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC"}
"""All that the child sees of the environment, so that a cell that runs again does the same."""
BUFFER = 2**20
ROOT = Path(daemon.__file__).parent.parent


class ChildProcess:
    """A child process of this one."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._is_paused = False

    def pause(self) -> None:
        self._is_paused = True
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._signal(signal.SIGCONT)

    def cpu_seconds(self) -> float:
        clock = (~self._process.pid << 3) | 2  # as clock_getcpuclockid makes it
        with suppress(OSError):
            return time.clock_gettime(clock)
        return 0.0

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    async def reap(self) -> None:
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


@contextmanager
def pipe_with_word(word: str) -> Iterator[int]:
    """A descriptor from which this word can be read, and then nothing."""
    reading, writing = os.pipe()
    try:
        os.write(writing, f"{word}\n".encode())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


async def start_child(bounds: SandboxLimits) -> ConfinedChild:
    """Start a child and have it confine itself. Raises SandboxError where it cannot."""
    if sys.platform != "linux":
        raise SandboxError(f"The cpython sandbox needs x86_64 Linux, and this is {sys.platform}. {INSTEAD}")
    ours, theirs = socket.socketpair()
    token = secrets.token_hex()
    with theirs, pipe_with_word(token) as standard_input:
        reader, writer = await asyncio.open_connection(sock=ours, limit=BUFFER)
        try:
            process = await asyncio.create_subprocess_exec(
                *child_command(f"fd:{theirs.fileno()}"),
                stdin=standard_input,
                stdout=DEVNULL,
                stderr=DEVNULL,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            writer.transport.abort()
            raise SandboxError(f"The cpython sandbox cannot be started: {error}. {INSTEAD}") from error
    return await accept_child(reader, writer, token, bounds, ChildProcess(process))


def child_command(address: str) -> list[str]:
    """How to start the program of a child with this address; its token is to be its standard input."""
    return [sys.executable, *FLAGS, "-c", BOOT, str(ROOT), address]


async def open_cpython(functions: Mapping[str, Function], bounds: SandboxLimits = USUAL) -> ChildSandbox:
    """Open a sandbox in a new child. Raises SandboxError where that is impossible, and says what to do."""
    child = await start_child(bounds)
    return child.sandbox(functions)


async def describe_confinement() -> str:
    """By what a child is confined here: "seccomp and Landlock ABI 7". Raises SandboxError: why it is not."""
    child = await start_child(USUAL)
    child.kill()
    await child.process.reap()
    return child.confined


class SpareChildren:
    """Keeps a child ready, so that to open a sandbox takes no time. Each is used once.

    At most `most` sandboxes are open at once: each takes some 20 MB, besides what its cells hold.
    """

    def __init__(self, bounds: SandboxLimits = USUAL, *, most: int = 64) -> None:
        self._bounds = bounds
        self._most = most
        self._open: list[ConfinedChild] = []
        self._opening = 0
        self._starting: deque[asyncio.Task[ConfinedChild]] = deque()

    async def __aenter__(self) -> SpareChildren:
        self._fill()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._starting:
            task.cancel()
        for child in await asyncio.gather(*self._starting, return_exceptions=True):
            if isinstance(child, ConfinedChild):
                child.kill()
                await child.process.reap()

    async def open(self, functions: Mapping[str, Function]) -> ChildSandbox:
        """Open a sandbox, as `open_cpython` does, in a child that is ready. Raises SandboxError also where
        too many are open."""
        self._open = [child for child in self._open if not child.writer.is_closing()]
        if len(self._open) + self._opening >= self._most:
            raise SandboxError(f"{self._most} CPython sandboxes are open, as many as may be at once.")
        self._opening += 1
        try:
            child = await self._take_live_child()
        finally:
            self._opening -= 1
        self._open.append(child)
        self._fill()
        return child.sandbox(functions)

    async def wait_until_ready(self) -> None:
        """Return when none of them is still starting."""
        await asyncio.wait([*self._starting])

    async def _take_live_child(self) -> ConfinedChild:
        """A child that lives."""
        while self._starting:
            task = self._starting.popleft()
            try:
                child = await asyncio.shield(task)
            except asyncio.CancelledError:
                self._starting.append(task)
                raise
            except SandboxError:
                continue  # the next one says whether that is always so
            if child.is_alive():
                return child
            child.kill()
            await child.process.reap()
        return await start_child(self._bounds)

    def _fill(self) -> None:
        if not self._starting:
            self._starting.append(asyncio.create_task(start_child(self._bounds)))
