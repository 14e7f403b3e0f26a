"""Cost of a call of a tool through a connected server. Floor: the SDK's client with its own transport."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.figure import Figure, side_by_side
from daemon.app.discovery import load_connections
from daemon.engine.clock import SystemClock
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connection import ConnectionMeans
from daemon.tools.servers import ConnectedServers
from daemon.tools.tool_call import ToolRequest

AIM = 1.5
"""Maximum ratio to the bare call."""

COMMAND, ARGS = sys.executable, ("-m", "mcp_server_time")
TOOL, ARGUMENTS = "get_current_time", {"timezone": "Asia/Tokyo"}


@dataclass(frozen=True, kw_only=True)
class FixedConfiguration:
    current: ToolServersFile
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class FirstList:
    """Recorder that waits for the first list."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    async def record_list(
        self, settings: ToolServerSettings, protocol: str, raw: Sequence[Mapping[str, Any]]
    ) -> None:
        self.came.set()

    async def record_settings(self, servers: Mapping[str, ToolServerSettings]) -> None: ...


async def tools(folder: Path, *, rounds: int = 400) -> Sequence[Figure]:
    """Call a public server over stdio, in a process for each client."""
    server = ToolServerSettings(name="time", command=COMMAND, args=ARGS)
    configuration = FixedConfiguration(current=ToolServersFile(servers={"time": server}))
    first, means = FirstList(), ConnectionMeans(folder=folder / "tools")
    connected = ConnectedServers(configuration, load_connections, first, SystemClock(), means)
    request = ToolRequest(server="time", tool=TOOL, arguments=ARGUMENTS)
    async with Client(StdioServerParameters(command=COMMAND, args=[*ARGS])) as bare, connected:
        await bare.list_tools()
        await first.came.wait()
        floor, ours = await side_by_side(
            rounds,
            lambda: bare.call_tool(TOOL, ARGUMENTS),
            lambda: connected.call(request, lambda _: None),
        )
    return [
        Figure(
            name="tool call over stdio",
            value=ours * 1e3,
            unit="ms",
            floor=floor * 1e3,
            aim=f"at most {AIM} times the floor",
            met=ours <= AIM * floor,
        )
    ]
