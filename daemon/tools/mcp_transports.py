"""Choice of the transport to a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from daemon.sandbox.bubblewrap import find_bwrap, isolated_argv
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionEnd, ConnectionFailed, ConnectionMeans
from daemon.tools.http_transport import http_client_for
from daemon.tools.server_log import ServerLog
from daemon.tools.server_output import MOST_MESSAGE_BYTES
from daemon.tools.stdio_transport import stdio_transport


@asynccontextmanager
async def open_transport(
    settings: ToolServerSettings, means: ConnectionMeans, end: ConnectionEnd
) -> AsyncIterator[TransportStreams]:
    """Open the transport to a server. Raises ConnectionFailed, OSError and ValueError."""
    if settings.url:
        async with _http_transport(settings, means) as streams:
            yield streams
        return
    log = ServerLog(means.folder / f"{settings.name}.log", [*means.secrets, *settings.secrets])
    argv = await _server_argv(settings, means)
    async with stdio_transport(settings, argv, means.folder, log, end) as streams:
        yield streams


@asynccontextmanager
async def _http_transport(
    settings: ToolServerSettings, means: ConnectionMeans
) -> AsyncIterator[TransportStreams]:
    async with (
        http_client_for(settings, means.private_files) as client,
        streamable_http_client(
            settings.url, http_client=client, max_sse_event_size=MOST_MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


async def _server_argv(settings: ToolServerSettings, means: ConnectionMeans) -> list[str]:
    """Return the command of a server, isolated if its settings say so. Raises ConnectionFailed."""
    argv = [settings.command, *settings.args]
    if not settings.sandbox:
        return argv
    tool, why = await find_bwrap()
    if not tool:
        raise ConnectionFailed(f"It is not started, since it cannot be isolated: {why}.")
    work = means.folder / "work" / settings.name
    work.mkdir(mode=0o700, parents=True, exist_ok=True)
    return isolated_argv(tool, argv, means.folder, work, means.hidden)
