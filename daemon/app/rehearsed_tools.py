"""Tool servers of the rehearsal, in this process.

Their lists of tools are known from the start; the first call loads the server and the SDK of the protocol.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from daemon.app.discovery import load_connections
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connection import (
    ConnectionEnd,
    ConnectionMeans,
    RawToolList,
    ServerConnection,
    ServerOpener,
)
from daemon.tools.tool_call import AskNow, InputNeeded, ToolCallFailed, ToolRequest, ToolResult

log = logging.getLogger(__name__)

PROTOCOL = "2026-07-28"

NOT_LOADED = "The rehearsed server failed: the log of the daemon says why."


class RehearsedServer(Protocol):
    """A server of the rehearsal; its tools as JSON stand in the file `listed`."""

    @property
    def name(self) -> str: ...
    @property
    def listed(self) -> Path: ...
    def load(self, ledger: Path) -> object:
        """Import and return the server, which keeps what it did in the file `ledger`."""


class RehearsedServers(Protocol):
    """A rehearsal that has servers of its own."""

    @property
    def tools(self) -> Sequence[RehearsedServer]: ...


class RehearsedTools:
    """The servers of the rehearsal, beside those of mcp.json."""

    def __init__(self, servers: Sequence[RehearsedServer]) -> None:
        self._servers = {server.name: server for server in servers}
        self._settings = {name: _settings_of(name) for name in self._servers}

    def added_to(self, read: ToolServersFile) -> ToolServersFile:
        """Return the file with these servers; one of the owner's with the same name takes its place."""
        return replace(read, servers={**self._settings, **read.servers})

    async def load(self) -> ServerOpener:
        """Return a function that opens rehearsed servers, and loads the SDK only for others."""
        return self._open

    @asynccontextmanager
    async def _open(
        self, settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
    ) -> AsyncIterator[ServerConnection]:
        if self._settings.get(settings.name) != settings:
            open_connection = await load_connections()
            async with open_connection(settings, means, changed) as connection:
                yield connection
            return
        rehearsed = InProcessConnection(self._servers[settings.name], settings, means, changed)
        try:
            yield rehearsed
        finally:
            await rehearsed.close()


def _settings_of(name: str) -> ToolServerSettings:
    """Return a rehearsed server as an owner would configure it."""
    return ToolServerSettings(name=name, command="rehearsed", trusted=True, approvers=("owner", "asker"))


class InProcessConnection:
    """Connection that opens the server when it is first needed, in a task that also closes it."""

    protocol = PROTOCOL

    def __init__(
        self,
        server: RehearsedServer,
        settings: ToolServerSettings,
        means: ConnectionMeans,
        changed: Callable[[], None],
    ) -> None:
        self._server = server
        self._settings = settings
        self._means = means
        self._changed = changed
        self._end = ConnectionEnd()
        self._opened: asyncio.Future[ServerConnection] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def list_tools(self) -> RawToolList:
        return RawToolList(tools=json.loads(self._server.listed.read_text(encoding="utf-8")))

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None
    ) -> ToolResult | InputNeeded:
        return await (await self._open()).call(request, progress, ask)

    async def read_resource(self, uri: str) -> ToolResult:
        return await (await self._open()).read_resource(uri)

    async def wait_until_lost(self) -> str:
        return await self._end.wait()

    async def close(self) -> None:
        self._closing.set()
        if self._serving:
            await self._serving

    async def _open(self) -> ServerConnection:
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._opened), name="rehearsed tools")
        return await asyncio.shield(self._opened)

    async def _serve(self, opened: asyncio.Future[ServerConnection]) -> None:
        """Serve until closed; a failure ends the connection, which is opened again."""
        try:
            await self._serve_loaded(opened)
        except (ImportError, OSError, ValueError, RuntimeError, ExceptionGroup):
            log.exception("The rehearsed server %s failed.", self._server.name)
            self._end.mark(NOT_LOADED)
            if not opened.done():
                opened.set_exception(ToolCallFailed(NOT_LOADED))

    async def _serve_loaded(self, opened: asyncio.Future[ServerConnection]) -> None:
        self._means.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ledger = self._means.folder / f"{self._server.name}-ledger.json"
        sdk: Any = await asyncio.to_thread(import_module, "daemon.tools.mcp_connection")
        server = await asyncio.to_thread(self._server.load, ledger)
        connection = sdk.McpConnection(self._settings, self._means, self._changed, self._end)
        async with connection.opened(server):
            opened.set_result(connection)
            await self._closing.wait()
