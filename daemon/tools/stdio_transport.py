"""Transport to a server that runs as a child process: JSON-RPC, one message a line.

Messages that are too long are dropped while they are read, and what is no message goes to the server's log.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from daemon.lifetime import run_to_end
from daemon.sandbox.environment import repair_surrogates
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionEnd
from daemon.tools.server_log import ServerLog
from daemon.tools.server_output import EndlessLineError, MessageLines, OutputPace, OversizedLine
from daemon.tools.server_process import (
    end_server,
    has_ended,
    server_environment,
    start_server,
    write_record,
)

PATIENCE = 1.0
"""Seconds that a process may take to end after its output."""

READ = 2**16
"""Most bytes of one read."""

SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Escape of half a surrogate pair in JSON."""

MOST_LINES = 1_000
"""Most lines that are taken in a second."""

OVERSIZED = -39_100
"""Code of our own error in place of a message that was too long."""

STUCK = 30.0
"""Seconds after which a server that does not read its input counts as lost."""

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def stdio_transport(
    settings: ToolServerSettings, argv: list[str], folder: Path, log: ServerLog, end: ConnectionEnd
) -> AsyncIterator[TransportStreams]:
    """Run the server inside the block. Raises OSError and ValueError if it cannot be started."""
    env = server_environment(settings.env, os.environ)
    process = await start_server(argv, env, settings.cwd)
    record = folder / f"{settings.name}.{process.pid}.running"
    outgoing, taken = anyio.create_memory_object_stream[SessionMessage](0)
    given, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    assert process.stdin
    assert process.stderr
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read_messages, process, given, log, end)
            group.start_soon(_write_messages, process.stdin, taken, end)
            group.start_soon(log.follow, process.stderr)
            try:
                await asyncio.to_thread(write_record, record, process.pid)
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await run_to_end(end_server(process, record))
                group.cancel_scope.cancel()
    finally:
        for stream in (outgoing, taken, given, incoming):
            stream.close()


async def _read_messages(process: Process, given: Incoming, log: ServerLog, end: ConnectionEnd) -> None:
    """Hand on messages until the end of the output; then say how the process ended."""
    lines, pace, source = MessageLines(), OutputPace(MOST_LINES), process.stdout
    assert source
    async with given:
        try:
            while chunk := await source.read(READ):
                for line in lines.feed(chunk):
                    await pace.take()
                    message = parse_line(line, log.write)
                    if message:
                        await given.send(SessionMessage(message))
        except EndlessLineError:
            end.mark("It sent a line without end.")
        except (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        await has_ended(process, PATIENCE)
        end.mark(_end_in_words(process.returncode))


def _end_in_words(status: int | None) -> str:
    if status is None:
        return "It closed its output."
    if status < 0:
        return f"It was ended by signal {-status}."
    return f"It ended with exit status {status}."


def parse_line(line: bytes | OversizedLine, complain: Callable[[str], None]) -> JSONRPCMessage | None:
    """Return the message of a line; an error in place of one that was too long; None if it is none."""
    if isinstance(line, OversizedLine):
        complain("[a message that was too long was dropped]")
        if line.id is None:
            return None
        return JSONRPCError(jsonrpc="2.0", id=line.id, error=ErrorData(code=OVERSIZED, message="oversized"))
    if not line.strip():
        return None
    for text in _readings(line):
        with suppress(ValueError):
            return jsonrpc_message_adapter.validate_json(text, by_name=False)
    complain(f"[no message] {line[:200].decode(errors='replace')}")
    return None


def _readings(line: bytes) -> Iterator[bytes | str]:
    """Yield a line, and what it may mean where the SDK refuses it: with half surrogates, or no UTF-8."""
    yield line
    if SURROGATE.search(line):
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
            yield repair_surrogates(text)
    yield line.decode(errors="replace")


async def _write_messages(sink: asyncio.StreamWriter, taken: Outgoing, end: ConnectionEnd) -> None:
    """Write messages, until the server does not read them."""
    try:
        async for sent in taken:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            sink.write(text.encode() + b"\n")
            async with asyncio.timeout(STUCK):
                await sink.drain()
    except TimeoutError:
        end.mark("It does not read its input.")
    except ConnectionError:
        await asyncio.sleep(2 * PATIENCE)  # the end of a process is noticed by its output, and says more
        end.mark("It closed its input.")
