"""The journal as server-sent events: one stream per open page, ended when the daemon stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web

from daemon.entry import Entry
from daemon.journal.journal import Journal

TAIL = 300
"""How many entries a page sees that asks for no place to begin."""
BEAT = 15.0
"""Seconds between two heartbeats: how soon a closed page is noticed."""


class Streams:
    """The open streams; their owner, who ends them with the application."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, request: web.Request, since: int | None) -> web.StreamResponse:
        """Send the entries after `since` (None: the last hundreds), then what comes, until the page goes."""
        last = self._journal.last()
        if since is None or since > last:  # beyond the end: the page remembers another journal
            since = max(0, last - TAIL)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        task = asyncio.create_task(self._send(response, since))
        self._open.add(task)
        try:
            while not (await asyncio.wait({task}, timeout=BEAT))[0]:
                await response.write(b": beat\n\n")
            if not task.cancelled():
                task.result()  # it follows for ever: it can only have failed
        except ConnectionResetError:
            pass  # the page was closed
        finally:
            self._open.discard(task)
            task.cancel()
        return response

    async def close(self) -> None:
        """End all streams, or the server would wait for them to end by themselves."""
        for task in self._open:
            task.cancel()

    async def _send(self, response: web.StreamResponse, since: int) -> None:
        async for entries in self._journal.follow(since):
            frames = (f"id: {e.seq}\ndata: {json.dumps(as_json(e))}\n\n" for e in entries)
            await response.write("".join(frames).encode())


def as_json(entry: Entry) -> Mapping[str, Any]:
    """An entry as the page reads it."""
    return asdict(entry)
