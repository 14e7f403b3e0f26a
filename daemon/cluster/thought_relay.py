"""Running model calls of all daemons of a workspace, on the page of any of them.

What the soul is thinking is never written down, so it goes from daemon to daemon while somebody looks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress

from daemon.cluster.peers import PeerClient
from daemon.console.live_calls import CallNews, LiveCalls, thinking_event
from daemon.web.peer_channel import PeerAway

THOUGHTS = "thoughts"
"""Name of the stream of a daemon's running calls."""

LOOK_SECONDS = 1.0
"""Seconds between two looks for daemons to follow."""

MOST_WAITING = 100
"""News that wait for a slow viewer; whoever thinks is not delayed by it."""


def thought_stream(own: LiveCalls) -> Callable[[], AsyncIterator[bytes]]:
    """Return the stream of this daemon's calls for the others, with one JSON object a line."""

    async def lines() -> AsyncIterator[bytes]:
        async for news in own.follow_news():
            yield json.dumps(news).encode() + b"\n"

    return lines


class WorkspaceThoughts:
    """Calls of this daemon and of the `others`, whose worker ids are asked for again and again."""

    def __init__(self, own: LiveCalls, peers: PeerClient, others: Callable[[], Collection[int]]) -> None:
        self._own = own
        self._peers = peers
        self._others = others

    async def follow(self) -> AsyncIterator[bytes]:
        """Yield server-sent events without end, beginning with the present state."""
        news = asyncio.Queue[CallNews](MOST_WAITING)
        following = asyncio.create_task(self._follow_all(news), name="thoughts of all daemons")
        try:
            while True:
                yield thinking_event(await news.get())
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _follow_all(self, news: asyncio.Queue[CallNews]) -> None:
        tasks = {0: asyncio.create_task(self._follow_own(news))}
        try:
            while True:
                for worker in self._others():
                    if worker not in tasks or tasks[worker].done():
                        tasks[worker] = asyncio.create_task(self._follow_peer(worker, news))
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _follow_own(self, news: asyncio.Queue[CallNews]) -> None:
        async for one in self._own.follow_news():
            await news.put(one)

    async def _follow_peer(self, worker: int, news: asyncio.Queue[CallNews]) -> None:
        """Hand on the news of another daemon; its calls are over when it goes away."""
        running = set[str]()
        with suppress(PeerAway, ValueError):
            async for line in self._peers.stream(worker, THOUGHTS):
                one = json.loads(line)
                number = f"{worker}:{one['number']}"
                (running.discard if one.get("over") else running.add)(number)
                await news.put({**one, "number": number})
        for number in running:
            await news.put({"number": number, "over": True})
