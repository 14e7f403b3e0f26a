"""Sandbox in a Docker container: RLM_SANDBOX=examples.sandbox_container.ContainerSandbox.

The program of RLM_SANDBOX=cpython connects over TCP, sends a token, confines itself, and runs cells. For
another runtime change the start command.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import daemon.sandbox
from daemon.sandbox.environment import CellResult, Function, SandboxError, SandboxLimits
from daemon.sandbox.host import ChildSandbox, accept_child
from daemon.sandbox.session import BOOT, ENVIRONMENT, FLAGS

PATIENCE = 60.0
"""Seconds for the program to connect."""
PROGRAM = Path(daemon.sandbox.__file__).parent
"""Program folder, all that the container sees of the project."""
SPARE = 256 * 2**20
"""Memory beyond the cells' limit, in bytes."""
TOLD = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR")
"""Environment of `docker`, without tokens."""


class ContainerSandbox:
    """Sandbox in a container, removed at the end."""

    docker = "docker"
    image = "python:3.11-slim"
    network = "host"
    """Docker's network; with `host` the container reaches this machine's loopback."""
    address = "127.0.0.1"
    """Address of this machine in that network."""

    def __init__(self, sandbox: ChildSandbox) -> None:
        self._sandbox = sandbox

    @classmethod
    async def open(cls, functions: Mapping[str, Function], bounds: SandboxLimits) -> Self:
        """Start a container, and wait for its call. Raises SandboxError."""
        token = secrets.token_hex()
        called: asyncio.Future[tuple[StreamReader, StreamWriter]]
        called = asyncio.get_running_loop().create_future()

        def answer(reader: StreamReader, writer: StreamWriter) -> None:
            if called.done():
                writer.transport.abort()
            else:
                called.set_result((reader, writer))

        try:
            server = await asyncio.start_server(answer, cls.address, 0)
        except OSError as error:
            raise SandboxError(f"Nothing can listen on {cls.address}: {error.strerror}.") from error
        try:
            port = server.sockets[0].getsockname()[1]
            container = await cls._start(f"tcp:{cls.address}:{port}", token, bounds)
            reader, writer = await container.wait_for(called)
        finally:
            server.close()
        child = await accept_child(reader, writer, token, bounds, container)
        return cls(child.sandbox(functions))

    @classmethod
    async def _start(cls, address: str, token: str, bounds: SandboxLimits) -> Container:
        name = f"soul-sandbox-{secrets.token_hex(8)}"
        program = ("python", *FLAGS, "-c", BOOT, "/soul", address)
        options = (
            *("--rm", "--interactive", "--init", "--name", name, "--network", cls.network),
            *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            *("--user", "65534:65534", "--pids-limit", "64", "--memory", str(bounds.memory + SPARE)),
            *(word for key, value in ENVIRONMENT.items() for word in ("--env", f"{key}={value}")),
            *("--volume", f"{PROGRAM}:/soul/daemon/sandbox:ro"),
        )
        process = await run(cls.docker, "run", *options, cls.image, *program, stdin=PIPE)
        assert process.stdin
        with suppress(ConnectionError):
            process.stdin.write(f"{token}\n".encode())
            await process.stdin.drain()
        process.stdin.close()
        return Container(cls.docker, name, process)

    async def execute_code(self, code: str) -> CellResult:
        return await self._sandbox.execute_code(code)

    async def bind(self, **names: Any) -> None:
        await self._sandbox.bind(**names)

    async def close(self) -> None:
        await self._sandbox.close()


class Container:
    def __init__(self, docker: str, name: str, process: Process) -> None:
        self._docker = docker
        self._name = name
        self._process = process

    async def wait_for(
        self, called: asyncio.Future[tuple[StreamReader, StreamWriter]]
    ) -> tuple[StreamReader, StreamWriter]:
        """Return the first connection's streams. Raises SandboxError if the container ends before."""
        ended = asyncio.create_task(self._process.wait())
        try:
            ends: set[asyncio.Future[Any]] = {called, ended}
            await asyncio.wait(ends, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not called.done():
                self.kill()
                await asyncio.shield(self.reap())
        if not called.done():
            raise SandboxError(
                f"The container did not call (`{self._docker} run` ended with {self._process.returncode}): "
                "the log shows what it said."
            )
        return called.result()

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def cpu_seconds(self) -> float:
        return 0.0  # wall time counts instead

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def reap(self) -> None:
        """Remove the container, which may outlive `docker run`."""
        removal = await run(self._docker, "rm", "--force", self._name)
        await removal.wait()
        await self._process.wait()


async def run(docker: str, *args: str, stdin: int = DEVNULL) -> Process:
    """Start a Docker command; its errors go to the log. Raises SandboxError."""
    seen = {key: os.environ[key] for key in TOLD if key in os.environ}
    try:
        return await asyncio.create_subprocess_exec(docker, *args, stdin=stdin, stdout=DEVNULL, env=seen)
    except OSError as error:
        raise SandboxError(f"`{docker}` cannot be started: {error.strerror}. Install Docker.") from error
