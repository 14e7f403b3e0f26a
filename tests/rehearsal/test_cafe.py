"""The rehearsed café as a tool server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client

from daemon.app.rehearsed_tools import RehearsedTools
from daemon.settings.mcp_servers import ToolServersFile
from daemon.tools.connection import ConnectionMeans
from daemon.tools.tool_call import ToolCallFailed, ToolRequest, ToolResult
from rehearsal.cafe import rehearsed_cafe
from rehearsal.cafe_server import make_server


async def test_the_list_that_is_known_from_the_start_is_the_list_of_the_server(tmp_path: Path) -> None:
    async with Client(make_server(tmp_path / "ledger.json")) as client:
        listed = await client.session.list_tools()
    tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed.tools]
    assert json.loads(rehearsed_cafe().listed.read_text(encoding="utf-8")) == tools


async def test_purchases_are_kept_over_a_restart(tmp_path: Path) -> None:
    means, tools = ConnectionMeans(folder=tmp_path / "tools"), RehearsedTools([rehearsed_cafe()])
    settings = tools.added_to(ToolServersFile()).servers["cafe"]
    connect = await tools.load()

    async def call(tool: str, **arguments: object) -> str:
        async with connect(settings, means, lambda: None) as cafe:
            request = ToolRequest(server="cafe", tool=tool, arguments=arguments)
            result = await cafe.call(request, lambda _: None, None)
        assert isinstance(result, ToolResult)
        return result.text

    assert await call("stock", item="Flour") == "flour: 12 kg"
    assert await call("buy", item="flour", kilos=5) == "Bought 5 kg of flour; there are 17 kg in store now."
    assert "flour: 17 kg" in await call("stock")


async def test_a_server_that_cannot_be_loaded_is_said_to_have_failed(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class BrokenCafe:
        name: str = "cafe"
        listed: Path = rehearsed_cafe().listed

        def load(self, ledger: Path) -> object:
            raise OSError(f"{ledger} cannot be read")

    means, tools = ConnectionMeans(folder=tmp_path / "tools"), RehearsedTools([BrokenCafe()])
    settings = tools.added_to(ToolServersFile()).servers["cafe"]
    connect = await tools.load()
    async with asyncio.timeout(20), connect(settings, means, lambda: None) as cafe:
        request = ToolRequest(server="cafe", tool="stock", arguments={})
        with pytest.raises(ToolCallFailed, match="the log of the daemon says why"):
            await cafe.call(request, lambda _: None, None)
        assert "the log of the daemon says why" in await cafe.wait_until_lost()
