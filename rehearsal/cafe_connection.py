"""Connection to the rehearsed café's MCP server, in this process.

Its list of tools is known from the start; the first call loads the server and the SDK of the protocol.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from daemon.app.tool_services import RehearsedTools
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.connection import ConnectionEnd, ConnectionMeans, ListedTools, ServerConnection
from daemon.tools.tool_call import AskNow, InputNeeded, ToolRequest, ToolResult

CAFE = ToolServerSettings(name="cafe", command="rehearsed", trusted=True, approvers=("owner", "asker"))
"""The café as an owner would configure it."""

PROTOCOL = "2026-07-28"
LEDGER = "cafe-ledger.json"
"""File of the café's purchases, in the folder of tool servers."""


@asynccontextmanager
async def connect_cafe(
    settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
) -> AsyncIterator[ServerConnection]:
    """Open a connection for the block; nothing is loaded before the first call."""
    cafe = CafeConnection(settings, means, changed)
    try:
        yield cafe
    finally:
        await cafe.close()


class CafeConnection:
    """Connection that opens the server when it is first needed, in a task that also closes it."""

    protocol = PROTOCOL

    def __init__(
        self, settings: ToolServerSettings, means: ConnectionMeans, changed: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._means = means
        self._changed = changed
        self._end = ConnectionEnd()
        self._opened: asyncio.Future[ServerConnection] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def list_tools(self) -> ListedTools:
        path = Path(__file__).with_name("cafe_tools.json")
        return ListedTools(tools=json.loads(path.read_text(encoding="utf-8")))

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
            self._serving = asyncio.create_task(self._serve(self._opened), name="rehearsed café")
        return await asyncio.shield(self._opened)

    async def _serve(self, opened: asyncio.Future[ServerConnection]) -> None:
        self._means.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        server = await asyncio.to_thread(_load_server, self._means.folder / LEDGER)
        sdk: Any = import_module("daemon.tools.mcp_connection")
        connection = sdk.McpConnection(self._settings, self._means, self._changed, self._end)
        async with connection.opened(server):
            opened.set_result(connection)
            await self._closing.wait()


def rehearsed_tools() -> RehearsedTools:
    """Return the café as the tool server of a rehearsed workspace."""
    return RehearsedTools(servers={CAFE.name: CAFE}, connect=connect_cafe)


def _load_server(ledger: Path) -> object:
    import_module("daemon.tools.mcp_connection")
    return import_module("rehearsal.cafe_server").make_cafe_server(ledger)
