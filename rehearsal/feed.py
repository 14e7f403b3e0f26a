"""Live feed of a page: what its user may see, as server-sent events.

Events are JSON objects with `type` and `channel` (an id): `message` and `changed` (`message`, complete),
`deleted` (`ts`), `ephemeral` (`message`), `status` (`thread_ts`, `user`, `status` or "", `loading_messages`,
`until`), `session` (`thread_ts`, `user`, `working`), `view` (`view`: a modal that an app shows to this user),
`channel` (new, or changed). `renewed`, without a channel, asks for a reload.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from rehearsal.channels import StoredChannel
from rehearsal.people import CALLERS

HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
BEHIND = 500
"""Events queued per page; a slower page is disconnected, and reloads."""
ROOM = 64 * 1024
"""Bytes in its write buffer."""
MOST = 50
"""Pages; a new one replaces the oldest."""


class PageListener:
    """Page of one user, and its queue; None ends it."""

    def __init__(self, user: str, request: web.Request) -> None:
        self.user = user
        self.waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._request = request
        if request.transport is not None:
            request.transport.set_write_buffer_limits(high=ROOM)

    def tell(self, line: str) -> None:
        if self.waiting.qsize() < BEHIND:
            self.waiting.put_nowait(line)
        else:
            self.drop()

    def drop(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()
        while not self.waiting.empty():
            self.waiting.get_nowait()
        self.waiting.put_nowait(None)


class PageFeed:
    def __init__(self) -> None:
        self._listeners: list[PageListener] = []

    def tell(self, channel: StoredChannel, event: dict[str, Any], only: str | None = None) -> None:
        """Queue an event for users of the channel, or `only` for one."""
        line = json.dumps({"channel": channel.id, **event})
        for listener in self._listeners:
            if channel.shown_to(listener.user) and only in (None, listener.user):
                listener.tell(line)

    def renew(self) -> None:
        for listener in self._listeners:
            listener.tell(json.dumps({"type": "renewed"}))

    async def listen(self, request: web.Request) -> web.StreamResponse:
        """Serve GET /rehearsal/events?token=xoxp-…"""
        caller = CALLERS.get(request.query.get("token", ""))
        if caller is None or caller.kind != "user":
            raise web.HTTPForbidden(text="expected the token of a person: ?token=xoxp-alice")
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        listener = PageListener(caller.id, request)
        self._listeners.append(listener)
        if len(self._listeners) > MOST:
            self._listeners.pop(0).drop()
        try:
            await response.write(b": listening\n\n")
            line = await listener.waiting.get()
            while line is not None:
                await response.write(f"data: {line}\n\n".encode())
                line = await listener.waiting.get()
        except ConnectionError:
            pass
        finally:
            if listener in self._listeners:
                self._listeners.remove(listener)
        return response

    def close(self) -> None:
        for listener in self._listeners:
            listener.waiting.put_nowait(None)
