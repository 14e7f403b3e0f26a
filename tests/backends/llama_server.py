"""Fake llama-server (llama.cpp): slow, with comments during silence."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from daemon.engine.clock import Clock
from tests.claude.raw import delta, frame

COMMENT = b":\n\n"
COMMENT_EACH = 30.0
"""Seconds between comments."""
CHARACTERS = 4
"""Characters in a token."""
Ignored = Literal["stop_sequences", "max_tokens", "schema"]
Script = Callable[[Mapping[str, Any]], str]


@dataclass(slots=True, kw_only=True)
class Answer:
    """Answer with its delays in seconds: before the first event (`prefill`) and per token. `hangs`: the
    stream never ends.
    """

    text: str
    prefill: float = 0.0
    token: float = 0.0
    hangs: bool = False
    comments: bool = True


@dataclass(kw_only=True)
class LlamaServer:
    """Server of one model with `slots`; further requests wait, with comments.

    `requests`: received bodies. `order`: last texts, by slot given. `closed`: early disconnects. `ignores`:
    request fields without effect. `listed`: names in /v1/models.
    """

    clock: Clock
    name: str = "qwen"
    window: int = 16_384
    slots: int = 1
    prefill: float = 0.0
    token: float = 0.0
    listed: tuple[str, ...] | None = None
    ignores: frozenset[Ignored] = frozenset({"schema"})
    script: Script = lambda _: "<say>Hm.</say>"
    version: str = "b6911-5b53e5a8"
    requests: list[dict[str, Any]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    closed: int = 0
    running: int = 0
    most: int = 0
    """Most requests open at once."""
    _answers: deque[Answer] = field(default_factory=deque)
    _busy: int = 0
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, text: str, **how: Any) -> None:
        """Answer the next request that gets a slot with this; see Answer."""
        self._answers.append(Answer(text=text, **{"prefill": self.prefill, "token": self.token, **how}))

    def mount(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/props", self._props)

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response(self.listing())

    def listing(self) -> dict[str, Any]:
        names = self.listed if self.listed is not None else (self.name,)
        meta = {"n_ctx": self.window, "n_ctx_train": 32_768, "n_vocab": 151_936, "n_params": 1_543_714_304}
        data = [
            {"id": name, "object": "model", "created": 1, "owned_by": "llamacpp", "meta": meta}
            for name in names
        ]
        return {"object": "list", "data": data}

    async def _props(self, _: web.Request) -> web.Response:
        usual = {"n_ctx": self.window}
        return web.json_response(
            {
                "total_slots": self.slots,
                "default_generation_settings": usual,
                "build_info": self.version,
                "model_alias": self.name,
            }
        )

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        if any(block["type"] == "image" for block in body["messages"][-1]["content"]):
            return _no_images()
        count = tokens(body)
        if count > self.window:
            return _too_long(count, self.window)
        self.running += 1
        self.most = max(self.most, self.running)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        whole = False
        try:
            async with self._commented(response) as line:
                await self._in_a_slot(body, count, line)
            whole = True
        finally:
            self.closed += not whole
            self.running -= 1
        return response

    @asynccontextmanager
    async def _commented(self, response: web.StreamResponse) -> AsyncIterator[Line]:
        """Send comments during silence until the block ends."""
        line = Line(response=response)

        async def comment() -> None:
            while True:
                await self.clock.sleep(COMMENT_EACH)
                if line.comments:
                    await line.send(COMMENT)

        commenting = asyncio.create_task(comment())
        try:
            yield line
        finally:
            commenting.cancel()
            await asyncio.gather(commenting, return_exceptions=True)

    async def _in_a_slot(self, body: Mapping[str, Any], count: int, line: Line) -> None:
        while self._busy >= self.slots:
            self._freed.clear()
            await self._freed.wait()
        self._busy += 1
        try:
            self.order.append(last_text(body))
            if self._answers:
                answer = self._answers.popleft()
            else:
                answer = Answer(text=self.script(body), prefill=self.prefill, token=self.token)
            line.comments = answer.comments
            await self._answer(body, count, answer, line)
        finally:
            self._busy -= 1
            self._freed.set()

    async def _answer(self, body: Mapping[str, Any], count: int, answer: Answer, line: Line) -> None:
        await self.clock.sleep(answer.prefill)
        start = {"usage": {"input_tokens": count, "output_tokens": 0}, "model": self.name}
        await line.send(frame({"type": "message_start", "message": start}))
        written, reason = 0, "end_turn"
        for piece in self._pieces(body, answer.text):
            if piece is None:
                reason = "stop_sequence"
                break
            if "max_tokens" not in self.ignores and written >= body["max_tokens"]:
                reason = "max_tokens"
                break
            await self.clock.sleep(answer.token)
            await line.send(frame(delta(piece)))
            written += 1
        if answer.hangs:
            await asyncio.Event().wait()
        usage = {"output_tokens": written}
        await line.send(frame({"type": "content_block_stop", "index": 0}))
        await line.send(frame({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}))
        await line.send(frame({"type": "message_stop"}))

    def _pieces(self, body: Mapping[str, Any], text: str) -> Iterator[str | None]:
        """Yield the tokens of a text; None at a stop sequence."""
        ends = [text.find(stop) for stop in body.get("stop_sequences", ()) if stop in text]
        if "stop_sequences" in self.ignores or not ends:
            yield from re.findall(r"\s*\S{1,4}|\s+", text)
            return
        yield from re.findall(r"\s*\S{1,4}|\s+", text[: min(ends)])
        yield None


@dataclass(slots=True, kw_only=True)
class Line:
    response: web.StreamResponse
    comments: bool = True

    async def send(self, sent: bytes) -> None:
        with suppress(ConnectionResetError):
            await self.response.write(sent)


def last_text(body: Mapping[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content)


def tokens(body: Mapping[str, Any]) -> int:
    said = json.dumps([body.get("system", ""), body["messages"]], ensure_ascii=False)
    return len(said) // CHARACTERS


def _no_images() -> web.Response:
    said = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
    return web.json_response({"error": {"code": 500, "message": said, "type": "server_error"}}, status=500)


def _too_long(count: int, window: int) -> web.Response:
    said = f"request ({count} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {
        "code": 400,
        "message": said,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": count,
        "n_ctx": window,
    }
    return web.json_response({"error": error}, status=400)


@asynccontextmanager
async def llama_server(clock: Clock, **how: Any) -> AsyncIterator[tuple[LlamaServer, str]]:
    """Serve; yield the server and its URL. A disconnect ends the answer, as in the real one."""
    server = LlamaServer(clock=clock, **how)
    app = web.Application(client_max_size=2**24)
    server.mount(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
