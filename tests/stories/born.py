"""Daemon forked by the nursery, with the interface of asyncio's processes."""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from daemon.settings.home import project_root

LIMIT = 2**24
"""Bytes of output that may be unread."""


class Words(asyncio.StreamReaderProtocol):
    def __init__(self) -> None:
        self.said = asyncio.StreamReader(limit=LIMIT)
        self.over = asyncio.get_running_loop().create_future()
        super().__init__(self.said)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.over.set_result(None)


class Fate(asyncio.Protocol):
    """Reader of the keeper's report: pid, later the exit status."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.pid: asyncio.Future[int] = loop.create_future()
        self.status: asyncio.Future[int] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()
        self._told = b""

    def data_received(self, data: bytes) -> None:
        self._told += data
        lines = self._told.split(b"\n")[:-1]
        for told, line in zip((self.pid, self.status), lines, strict=False):
            if not told.done():
                told.set_result(int(line))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.pid.done():
            self.pid.set_exception(RuntimeError("the nursery is gone"))
        self.over.set_result(None)


class Born:
    def __init__(self, out: Words, err: Words, fate: Fate) -> None:
        self.stdout = out.said
        self.stderr = err.said
        self._pipes = (out, err, fate)
        self._fate = fate

    @property
    def pid(self) -> int:
        return self._fate.pid.result()

    @property
    def returncode(self) -> int | None:
        return self._fate.status.result() if self._fate.status.done() else None

    def send_signal(self, sent: int) -> None:
        """Send a signal. Raises ProcessLookupError if the daemon has ended."""
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, sent)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Return the exit status, once all output is read."""
        for pipe in self._pipes:
            await asyncio.shield(pipe.over)
        return self._fate.status.result()

    async def communicate(self) -> tuple[bytes, bytes]:
        out, err = await self.stdout.read(), await self.stderr.read()
        await self.wait()
        return out, err


async def born(command: Sequence[str], env: Mapping[str, str]) -> Born:
    """Start a daemon with exactly this environment."""
    out, err, fate = Words(), Words(), Fate()
    ends = [await pipe_to(one) for one in (out, err, fate)]
    order = json.dumps({"command": command, "env": dict(env)})
    socket.send_fds(nursery(), [order.encode()], ends)
    for end in ends:
        os.close(end)
    await fate.pid
    return Born(out, err, fate)


async def pipe_to(reader: asyncio.Protocol) -> int:
    """Return the writing end of a new pipe."""
    ours, theirs = os.pipe()
    await asyncio.get_running_loop().connect_read_pipe(lambda: reader, os.fdopen(ours, "rb", buffering=0))
    return theirs


@functools.cache
def nursery() -> socket.socket:
    """Return the nursery of this process; both end together."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {**os.environ, "PYTHONWARNINGS": "error", "SSL_CERT_DIR": os.devnull}
    command = [sys.executable, "-m", "tests.nursery"]
    process = subprocess.Popen(
        command, cwd=project_root(), env=env, stdin=theirs.fileno(), stdout=subprocess.DEVNULL
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
