"""Local model server: its list, its properties, and a model for probes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from rehearsal.wire import hang_up
from tests.claude.raw import frame

QWEN: Mapping[str, Any] = {
    "id": "qwen3:8b",
    "object": "model",
    "owned_by": "llamacpp",
    "meta": {"n_ctx": 12_288, "n_ctx_train": 32_768, "n_params": 8_190_735_360, "size": 5_027_783_488},
}
PROPS: Mapping[str, Any] = {
    "build_info": "b6543-abc",
    "total_slots": 2,
    "default_generation_settings": {"n_ctx": 12_288},
}
SECTIONS = "<aside-q4>It is easy.</aside-q4>\n<say-q4>Yes, it is.</say-q4>"


@dataclass(kw_only=True)
class ModelServer:
    """Server that lists `listed`; `body`, `status` and `headers` replace the list if set.

    The model obeys a schema as `schema` says (format, grammar, prompt), writes `sections` if asked to, and
    accepts images if `sees` (None: the server refuses them). `silent` withholds the list.
    """

    listed: list[Any] = field(default_factory=lambda: [dict(QWEN)])
    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    page: int = 0
    """Models on one page, as Anthropic has them; 0: no pages."""
    props: Mapping[str, Any] | None = field(default_factory=lambda: dict(PROPS))
    others: dict[str, Any] = field(default_factory=dict)
    schema: str = "prompt"
    sections: str = SECTIONS
    sees: bool | None = None
    failing: int = 0
    held_back: asyncio.Event | None = None
    """Event that answers wait for."""
    asked: list[str] = field(default_factory=list)
    """Requested paths with their keys."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    async def models(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if self.silent:
            await asyncio.Event().wait()
        if self.body is not None or self.status != 200:
            return web.Response(body=self.body, status=self.status, headers=self.headers)
        if not self.page:
            return web.json_response({"object": "list", "data": self.listed})
        names = [one["id"] for one in self.listed]
        after = request.query.get("after_id")
        first = names.index(after) + 1 if after else 0
        shown = self.listed[first : first + self.page]
        more = first + self.page < len(names)
        return web.json_response({"data": shown, "has_more": more, "last_id": shown[-1]["id"]})

    async def other(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        said = self.props if request.path == "/props" else self.others.get(request.path)
        if said is None:
            return web.json_response({"error": {"message": "File Not Found", "code": 404}}, status=404)
        return web.json_response(said)

    async def messages(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.requests.append(asked)
        if self.held_back:
            try:
                await self.held_back.wait()
            except asyncio.CancelledError:
                hang_up(request)
                raise
        if self.failing:
            return web.json_response({"error": {"message": "no"}}, status=self.failing)
        content = asked["messages"][-1]["content"]
        if content[0]["type"] == "image" and self.sees is None:
            said = {"message": "image input is not supported", "type": "server_error", "code": 500}
            return web.json_response({"error": said}, status=500)
        return await self._stream(request, asked, self._answer(asked, content))

    def _answer(self, asked: Mapping[str, Any], content: list[Mapping[str, Any]]) -> str:
        held = {"format": "output_config" in asked, "grammar": "tools" in asked}.get(self.schema)
        if held:
            return '{"colour": "blue"}'
        if content[0]["type"] == "image":
            return "Yellow." if self.sees else "I see no picture."
        if "<aside-q4>" in content[-1]["text"]:
            return self.sections
        if "say" in content[-1]["text"].lower() or asked.get("system"):
            return "<say>Hello.</say>"
        return "It is blue."

    async def _stream(self, request: web.Request, asked: Mapping[str, Any], text: str) -> web.StreamResponse:
        delta: dict[str, Any] = {"type": "text_delta", "text": text}
        if "tools" in asked and self.schema == "grammar":
            delta = {"type": "input_json_delta", "partial_json": text}
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        usage = {"input_tokens": 120, "output_tokens": 1}
        for event in (
            {"type": "message_start", "message": {"model": asked["model"], "usage": usage}},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
            {"type": "message_stop"},
        ):
            await response.write(frame(event))
        return response


@asynccontextmanager
async def model_server(**knobs: Any) -> AsyncIterator[ModelServer]:
    server = ModelServer(**knobs)
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_post("/v1/messages", server.messages)
    for path in ("/props", "/api/version", "/api/ps", "/version", "/elsewhere"):
        app.router.add_get(path, server.other)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
