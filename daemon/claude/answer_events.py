"""The server-sent events of an answer, as the bytes of a response bring them. Each byte is a sign of life.

The SDK's reader takes quadratic time for many lines, and any memory; this one is linear and bounded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import httpx2

from daemon.claude.failure import StreamBroken
from daemon.claude.patience import StreamDeadline

MOST_BYTES = 1_000_000
"""Bytes of one line, and of one event; an answer whole in a single event has far less."""
NEWLINES = (b"\n", b"\r")
PING = b"ping"
"""The name of events that say no more than that the connection lives."""


async def answer_events(response: httpx2.Response, patience: StreamDeadline) -> AsyncGenerator[str, None]:
    """Yield the data of each event, and tell `patience` of all bytes and events.

    Comments, pings and events without data are signs of life, and not yielded. Raises Broken for what is too
    long, and ValueError for what is not UTF-8.
    """
    lines, name, data, size = _LineSplitter(), b"", list[bytes](), 0
    async for chunk in response.aiter_bytes():
        patience.note_bytes()
        for line in lines.feed(chunk):
            if not line:
                if data and name != PING:
                    patience.note_event()
                    yield b"\n".join(data).decode()
                name, data, size = b"", [], 0
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
                size += len(value)
                _check_event_size(size)
            elif field == b"event":
                name = value


def _check_event_size(size: int) -> None:
    if size > MOST_BYTES:
        raise StreamBroken(f"an event has more than {MOST_BYTES:,} bytes", ours=True)


class _LineSplitter:
    """Cuts bytes into lines, which may end in LF, CR or both."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        """The pieces of the line that has not ended."""
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> Sequence[bytes]:
        """Return the lines that end in this chunk, without their ends. Raises Broken."""
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return ()
        self._after_cr = chunk.endswith(b"\r")
        lines, ends = chunk.splitlines(), chunk.endswith(NEWLINES)
        if self._rest and (ends or len(lines) > 1):
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._size = [], 0
        if not ends:
            self._rest.append(lines.pop())
            self._size += len(self._rest[-1])
            _check_event_size(self._size)
        return lines
