"""Connections to servers over real pipes."""

from __future__ import annotations

import sys
from pathlib import Path

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.tool_call import ToolRequest, ToolResult
from tests.tools.connected import connected, raw_server

TIME = ToolServerSettings(name="time", command=sys.executable, args=("-m", "mcp_server_time"))


async def test_a_tool_of_a_public_server_is_listed_and_called(tmp_path: Path) -> None:
    async with connected(tmp_path, TIME) as bench:
        await bench.until("time", "ready")
        [(_, protocol, tools)] = bench.lists
        assert (protocol, [tool["name"] for tool in tools]) == (
            "2026-07-28",
            ["get_current_time", "convert_time"],
        )
        assert {"description", "inputSchema", "annotations"} <= tools[0].keys()
        said = await bench.servers.call(
            ToolRequest(server="time", tool="get_current_time", arguments={"timezone": "Asia/Tokyo"}),
            bench.progress.append,
        )
        assert isinstance(said, ToolResult)
        assert "Asia/Tokyo" in said.text
    assert bench.servers.state_of("time").state == "off"


async def test_a_call_reaches_a_raw_server(tmp_path: Path) -> None:
    async with connected(tmp_path, raw_server()) as bench:
        assert await bench.text("echo", "hello") == '{"text": "hello"}'
        assert bench.servers.state_of("raw").protocol == "2025-11-25"
