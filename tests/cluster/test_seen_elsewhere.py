"""Whole daemons on one log: thoughts of one on the page of another, and machines that differ."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from aiohttp import ClientSession

from rehearsal.people import SOUL
from tests.attention import PATIENCE
from tests.cluster.daemons import SIGNED_IN, Machine, machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around
from tests.tools.connected import RAW

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


def bodies(log: str, kind: str) -> Sequence[Mapping[str, Any]]:
    with psycopg.connect(log, autocommit=True) as database:
        rows = database.execute("select body from entry where kind = %s order by seq", (kind,)).fetchall()
    return [json.loads(body) for (body,) in rows]


async def first_thought(standby: Machine) -> dict[str, object]:
    """Return what a page shows first of a running call."""
    async with (
        ClientSession(headers=SIGNED_IN) as browser,
        browser.get(f"{standby.url}/console/journal?since=0") as answer,
    ):
        is_thought = False
        async for line in answer.content:
            if is_thought:
                found: dict[str, object] = json.loads(line.decode().partition("data: ")[2])
                return found
            is_thought = line == b"event: thinking\n"
    raise AssertionError("the stream ended")


async def test_a_standby_shows_thoughts_and_differences_and_starts_no_tool_server(
    tmp_path: Path, log_url: str
) -> None:
    servers = tmp_path / "mcp.json"
    raw = {"command": sys.executable, "args": ["-I", "-S", "-B", str(RAW)]}
    servers.write_text(json.dumps({"mcpServers": {"raw": raw}}))
    config = {"MCP_CONFIG": str(servers)}
    async with (
        around(tmp_path, pace=0.2) as place,
        machine(tmp_path, place, log_url, "first", **config) as first,
        machine(tmp_path, place, log_url, "second", MESH_DAILY="3", **config) as second,
        asyncio.timeout(PATIENCE),
    ):
        watching = asyncio.create_task(first_thought(second))
        await place.say(f"<@{SOUL.user}> Tell me about tea, please.")
        thought = await watching
        assert str(thought["number"]).endswith(":1")
        assert {"thread", "key", "name", "text"} <= thought.keys()
        assert first.process.returncode is None
        while not (lists := bodies(log_url, "tools-listed")):
            pass
        assert [one["server"] for one in lists] == ["raw"]
        assert [one["machine"] for one in bodies(log_url, "server-placed")] == ["first"]
        while "a setting differs between first and second" not in str(await second.get("/console/state")):
            pass
