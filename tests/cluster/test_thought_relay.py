"""Running calls of one daemon on the page of another, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from daemon.cluster.peers import PeerClient
from daemon.cluster.thought_relay import THOUGHTS, WorkspaceThoughts, thought_stream
from daemon.console.live_calls import LiveCalls
from daemon.web.peer_channel import PEERS_PATH, PeerAway
from tests.attention import PATIENCE
from tests.cluster.machines import KEY, Machine, machine
from tests.web.loopback import serve_app_on_loopback


class Page:
    """A viewer of a page; collects the calls that it shows."""

    def __init__(self, thoughts: WorkspaceThoughts) -> None:
        self.events: list[dict[str, Any]] = []
        self.came = asyncio.Event()
        self._following = asyncio.create_task(self._follow(thoughts))

    async def _follow(self, thoughts: WorkspaceThoughts) -> None:
        async for event in thoughts.follow():
            self.events.append(json.loads(event.decode().split("data: ")[1]))
            self.came.set()

    async def until(self, **fields: Any) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while True:
                for one in self.events:
                    if fields.items() <= one.items():
                        return one
                self.came.clear()
                await self.came.wait()

    async def close(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def thinking_machine(
    stack: AsyncExitStack, worker: int, addresses: dict[int, str], home: Path
) -> tuple[Machine, LiveCalls]:
    one = await stack.enter_async_context(machine(worker, addresses, home))
    calls = LiveCalls()
    one.routes.streams[THOUGHTS] = thought_stream(calls)
    return one, calls


async def test_the_thoughts_of_each_daemon_are_on_each_page(stack: AsyncExitStack, tmp_path: Path) -> None:
    addresses: dict[int, str] = {}
    one, own = await thinking_machine(stack, 1, addresses, tmp_path)
    _, others = await thinking_machine(stack, 2, addresses, tmp_path)
    page = Page(WorkspaceThoughts(own, one.peers, lambda: [2]))
    stack.push_async_callback(page.close)
    with own.attempt("sess-1", "sess-1@2/plain#1", "plain") as hear:
        hear("Mine. ")
        await page.until(number=1, text="Mine. ")
    with others.attempt("sess-2", "sess-2@3/plain#1", "plain") as hear:
        hear("A fox ")
        shown = await page.until(number="2:1", text="A fox ")
        assert (shown["thread"], shown["name"]) == ("sess-2", "plain")
        hear("sleeps.")
        await page.until(number="2:1", text="sleeps.")
    await page.until(number="2:1", over=True)


async def test_a_daemon_that_goes_away_takes_its_thoughts_along(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    addresses: dict[int, str] = {}
    one, own = await thinking_machine(stack, 1, addresses, tmp_path)
    async with AsyncExitStack() as dying:
        _, others = await thinking_machine(dying, 2, addresses, tmp_path)
        page = Page(WorkspaceThoughts(own, one.peers, lambda: [2]))
        stack.push_async_callback(page.close)
        with others.attempt("sess-2", "sess-2@3/plain#1", "plain") as hear:
            hear("A fox " * 20_000)
            await page.until(number="2:1")
            await dying.aclose()
            await page.until(number="2:1", over=True)


async def test_what_an_impostor_hears_of_one_daemon_opens_no_other(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    heard: list[Mapping[str, str]] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append(request.headers.copy())
        return web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", hear)
    addresses = {9: await stack.enter_async_context(serve_app_on_loopback(app))}
    one, _ = await thinking_machine(stack, 1, addresses, tmp_path)
    with pytest.raises(PeerAway, match="404"):
        async for _ in one.peers.stream(9, THOUGHTS):
            pass
    [shown] = heard
    assert KEY not in str(shown)
    headers = {"Authorization": shown["Authorization"]}
    async with aiohttp.ClientSession(headers=headers) as http:
        for worker in ("1", "", "9"):
            stream = f"{one.url}{PEERS_PATH}stream/{THOUGHTS}"
            async with http.get(stream, headers={"X-Soul-Worker": worker}) as answer:
                assert answer.status == (421 if worker == "9" else 401)


async def test_only_who_has_the_key_and_means_this_daemon_is_answered(
    stack: AsyncExitStack, tmp_path: Path
) -> None:
    addresses: dict[int, str] = {}
    one, _ = await thinking_machine(stack, 1, addresses, tmp_path)
    stranger = await stack.enter_async_context(PeerClient("another", lambda: addresses))
    with pytest.raises(PeerAway, match="401"):
        async for _ in stranger.stream(1, THOUGHTS):
            pass
    addresses[7] = one.url
    with pytest.raises(PeerAway, match="421"):
        async for _ in one.peers.stream(7, THOUGHTS):
            pass
    with pytest.raises(PeerAway, match="not alive"):
        async for _ in one.peers.stream(8, THOUGHTS):
            pass
    async with aiohttp.ClientSession() as http, http.get(f"{one.url}{PEERS_PATH}stream/{THOUGHTS}") as answer:
        assert answer.status == 401
        assert KEY not in await answer.text()
