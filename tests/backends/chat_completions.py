"""Server of chat completions by OpenAI and its imitators, at `/v1`."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import takewhile
from typing import Any

from aiohttp import ClientError, ClientResponse, ClientSession, web

from rehearsal.wire import bearer, hang_up

CHARACTERS, CACHED = 3, 128
"""Characters in a token; tokens in one block of a cached prefix."""
LOOK = 0.01
"""Real seconds between checks for a disconnect."""
KNOWN = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "stop"}
    | {"response_format", "temperature", "top_p", "seed", "user", "n"}
)
FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
CODES = {
    401: (401, "invalid_request_error", "invalid_api_key"),
    404: (404, "invalid_request_error", "model_not_found"),
    429: (429, "requests", "rate_limit_exceeded"),
    529: (503, "server_error", None),
}
"""OpenAI's status, type and code for Anthropic's statuses."""
Event = Mapping[str, Any]


def chunk(delta: Event | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more}


def text(said: str) -> dict[str, Any]:
    return chunk({"content": said})


def usage(prompt: int, answer: int, cached: int = 0) -> dict[str, Any]:
    counted = {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted}


def error(said: str, kind: str = "invalid_request_error", code: object = None) -> dict[str, Any]:
    return {"error": {"message": said, "type": kind, "param": None, "code": code}}


def frames(*events: object) -> bytes:
    """Encode server-sent events; a str is sent unchanged."""
    return b"".join(_frame(event) for event in events)


def _frame(event: object) -> bytes:
    data = event if isinstance(event, str) else json.dumps(event)
    return f"data: {data}\n\n".encode()


class ChatServer:
    """Server that sends queued answers, else those of the understudy at `behind`.

    `quirks`: `refuses NAME` (a field, with the words of `REFUSALS`), `no usage`, `null usage`, `comments`,
    `thinks` (in `reasoning_content`), `think tag`, `no key`, `redirects`, `ignores stream`. `root`: path of
    the API.
    """

    def __init__(self, behind: str, root: str = "/v1") -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.quirks: set[str] = set()
        self.models = ["gpt-9", "gpt-9-mini"]
        self.queued: deque[web.Response | bytes] = deque()
        self.url = ""
        self._behind = behind
        self._root = root
        self._session: ClientSession | None = None
        self._prompts: list[str] = []
        """Prompts cached automatically, as on such servers."""

    def queue(self, *events: object, done: bool = True) -> None:
        self.queued.append(frames(*events, *(["[DONE]"] if done else [])))

    def refuse(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        made = web.json_response(body, status=status, headers=headers)
        if isinstance(body, str):
            made = web.Response(text=body, status=status, content_type="text/html", headers=headers)
        self.queued.append(made)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve; yield the URL without a trailing slash."""
        app = web.Application(client_max_size=2**24)
        app.router.add_post(f"{self._root}/chat/completions", self._completions)
        app.router.add_get(f"{self._root}/models", self._all_models)
        app.router.add_get(f"{self._root}/models/{{name:.+}}", self._one_model)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with ClientSession() as self._session:
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}{self._root}"
            yield self.url
            await runner.cleanup()

    async def _all_models(self, request: web.Request) -> web.Response:
        listed = [{"id": name, "object": "model", "owned_by": "them"} for name in self.models]
        return web.json_response({"object": "list", "data": listed})

    async def _one_model(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.models:
            return web.json_response(_no_model(name), status=404)
        return web.json_response({"id": name, "object": "model", "owned_by": "them"})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        answering = asyncio.create_task(self._answer(request))
        try:
            while not answering.done():
                await asyncio.wait({answering}, timeout=LOOK)
                if request.transport is None or request.transport.is_closing():
                    break
            if answering.done():
                return answering.result()
        except (ConnectionResetError, ClientError):
            hang_up(request)
        finally:
            answering.cancel()
            with suppress(asyncio.CancelledError, ConnectionResetError, ClientError):
                await answering
        return web.Response()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(bearer(request))
        refused = self._refusal(request, body)
        if refused:
            return refused
        if self.queued:
            return await self._send(request, self.queued.popleft())
        assert self._session is not None
        asked = as_messages(body)
        async with self._session.post(
            f"{self._behind}/v1/messages", json=asked, headers={"x-api-key": "behind"}
        ) as came:
            if came.status != 200:
                return await _refused(came, str(body["model"]))
            return await self._translated(request, body, came)

    def _refusal(self, request: web.Request, body: Event) -> web.Response | None:
        if not bearer(request) and "no key" not in self.quirks:
            said = error("You didn't provide an API key.", code="invalid_api_key")
            return web.json_response(said, status=401)
        if "redirects" in self.quirks:
            return web.Response(status=307, headers={"location": "http://127.0.0.1:9/elsewhere"})
        why = objection(body, self.quirks)
        if why:
            return web.json_response(why, status=400)
        return None

    async def _send(self, request: web.Request, queued: web.Response | bytes) -> web.StreamResponse:
        if isinstance(queued, web.Response):
            return queued
        response = await _begun(request)
        await response.write(queued)
        return response

    async def _translated(
        self, request: web.Request, body: Event, came: ClientResponse
    ) -> web.StreamResponse:
        if "ignores stream" in self.quirks:
            return web.json_response(await _whole(came))
        response = await _begun(request)
        if "comments" in self.quirks:
            await response.write(b": OPENROUTER PROCESSING\n\n")
        await response.write(frames(chunk({"role": "assistant", "content": ""})))
        for thought in self._thoughts():
            await response.write(frames(thought))
        async for event in _events(came):
            sent = self._event(body, event)
            if sent:
                await response.write(frames(*sent))
        return response

    def _thoughts(self) -> Sequence[Event]:
        words = "The person wants me to be brief. I must not say so."
        if "thinks" in self.quirks:
            return [chunk({"content": None, "reasoning_content": word}) for word in words.split(" ")]
        if "think tag" in self.quirks:
            return [text("<th"), text(f"ink>{words}</"), text("think>\n"), text("\n")]
        return ()

    def _event(self, body: Event, event: Event) -> Sequence[object]:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(said)}}:
                return [text(said)]
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}, "usage": counted}:
                return [chunk({}, FINISH[reason]), *self._usage(body, counted)]
            case {"type": "message_stop"}:
                return ["[DONE]"]
            case {"type": "error", "error": {"type": kind, "message": said}}:
                return [error(said, kind)]
        return ()

    def _usage(self, body: Event, counted: Event) -> Sequence[Event]:
        if "no usage" in self.quirks:
            return ()
        prompt = json.dumps(body["messages"])
        known = max((_common(prompt, before) for before in self._prompts), default=0)
        self._prompts.append(prompt)
        cached = known // CHARACTERS // CACHED * CACHED
        made = usage(len(prompt) // CHARACTERS, counted["output_tokens"], cached)
        if "null usage" in self.quirks:
            made["usage"] = dict.fromkeys(made["usage"])
        return [made]


REFUSALS = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    "stop": "Unsupported parameter: 'stop' is not supported with this model.",
    "stream_options": "Unrecognized request argument supplied: stream_options",
    "json_schema": "This response_format type is unavailable now",
    "response_format": "'response_format' of this kind is not supported with this model",
    "system": "System role not supported",
}


