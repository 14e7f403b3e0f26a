"""A client of the soul's MCP server, by the SDK over loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

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
    return bool(result.is_error), _text(result)


async def followed(client: Client, question: str) -> tuple[str, list[str]]:
    """Ask a question; return the answer, and the lines of its progress."""
    lines: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    result = await client.call_tool("ask", {"question": question}, progress_callback=note)
    return _text(result), lines


def _text(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def conversation_in(answer: str) -> str:
    return answer.rpartition("[conversation: ")[2].removesuffix("]")
