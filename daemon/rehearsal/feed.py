"""What happens, live, for the page: server-sent events, to each person what they may see.

Each event is one JSON object with `type` and `channel` (an id): `message` and `changed` (`message`, whole: a
stream's text so far, its reactions), `deleted` (`ts`), `ephemeral` (`message`), `status` (`thread_ts`,
`user`, `status` or "", `loading_messages`, `until`), `session` (`thread_ts`, `user`, `working`), `channel`
(that conversation is new or has new members).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from daemon.rehearsal.channels import Channel
from daemon.rehearsal.people import CALLERS

HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Feed:
    """The pages that are listening."""

    def __init__(self) -> None:
        self._listeners: list[tuple[str, asyncio.Queue[str | None]]] = []

    def tell(self, channel: Channel, event: dict[str, Any], only: str | None = None) -> None:
        """Tell it to everyone who sees this channel, or to one of them."""
        line = json.dumps({"channel": channel.id, **event})
        for user, queue in self._listeners:
            if channel.shown_to(user) and only in (None, user):
                queue.put_nowait(line)

    async def listen(self, request: web.Request) -> web.StreamResponse:
        """GET /rehearsal/events?token=xoxp-…: the events as they come."""
        caller = CALLERS.get(request.query.get("token", ""))
        if caller is None or caller.kind != "user":
            raise web.HTTPForbidden(text="Say whose events: ?token=xoxp-alice")
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        listener = (caller.id, queue)
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        self._listeners.append(listener)
        try:
            await response.write(b": listening\n\n")
            while (line := await queue.get()) is not None:
                await response.write(f"data: {line}\n\n".encode())
        except ConnectionError:
            pass
        finally:
            self._listeners.remove(listener)
        return response

    def close(self) -> None:
        """End every listener's response."""
        for _, queue in self._listeners:
            queue.put_nowait(None)
