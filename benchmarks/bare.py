"""Floors: the bare anthropic SDK and sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic, DefaultAioHttpClient


def sdk(url: str) -> AsyncAnthropic:
    """Return an SDK client with the daemon's transport, and like it without retries."""
    return AsyncAnthropic(
        api_key="any", base_url=url, max_retries=0, open_telemetry=False, http_client=DefaultAioHttpClient()
    )


async def texts(client: AsyncAnthropic, request: Mapping[str, Any]) -> AsyncIterator[str]:
    """Yield the texts of a streamed call."""
    async with await client.messages.create(**request, stream=True) as events:
        async for event in events:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text


async def streamed(client: AsyncAnthropic, request: Mapping[str, Any]) -> str:
    return "".join([text async for text in texts(client, request)])


async def whole(client: AsyncAnthropic, request: Mapping[str, Any]) -> str:
    message = await client.messages.create(**request)
    return "".join(block.text for block in message.content if block.type == "text")


@contextmanager
def rows(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a table as durable as the journal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        connection.execute("create table row (seq integer primary key, key text unique, body text)")
        yield connection


def write(connection: sqlite3.Connection, keys: Iterator[int], body: str, count: int) -> None:
    connection.execute("begin immediate")
    for _ in range(count):
        connection.execute("insert into row (key, body) values (?, ?)", (f"key-{next(keys)}", body))
    connection.execute("commit")
