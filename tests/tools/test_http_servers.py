"""Connections to servers over streamable HTTP: both eras, and servers that fail."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.tool_call import ToolCallFailed, ToolOutcomeUnknown, ToolResult
from tests.clock import FakeClock
from tests.tools.connected import connected, wait_for
from tests.tools.servers.raw_http import Message, RawHttpServer, fails_with, serve_raw

ERAS = ("legacy", "modern")
TOKEN = "Bearer token-of-the-owner"


def over_http(url: str, **more: Any) -> ToolServerSettings:
    return ToolServerSettings(name="raw", url=url, headers={"Authorization": TOKEN}, **more)


@pytest.mark.parametrize("era", ERAS)
async def test_both_eras_list_call_and_announce_changes(tmp_path: Path, era: str) -> None:
    clock = FakeClock()
    async with serve_raw(era) as server, connected(tmp_path, over_http(server.url), clock=clock) as bench:
        assert await bench.text("echo", "hello") == '{"text": "hello"}'
        assert bench.servers.state_of("raw").protocol == {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
        assert all(one["authorization"] == TOKEN for one in server.headers)
        await wait_for(lambda: server.streams)
        server.tools = ["renamed"]
        await server.notify("notifications/tools/list_changed")
        await bench.lists_grow_to(2, clock)
        assert [tools[0]["name"] for _, _, tools in bench.lists] == ["echo", "renamed"]


@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (401, ToolCallFailed),
        (403, ToolCallFailed),
        (429, ToolCallFailed),
        (500, ToolOutcomeUnknown),
        (502, ToolOutcomeUnknown),
        (503, ToolOutcomeUnknown),
    ],
)
async def test_a_status_says_whether_the_call_was_made(
    tmp_path: Path, status: int, raised: type[Exception]
) -> None:
    async with serve_raw("modern") as server, connected(tmp_path, over_http(server.url)) as bench:
        server.answers["fail"] = fails_with(status, text="token-of-the-owner")
        with pytest.raises(raised) as failed:
            await bench.call("fail")
        assert str(status) in str(failed.value)
        assert "token-of-the-owner" not in str(failed.value)
        assert await bench.text("echo") == '{"text": ""}'


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "<html>", "content_type": "text/html"},
        {"text": "{", "content_type": "application/json"},
        {"text": "data: {\n\n", "content_type": "text/event-stream"},
    ],
)
async def test_an_answer_that_cannot_be_read_leaves_the_outcome_unknown(
    tmp_path: Path, answer: dict[str, str]
) -> None:
    async with serve_raw("modern") as server, connected(tmp_path, over_http(server.url)) as bench:
        server.answers["fail"] = fails_with(200, **answer)
        with pytest.raises(ToolOutcomeUnknown):
            await bench.call("fail")
        assert await bench.text("echo") == '{"text": ""}'


async def test_a_server_that_cannot_be_reached_is_away(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        async with connected(tmp_path, over_http(url)) as bench:
            with pytest.raises(ToolCallFailed, match="raw is away, so nothing was called"):
                await bench.call("echo")
            assert "cannot be reached" in bench.servers.state_of("raw").why


async def test_a_server_that_fails_is_noticed_and_found_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with (
        serve_raw("modern") as server,
        connected(tmp_path, over_http(server.url), clock=clock) as bench,
    ):
        assert await bench.text("echo") == '{"text": ""}'
        server.answers["*"] = fails_with(503)
        with pytest.raises(ToolOutcomeUnknown):
            await bench.call("echo")
        await bench.passes_until("raw", "away", clock)
        assert "503" in bench.servers.state_of("raw").why
        server.answers.clear()
        await bench.passes_until("raw", "ready", clock)
        assert await bench.text("echo") == '{"text": ""}'


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_wait_ends_at_once_and_tells_the_server(tmp_path: Path, era: str) -> None:
    async with serve_raw(era) as server, connected(tmp_path, over_http(server.url)) as bench:
        await bench.until("raw", "ready")
        server.answers["never"] = server.never
        call = asyncio.create_task(bench.call("never"))
        await wait_for(lambda: has_been_called(server, "never"))
        began = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < 0.3
        if era == "legacy":
            await wait_for(lambda: server.heard[-1]["method"] == "notifications/cancelled")
        else:
            await wait_for(lambda: server.aborted)


def has_been_called(server: RawHttpServer, tool: str) -> bool:
    return any(one.get("params", {}).get("name") == tool for one in server.heard)


async def test_a_server_that_does_not_take_a_cancellation_delays_no_other_call(tmp_path: Path) -> None:
    async with serve_raw("legacy") as server, connected(tmp_path, over_http(server.url)) as bench:
        await bench.until("raw", "ready")
        server.answers |= {"never": server.never, "notifications/cancelled": server.never}
        calls = [asyncio.create_task(bench.call("never")) for _ in range(3)]
        await wait_for(lambda: sum(one.get("params", {}).get("name") == "never" for one in server.heard) == 3)
        began = time.monotonic()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert time.monotonic() - began < 0.3


@pytest.mark.parametrize("form", ["json", "stream"])
async def test_a_result_that_is_too_large_is_refused_while_it_is_read(tmp_path: Path, form: str) -> None:
    sent = 0

    async def endless(request: web.Request, message: Message) -> web.StreamResponse:
        nonlocal sent
        kind = {"json": "application/json", "stream": "text/event-stream"}[form]
        stream = web.StreamResponse(headers={"Content-Type": kind})
        await stream.prepare(request)
        await stream.write(b"data: " if form == "stream" else b"")
        await stream.write(b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "')
        while sent < 100_000_000:
            await stream.write(b"x" * 1_000_000)
            sent += 1_000_000
        return stream

    async with serve_raw("modern") as server, connected(tmp_path, over_http(server.url)) as bench:
        server.answers["endless"] = endless
        if form == "json":
            refused = await bench.call("endless")
            assert isinstance(refused, ToolResult)
            assert refused.is_error
        else:
            with pytest.raises(ToolOutcomeUnknown):
                await bench.call("endless")
        assert sent < 50_000_000


@pytest.mark.parametrize("form", ["json", "stream"])
async def test_a_result_with_very_many_values_does_not_stop_the_loop(tmp_path: Path, form: str) -> None:
    many = json.dumps({"content": [], "structuredContent": {"many": [1] * 2_000_000}})

    async def answer(_request: web.Request, message: Message) -> web.StreamResponse:
        text = f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {many}}}'
        if form == "json":
            return web.Response(text=text, content_type="application/json")
        return web.Response(text=f"data: {text}\n\n", content_type="text/event-stream")

    async with serve_raw("modern") as server, connected(tmp_path, over_http(server.url)) as bench:
        await bench.until("raw", "ready")
        server.answers["many"] = answer
        began = time.process_time()
        if form == "json":
            assert "too large" in await bench.text("many")
        else:
            with pytest.raises(ToolOutcomeUnknown):
                await bench.call("many")
        assert time.process_time() - began < 1
        assert await bench.text("echo") == '{"text": ""}'


async def test_a_session_that_the_server_ended_is_opened_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with (
        serve_raw("legacy") as server,
        connected(tmp_path, over_http(server.url), clock=clock) as bench,
    ):
        assert await bench.text("echo") == '{"text": ""}'
        server.answers |= {"echo": fails_with(404), "tools/list": fails_with(404)}
        with pytest.raises(ToolCallFailed, match="raw refused the call"):
            await bench.call("echo")
        await bench.passes_until("raw", "away", clock)
        server.answers.clear()
        await bench.passes_until("raw", "ready", clock)
        assert await bench.text("echo") == '{"text": ""}'


async def test_a_server_that_hangs_at_the_end_delays_it_a_moment(tmp_path: Path) -> None:
    async with serve_raw("legacy") as server:
        async with connected(tmp_path, over_http(server.url)) as bench:
            await bench.until("raw", "ready")
            server.answers["DELETE"] = server.never
            began = time.monotonic()
        assert server.ended == 1
        assert time.monotonic() - began < 4
