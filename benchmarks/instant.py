"""The instant model: a process that answers the Messages API at once, always the same, streamed or not.

A process of its own, so that the measured loop shares neither its thread nor its interpreter lock.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

MODEL = "instant"
WORDS = ("<aside>They want", " something.</aside>\n<say>I hear", " you.</say>\n<mood>engaged</mood>")
USAGE = {"input_tokens": 12, "output_tokens": 20}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
OPEN = {"stop_reason": None, "stop_sequence": None}
END = {"stop_reason": "end_turn", "stop_sequence": None}
EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "message_start", "message": {**MESSAGE, **OPEN, "usage": USAGE}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in WORDS
    ),
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": END, "usage": USAGE},
    {"type": "message_stop"},
)
WHOLE = {**MESSAGE, **END, "content": [{"type": "text", "text": "".join(WORDS)}], "usage": USAGE}


def streamed() -> bytes:
    """The answer as server-sent events."""
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS).encode()


def response(kind: str, body: bytes) -> bytes:
    """An HTTP response that leaves the connection open."""
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nrequest-id: req_1\r\n\r\n"
    )
    return head.encode() + body


class Instant(asyncio.Protocol):
    """One connection; requests come one after the other."""

    stream = response("text/event-stream", streamed())
    whole = response("application/json", json.dumps(WHOLE).encode())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is whole."""
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = next(
            (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
        )
        if len(body) >= int(length.partition(b":")[2]):
            self._received = b""
            self._transport.write(self.stream if b'"stream":true' in body else self.whole)


async def serve() -> None:
    """Listen on a free port, say which, and answer until killed."""
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@asynccontextmanager
async def instant() -> AsyncIterator[str]:
    """The URL of an instant model that lives as long as the block."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdout=PIPE)
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(serve())