def objection(body: Event, quirks: set[str]) -> Event | None:
    """Return the refusal of this request by OpenAI or a quirk, else None."""
    for name in sorted({*body} - KNOWN):
        return error(f"Unrecognized request argument supplied: {name}")
    if len(body.get("stop", ())) > 4:
        return error("Invalid 'stop': array too long. Expected an array with maximum length 4.")
    for message in body["messages"]:
        if {*message} != {"role", "content"} or not message["content"]:
            return error("Invalid value for 'messages'.")
    form = body.get("response_format", {})
    if form.get("type") == "json_schema" and form["json_schema"].get("strict") and _is_loose(form):
        return error("Invalid schema for response_format 'answer': 'required' is required to be supplied.")
    held = {*body, form.get("type"), *(message["role"] for message in body["messages"])}
    for name, said in REFUSALS.items():
        if f"refuses {name}" in quirks and name in held:
            return error(said, code="unsupported_parameter")
    return None


def _is_loose(schema: object) -> bool:
    if isinstance(schema, list):
        return any(map(_is_loose, schema))
    if not isinstance(schema, dict):
        return False
    if "properties" in schema and {*schema["properties"]} != {*schema.get("required", ())}:
        return True
    return any(map(_is_loose, schema.values()))


def as_messages(body: Event) -> dict[str, Any]:
    said = [one for one in body["messages"] if one["role"] != "system"]
    system = [one["content"] for one in body["messages"] if one["role"] == "system"]
    asked: dict[str, Any] = {
        "model": body["model"],
        "max_tokens": body.get("max_completion_tokens") or body["max_tokens"],
        "messages": [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in said],
        "stream": True,
    }
    if system:
        asked["system"] = [{"type": "text", "text": words} for words in system]
    if body.get("stop"):
        asked["stop_sequences"] = body["stop"]
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        schema = {"type": "json_schema", "schema": form["json_schema"]["schema"]}
        asked["output_config"] = {"format": schema}
    return asked


def _common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


async def _begun(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    return response


async def _events(came: ClientResponse) -> AsyncIterator[Event]:
    async for line in came.content:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


async def _whole(came: ClientResponse) -> dict[str, Any]:
    said, finish, answer = "", "stop", 0
    async for event in _events(came):
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(more)}}:
                said += more
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}, "usage": usage}:
                finish, answer = FINISH[reason], usage["output_tokens"]
    message = {"role": "assistant", "content": said}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 50, "completion_tokens": answer},
    }


async def _refused(came: ClientResponse, model: str) -> web.Response:
    said = (await came.json())["error"]["message"]
    wait = came.headers.get("retry-after")
    headers = {"retry-after": wait} if wait else None
    if "credit balance" in said:
        body = error("You exceeded your current quota.", "insufficient_quota", "insufficient_quota")
        return web.json_response(body, status=429)
    if came.status == 404:
        return web.json_response(_no_model(model), status=404)
    if "too long" in said or "context" in said:
        return web.json_response(error(said, code="context_length_exceeded"), status=400)
    status, kind, code = CODES.get(came.status, (came.status, "invalid_request_error", None))
    return web.json_response(error(said, kind, code), status=status, headers=headers)


def _no_model(name: str) -> Event:
    said = f"The model `{name}` does not exist or you do not have access to it."
    return error(said, code="model_not_found")
