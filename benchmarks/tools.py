"""Cost of a call of a tool, and of a durable one. Floor: the SDK's client with its own transport."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import ground
from daemon.app.discovery import load_connections
from daemon.engine.clock import SystemClock
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.tools.connected_servers import ConnectedServers
from daemon.tools.connection import ConnectionMeans
from daemon.tools.tool_call import ToolRequest, ToolResult

AIM = 1.5
"""Maximum ratio to the bare call."""

COMMAND, ARGS = sys.executable, ("-m", "mcp_server_time")
TOOL, ARGUMENTS = "get_current_time", {"timezone": "Asia/Tokyo"}
NAME, GIVEN = f"time.{TOOL}", {"arguments": ARGUMENTS, "for": ["U1"], "digest": "0" * 64}
"""Name and recorded arguments of a durable call."""


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
    bare = Client(StdioServerParameters(command=COMMAND, args=[*ARGS]))
    async with ground(folder) as here, bare, connected:
        turn = await here.turn("tools")
        await bare.list_tools()
        await first.came.wait()
        floor, ours, durable, reading = await side_by_side(
            rounds,
            lambda: bare.call_tool(TOOL, ARGUMENTS),
            lambda: called(connected),
            lambda: turn.effect(NAME, GIVEN, lambda: called(connected), repeatable=False),
            lambda: turn.effect_soon(NAME, GIVEN, lambda: called(connected)),
        )
    return [
        _figure("tool call over stdio", ours, floor),
        _figure("durable tool call", durable, floor),
        _figure("durable call of a tool that may be repeated", reading, floor),
    ]


async def called(servers: ConnectedServers) -> str:
    request = ToolRequest(server="time", tool=TOOL, arguments=ARGUMENTS)
    result = await servers.call(request, lambda _: None)
    assert isinstance(result, ToolResult)
    return result.text


def _figure(name: str, measured: float, floor: float) -> Figure:
    return Figure(
        name=name,
        value=measured * 1e3,
        unit="ms",
        floor=floor * 1e3,
        aim=f"at most {AIM} times the floor",
        met=measured <= AIM * floor,
    )
