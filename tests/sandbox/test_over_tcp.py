"""A third environment: the CPython child over TCP, as in a container."""

from __future__ import annotations

import asyncio
import secrets
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from daemon.sandbox.environment import LIMIT, SandboxError, SandboxLimits
from daemon.sandbox.host import ConfinedChild, accept_child
from daemon.sandbox.session import ENVIRONMENT, ChildProcess, child_command, pipe_with_word
from tests.sandbox.opened import FIND_WIRE

BOUNDS = SandboxLimits(seconds=30)


@asynccontextmanager
async def caller() -> AsyncIterator[tuple[int, asyncio.Future[tuple[StreamReader, StreamWriter]]]]:
    called: asyncio.Future[tuple[StreamReader, StreamWriter]] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *streams: called.set_result(streams), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], called


async def start(told_token: str, token: str) -> ConfinedChild:
    """Start a child with one token, while another may be expected."""
    async with caller() as (port, called):
        with pipe_with_word(told_token) as standard_input:
            process = await asyncio.create_subprocess_exec(
                *child_command(f"tcp:127.0.0.1:{port}"), stdin=standard_input, env=ENVIRONMENT
            )
        return await accept_child(*await called, token, BOUNDS, ChildProcess(process))


async def test_cells_run_and_call_and_fail_as_they_do_nearby() -> None:
    async def double(number: int) -> int:
        return 2 * number

    token = secrets.token_hex()
    sandbox = (await start(token, token)).sandbox({"double": double})
    await sandbox.bind(start=3)
    assert (await sandbox.execute_code("x = [double(start), (1, {2})]\nx")).value == [6, (1, {2})]
    assert "PermissionError" in (await sandbox.execute_code("open('/etc/hostname')")).error
    assert (await sandbox.execute_code("import os; os._exit(0)")).lost
    await sandbox.close()


async def test_who_has_a_wrong_token_or_that_of_another_run_is_refused() -> None:
    ours, others = secrets.token_hex(), secrets.token_hex()
    for wrong in ("", "x", others, ours[:-1]):
        with pytest.raises(SandboxError, match="without this sandbox's token"):
            await start(wrong, ours)


@pytest.mark.parametrize("first", [b"\x7f\xff\xff\xff", b"\0\0\x20\0" + b" " * 0x2000, b"GET / HTTP/1.1\r\n"])
async def test_who_begins_with_too_much_is_refused_before_it_is_read(first: bytes) -> None:
    async with caller() as (port, called):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first)
        with pytest.raises(SandboxError, match=r"a frame of [0-9,]+ bytes"):
            await accept_child(*await called, "token", BOUNDS)
        with pytest.raises((EOFError, ConnectionResetError)):
            await reader.readexactly(1)
        writer.close()


async def test_a_later_frame_that_is_too_large_ends_it() -> None:
    token = secrets.token_hex()
    sandbox = (await start(token, token)).sandbox({})
    execution = await sandbox.execute_code(f"{FIND_WIRE}wire._connection.sendall(({LIMIT} + 1).to_bytes(4))")
    assert execution.lost
    assert f"a frame of {LIMIT + 1:,} bytes" in execution.error
