"""The events of an answer as the bytes of a response bring them: bounded, and each byte is a sign of life."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

import httpx2
from anthropic import AsyncStream

from daemon.claude.failure import Broken
from daemon.claude.patience import Patience

MOST_BYTES = 1_000_000
"""Bytes of one event, with its comments; an answer whole in a single event has far less."""
BLANK_LINES = (b"\n\n", b"\r\r", b"\r\n\r\n")
"""What ends an event."""
PING = "ping"
"""The name of events that say no more than that the connection lives."""


async def events(response: httpx2.Response, patience: Patience) -> AsyncGenerator[str, None]:
    """Yield the data of each event, and tell `patience` of every byte and event.

    Comments, pings and empty events are signs of life, and not yielded. Raises Broken for an event that is
    too long.
    """
    heard = cast(httpx2.Response, _Heard(response, patience))
    async for event in AsyncStream.raw_events(heard):
        if event.data and event.event != PING:
            patience.event()
            yield event.data


class _Heard:
    """The body of a response: all of it that the SDK's reader of events asks for."""

    def __init__(self, response: httpx2.Response, patience: Patience) -> None:
        self._response = response
        self._patience = patience

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they come."""
        unended, last = 0, b""
        async for chunk in self._response.aiter_bytes():
            self._patience.heard()
            unended = _unended(unended, last, chunk)
            if unended > MOST_BYTES:
                raise Broken(f"an event has more than {MOST_BYTES:,} bytes", ours=True)
            yield chunk
            last = chunk[-3:]


def _unended(before: int, last: bytes, chunk: bytes) -> int:
    """The bytes of the event that has not ended after this chunk; `last` are those directly before it."""
    if chunk.endswith(BLANK_LINES):  # the usual case
        return 0
    seen = last + chunk
    ends = [seen.rfind(blank) + len(blank) for blank in BLANK_LINES if blank in seen]
    if ends:
        return len(seen) - max(ends)
    return before + len(chunk)
