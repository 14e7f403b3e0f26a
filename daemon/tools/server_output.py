"""Output of a server, bounded while it is read: in bytes, in pace, and in values (slow to decode)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_MESSAGE_BYTES = 10_000_000
"""Most bytes of a message, and so of a result."""

MOST_VALUES = 250_000
"""Most values of a message: decoding more would stop the event loop for long."""

EVENT_END = re.compile(rb"\r?\n\r?\n")
"""End of a server-sent event."""

ENDLESS = 5
"""Multiple of the most bytes after which a line without end is given up."""

MOST_KEPT = 256
"""Bytes kept of each end of an oversized line, enough for the id of its message."""

ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,')
ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class EndlessLineError(Exception):
    """A line that is so long that its sender is broken or hostile."""

    recorded_name = "EndlessLineError"


class ValueCounter:
    """Count of the values in JSON text that comes in pieces; what stands in strings does not count."""

    def __init__(self) -> None:
        self.count = 0
        self._is_in_string = False
        self._cut = b""
        """A backslash at the end of a piece, which belongs to the next character."""

    def feed(self, piece: bytes) -> None:
        piece = self._cut + piece
        self._cut = b""
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece, self._cut = piece[:-1], b"\\"
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._is_in_string :: 2])
        self.count += sum(map(outside.count, (b",", b"[", b"{")))
        self._is_in_string ^= len(parts) % 2 == 0


class EventValueCounter(ValueCounter):
    """Count of the values in the current event of a stream, or in one that ended in the last piece."""

    def feed(self, piece: bytes) -> None:
        *ended, last = EVENT_END.split(piece)
        for event in ended:
            super().feed(event)
            if self.count > MOST_VALUES:
                return
            super().__init__()
        super().feed(last)


@dataclass(frozen=True, slots=True, kw_only=True)
class OversizedLine:
    """The ends of a line that was dropped."""

    head: bytes
    tail: bytes

    @property
    def id(self) -> int | None:
        """Id of the message, if it stands at one end, as JSON libraries write it."""
        found = ID_FIRST.match(self.head) or ID_LAST.search(self.tail)
        return int(found[1]) if found else None


class MessageLines:
    """Splitter of output into lines of at most `most` bytes and MOST_VALUES values."""

    def __init__(self, most: int = MOST_MESSAGE_BYTES) -> None:
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self._held = bytearray()
        self._size = 0
        self._values = ValueCounter()
        self._head = b""
        """The beginning of a line that is too long; empty while it is not."""

    def feed(self, chunk: bytes) -> Iterator[bytes | OversizedLine]:
        """Yield the lines that end in this chunk. Raises EndlessLineError."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield self._take()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._held += piece
        if self._size > self._most * ENDLESS:
            raise EndlessLineError
        if not self._head:
            self._values.feed(piece)
        if self._head or self._size > self._most or self._values.count > MOST_VALUES:
            self._head = self._head or bytes(self._held[:MOST_KEPT])
            del self._held[:-MOST_KEPT]

    def _take(self) -> bytes | OversizedLine:
        line: bytes | OversizedLine = bytes(self._held)
        if self._head:
            line = OversizedLine(head=self._head, tail=bytes(self._held))
        self._begin()
        return line


class OutputPace:
    """Allowance of so many units in a period of so many seconds; whoever takes more waits for the next."""

    def __init__(self, most: int, period: float = 1.0) -> None:
        self._most = most
        self._period = period
        self._began = float("-inf")
        self._taken = 0

    async def take(self, units: int = 1) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._began >= self._period:
            self._began, self._taken = now, 0
        self._taken += units
        if self._taken > self._most:
            await asyncio.sleep(self._began + self._period - now)
