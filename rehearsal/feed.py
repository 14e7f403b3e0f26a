"""What happens, live, for the page: server-sent events, to each person what they may see.

Each event is one JSON object with `type` and `channel` (an id): `message` and `changed` (`message`, whole: a
stream's text so far, its reactions), `deleted` (`ts`), `ephemeral` (`message`), `status` (`thread_ts`,
`user`, `status` or "", `loading_messages`, `until`), `session` (`thread_ts`, `user`, `working`), `channel`
(that conversation is new or has new members). `renewed`, without a channel: read all anew.
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
"""Events that may wait for a page; one that is further behind is dropped, and reads anew when it is back."""
ROOM = 64 * 1024
"""Bytes on their way to it besides."""
MOST = 50
"""Pages at once; a new one takes the place of the oldest."""


class PageListener:
    """One page: whose it is, and what waits for it. None ends it."""

    def __init__(self, user: str, request: web.Request) -> None:
        self.user = user
        self.waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._request = request
        if request.transport is not None:
            request.transport.set_write_buffer_limits(high=ROOM)

    def tell(self, line: str) -> None:
        """One more event for it, or the end of its patience."""
        if self.waiting.qsize() < BEHIND:
            self.waiting.put_nowait(line)
        else:
            self.drop()

    def drop(self) -> None:
        """Break the connection, and forget what waits."""
        if self._request.transport is not None:
            self._request.transport.abort()
        while not self.waiting.empty():
            self.waiting.get_nowait()
        self.waiting.put_nowait(None)


class PageFeed:
    """The pages that are listening."""

    def __init__(self) -> None:
        self._listeners: list[PageListener] = []

    def tell(self, channel: StoredChannel, event: dict[str, Any], only: str | None = None) -> None:
        """Tell it to everyone who sees this channel, or to one of them."""
        line = json.dumps({"channel": channel.id, **event})
        for listener in self._listeners:
            if channel.shown_to(listener.user) and only in (None, listener.user):
                listener.tell(line)

    def renew(self) -> None:
        """Have every page read anew what stands here: of what it shows something was forgotten."""
        for listener in self._listeners:
            listener.tell(json.dumps({"type": "renewed"}))

    async def listen(self, request: web.Request) -> web.StreamResponse:
        """GET /rehearsal/events?token=xoxp-…: the events as they come."""
        caller = CALLERS.get(request.query.get("token", ""))
        if caller is None or caller.kind != "user":
            raise web.HTTPForbidden(text="Say whose events: ?token=xoxp-alice")
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
        """End every listener's response."""
        for listener in self._listeners:
            listener.waiting.put_nowait(None)
