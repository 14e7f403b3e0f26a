"""A client of the soul's MCP server, by the SDK over loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.stories.stage import Stage

Mode = Literal["auto", "legacy"]


def token_in(home: Path) -> str:
    return (home / "mcp-token").read_text(encoding="utf-8").strip()


@asynccontextmanager
async def connected_to(home: Path, url: str, mode: Mode = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token_in(home)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@asynccontextmanager
async def connected(stage: Stage, mode: Mode = "auto") -> AsyncIterator[Client]:
    async with connected_to(stage.home, stage.soul.url, mode) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that succeeds; return its text."""
    failed, text = await tried(client, tool, **arguments)
    assert not failed, text
    return text


async def tried(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Call a tool; return whether it failed, and its text."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    return result.is_error, str(getattr(content, "text", content))


def conversation_in(answer: str) -> str:
    return answer.rpartition("[conversation: ")[2].removesuffix("]")
