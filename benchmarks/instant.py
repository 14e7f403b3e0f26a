"""Instant model: always the same answer, or a choice for a schema.

Separate process, to share no interpreter lock with the measured loop.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

MODEL = "instant"
CHOOSER = "claude-haiku-5-5"
"""Name as chooser, of a model with schemas and cache marks."""
WORDS = ("<aside>They want", " something.</aside>\n<say>I hear", " you.</say>\n<mood>engaged</mood>")
CHOICE = (
    '{"why": "I look for more.", "actions": [',
    '{"name": "Research", "args": ',
    '{"query": "ferry"}}]}',
)
USAGE = {"input_tokens": 12, "output_tokens": 20}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
OPEN = {"stop_reason": None, "stop_sequence": None}
END = {"stop_reason": "end_turn", "stop_sequence": None}


def events(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**MESSAGE, **OPEN, "usage": USAGE}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for text in texts:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": END, "usage": USAGE}
    yield {"type": "message_stop"}


WHOLE = {**MESSAGE, **END, "content": [{"type": "text", "text": "".join(WORDS)}], "usage": USAGE}


def streamed(texts: Sequence[str] = WORDS) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(texts)).encode()


def response(kind: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nrequest-id: req_1\r\n\r\n"
    )
    return head.encode() + body


class Instant(asyncio.Protocol):
    """Connection without pipelining."""

    stream = response("text/event-stream", streamed())
    choice = response("text/event-stream", streamed(CHOICE))
    whole = response("application/json", json.dumps(WHOLE).encode())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer complete requests."""
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = next(
            (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
        )
        if len(body) >= int(length.partition(b":")[2]):
            self._received = b""
            self._transport.write(self._answer(body))

    def _answer(self, body: bytes) -> bytes:
        if b'"json_schema"' in body:
            return self.choice
        return self.stream if b'"stream":true' in body else self.whole


async def serve() -> None:
    """Print the port, and answer until killed."""
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@asynccontextmanager
async def instant() -> AsyncIterator[str]:
    """Run an instant model; yield its URL."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdout=PIPE)
    assert process.stdout
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(serve())
