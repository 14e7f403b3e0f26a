"""APIs of model servers: Anthropic's Messages and OpenAI's chat completions.

Requests come in Anthropic's form. The SDK rebuilds URL, headers and timeouts for each request, which is
slower than sending: here they are built once. Chat completions drop Claude's options and only count thoughts.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp
import httpx2
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, DefaultAioHttpClient

from daemon.claude.answer_stream import (
    CHARACTERS,
    FULL_ANSWER,
    PAGE,
    StreamBroken,
    StreamedAnswer,
    counted_tokens,
    estimate_prompt_tokens,
    refusal_text,
)
from daemon.claude.backend import ServerLookUp
from daemon.model import ANTHROPIC, OPENAI, ProviderAccount
from daemon.settings.limits import TokenUsage


class ModelAPI(Protocol):
    """Connection to one server, open until `close`.

    Raises FAILURES: `APIConnectionError` if the server is unreachable, `APIStatusError` if it refuses.
    """

    @property
    def account(self) -> ProviderAccount: ...

    async def send(self, request: Mapping[str, Any]) -> httpx2.Response:
        """Send a request in Anthropic's form, without `stream`; return the open event stream.

        The stream must be closed.
        """

    def begin(self, request: Mapping[str, Any]) -> StreamedAnswer: ...

    async def get(self, path: str, within: float) -> httpx2.Response:
        """Fetch a path below the API's root, within `within` seconds."""

    def server_look_up(self) -> ServerLookUp: ...

    async def close(self) -> None: ...


OF_THE_BODY = "content-length"


OF_THE_TRANSFER = frozenset({"content-length", "content-encoding", "transfer-encoding"})


MOST_OF_AN_ERROR = 100_000
"""Most bytes read of a refusal: some servers return the prompt in it, or never end."""


class RequestSender:
    """Messages API, with the SDK's request form and HTTP client."""

    account = ANTHROPIC

    def __init__(self, sdk: AsyncAnthropic, http: httpx2.AsyncClient) -> None:
        self._sdk = sdk
        self._http = http
        self._form: httpx2.Request | None = None

    async def send(self, request: Mapping[str, Any]) -> httpx2.Response:
        if self._form is None:
            self._form = await request_form(self._sdk)
        body = json.dumps({**request, "stream": True}, ensure_ascii=False, separators=(",", ":"))
        made = httpx2.Request(
            self._form.method,
            self._form.url,
            headers=self._form.headers,
            extensions=self._form.extensions,
            content=body.encode(),
        )
        try:
            response = await self._http.send(made, stream=True)
            if not response.is_success:
                response = await with_bounded_body(response)
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise APIConnectionError(request=made) from error
        if not response.is_success:
            raise refusal_body(response)
        return response

    def begin(self, request: Mapping[str, Any]) -> StreamedAnswer:
        return StreamedAnswer()

    async def get(self, path: str, within: float) -> httpx2.Response:
        return await self._sdk.get(f"/v1/{path}", cast_to=httpx2.Response, options={"timeout": within})

    def server_look_up(self) -> ServerLookUp:
        headers = {name: one for name, one in self._sdk.default_headers.items() if isinstance(one, str)}
        return ServerLookUp(self._http, str(self._sdk.base_url), headers)

    async def close(self) -> None:
        await self._sdk.close()


async def request_form(sdk: AsyncAnthropic) -> httpx2.Request:
    """Return a streaming request of the SDK without body-dependent headers."""
    made: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        made.append(request)
        return httpx2.Response(200)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(keep)) as nowhere:
        beside = sdk.with_options(http_client=nowhere)
        await beside.messages.create(model="", max_tokens=1, messages=[], stream=True)
    [request] = made
    del request.headers[OF_THE_BODY]
    return request


async def with_bounded_body(response: httpx2.Response) -> httpx2.Response:
    body = bytearray()
    async with aclosing(response):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MOST_OF_AN_ERROR:
                break
    kept = [(name, value) for name, value in response.headers.items() if name not in OF_THE_TRANSFER]
    content = bytes(body[:MOST_OF_AN_ERROR])
    return httpx2.Response(response.status_code, headers=kept, content=content, request=response.request)


def refusal_body(response: httpx2.Response) -> APIStatusError:
    """Return a refusal as the SDK's error; a body without JSON is kept as text."""
    said = response.text.strip()
    body: object = said
    if said.startswith("{"):
        try:
            body = json.loads(said)
        except (ValueError, RecursionError):
            body = said
    return APIStatusError(said, response=response, body=body)


OPENING = re.compile(r"<(think(?:ing)?|thought|reasoning)>|\[(think)\]", re.IGNORECASE)


OPENINGS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "[think]")


LONGEST_CLOSING = len("</reasoning>")


class LeadingThoughtFilter:
    """Filter that removes thoughts (`<think>`) from the start of a streamed answer."""

    def __init__(self) -> None:
        self.length = 0
        self._held = ""
        self._closing: re.Pattern[str] | None = None
        self._has_thought = False
        self._is_over = False

    def feed(self, text: str) -> str:
        if self._is_over:
            return text
        self._held += text
        while self._closing is None or self._has_closed(self._closing):
            bare = self._held.lstrip()
            opened = OPENING.match(bare)
            if opened is None:
                return self._begin(bare)
            self._held = bare[opened.end() :]
            self._has_thought = True
            self._closing = re.compile(rf"</{opened[1]}\s*>|\[/{opened[2]}\]", re.IGNORECASE)
        return ""

    def end(self) -> str:
        if self._is_over or self._closing:
            return ""
        self._is_over = True
        return self._held

    def _has_closed(self, closing: re.Pattern[str]) -> bool:
        found = closing.search(self._held)
        if found is None:
            kept = self._held[-LONGEST_CLOSING:]
            self.length += len(self._held) - len(kept)
            self._held = kept
            return False
        self.length += found.start()
        self._held = self._held[found.end() :].lstrip()
        self._closing = None
        return True

    def _begin(self, bare: str) -> str:
        if any(opening.startswith(bare.casefold()) for opening in OPENINGS):
            return ""
        self._is_over = True
        return bare if self._has_thought else self._held


CONNECT = httpx2.Timeout(None, connect=10)
"""Timeout for connecting only; StreamDeadline limits the time afterwards."""


log = logging.getLogger(__name__)


DONE = "[DONE]"
"""Data of the last event, which is not JSON."""


MOST_STOPS = 4
"""Most stop sequences of a request; OpenAI refuses more."""


REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": FULL_ANSWER,
    "content_filter": "refusal",
    "safety": "refusal",
}
"""Anthropic's stop reasons, by those of chat completions; others are kept."""


FAILED = {"error": "server-error", "abort": "server-error", "insufficient_system_resource": "overloaded"}
"""Error kinds, by stop reasons that mean a failure."""


THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields for thoughts, of DeepSeek (vLLM, llama-server) and OpenRouter (Ollama)."""


VERSION = re.compile(r"/v\d+\w*(/|$)")
"""Version in a URL's path: `/v1`, `/v1beta/openai`, `/api/paas/v4`."""


OBJECTIONS = (400, 405, 422, 500, 501)
"""Statuses by which servers refuse a part of a request; chat templates use 500."""


NO_FORMAT = re.compile(
    r"response.?format|json.?(?:schema|object|mode)|structured.?output|grammar", re.IGNORECASE
)


NO_STOP = re.compile(r"""["'`]stop["'`]|stop.?sequences?""", re.IGNORECASE)


NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)|['\"]system['\"] with this model|roles must alternate"
    r"|only user and assistant roles|developer instruction",
    re.IGNORECASE,
)


def api_roots(base_url: str) -> list[str]:
    """Return possible roots of the API, likeliest first: an address without a version may lack `/v1`."""
    base = re.sub(r"(/chat/completions)?/*$", "", base_url)
    if VERSION.search(urlsplit(base).path):
        return [base]
    return [f"{base}/v1", base]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequestForm:
    """Options of a model's requests that not every server supports."""

    limit: str = "max_tokens"
    format: str = "json_schema"
    has_system: bool = True
    has_stop: bool = True
    has_usage: bool = True

    def request_body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request["model"],
            "messages": self._messages(request),
            self.limit: request["max_tokens"],
            "stream": True,
        }
        if self.has_usage:
            body["stream_options"] = {"include_usage": True}
        if "temperature" in request:
            body["temperature"] = request["temperature"]
        stops = request.get("stop_sequences", ())[:MOST_STOPS]
        if stops and self.has_stop:
            body["stop"] = [*stops]
        form = request.get("output_config", {}).get("format")
        if form and self.format:
            body["response_format"] = _response_format(self.format, form["schema"])
        return body

    def _messages(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        system = [*request.get("system", ())]
        messages = request["messages"]
        if system and not self.has_system:
            first = {**messages[0], "content": [*system, *messages[0]["content"]]}
            messages = [first, *messages[1:]]
        elif system:
            messages = [{"role": "system", "content": system}, *messages]
        return [{"role": one["role"], "content": _content(one["content"])} for one in messages]

    def form_after_refusal(self, body: Mapping[str, Any], said: str) -> ChatRequestForm | None:
        """Return the form to try after a refusal with the text `said`; None if none is left."""
        if "max_completion_tokens" in said and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "stream_options" in said and self.has_usage:
            return replace(self, has_usage=False)
        if "response_format" in body and NO_FORMAT.search(said):
            return replace(self, format="json_object" if self.format == "json_schema" else "")
        if "stop" in body and NO_STOP.search(said):
            return replace(self, has_stop=False)
        if self.has_system and body["messages"][0]["role"] == "system" and NO_SYSTEM.search(said):
            return replace(self, has_system=False)
        return None


def _response_format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if kind != "json_schema":
        return {"type": kind}
    form = {"name": "answer", "schema": schema, "strict": _names_all(schema)}
    return {"type": kind, "json_schema": form}


def _names_all(schema: object) -> bool:
    """True if every object requires all its properties: OpenAI enforces only such schemas."""
    if isinstance(schema, list):
        return all(map(_names_all, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and {*properties} != {*schema.get("required", ())}:
        return False
    return all(map(_names_all, schema.values()))


def _content(blocks: Iterable[Mapping[str, Any]]) -> str | list[dict[str, Any]]:
    """Return one text, which all servers accept; a list only if there are images."""
    parts = [_part(block) for block in blocks]
    if any(part["type"] != "text" for part in parts):
        return parts
    return "\n\n".join(part["text"] for part in parts)


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block["type"] != "image":
        return {"type": "text", "text": block["text"]}
    source = block["source"]
    return {"type": "image_url", "image_url": {"url": f"data:{source['media_type']};base64,{source['data']}"}}


class ChatCompletions:
    """Chat completions; options that the server refused for a model are not sent again."""

    account = OPENAI

    def __init__(self, *, base_url: str, api_key: str) -> None:
        self._roots = api_roots(base_url)
        self._key = api_key
        # A redirect could lead prompts to an unknown address.
        self._http = DefaultAioHttpClient(timeout=CONNECT, follow_redirects=False)
        self._manners: dict[str, ChatRequestForm] = {}

    async def send(self, request: Mapping[str, Any]) -> httpx2.Response:
        model = request["model"]
        while True:
            manner = self._manners.get(model, ChatRequestForm())
            body = manner.request_body(request)
            try:
                return _as_stream(await self._ask("POST", "chat/completions", body))
            except APIStatusError as error:
                other = (
                    manner.form_after_refusal(body, refusal_text(error))
                    if error.status_code in OBJECTIONS
                    else None
                )
                if other is None:
                    raise
                log.info("%s refused a part of a request: its request form is now %s", model, other)
                self._manners[model] = other

    def begin(self, request: Mapping[str, Any]) -> StreamedAnswer:
        return ChatAnswer(request=request)

    async def get(self, path: str, within: float) -> httpx2.Response:
        return await self._ask("GET", path, within=within)

    def server_look_up(self) -> ServerLookUp:
        return ServerLookUp(self._http, self._roots[0], {"authorization": f"Bearer {self._key}"})

    async def close(self) -> None:
        await self._http.aclose()

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, within: float | None = None
    ) -> httpx2.Response:
        """Send to each root until one has the API; then use only this root."""
        missing: APIStatusError | StreamBroken | None = None
        for root in list(self._roots):
            try:
                response = await self._request(method, f"{root}/{path}", body, within)
            except (APIStatusError, StreamBroken) as error:
                if not _is_elsewhere(error):
                    raise
                missing = missing or error
            else:
                self._roots = [root]
                return response
        assert missing is not None
        raise missing

    async def _request(
        self, method: str, url: str, body: Mapping[str, Any] | None, within: float | None
    ) -> httpx2.Response:
        headers = {b"authorization": f"Bearer {self._key}".encode()}
        content = None
        if body is not None:
            headers[b"content-type"] = b"application/json"
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        made = self._http.build_request(method, url, content=content, headers=[*headers.items()])
        if within is not None:
            made.extensions["timeout"] = httpx2.Timeout(within).as_dict()
        try:
            response = await self._http.send(made, stream=True)
            kind = response.headers.get("content-type", "").casefold()
            if not response.is_success or "html" in kind:
                response = await with_bounded_body(response)
            elif body is None or "json" in kind:
                await response.aread()
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise APIConnectionError(request=made) from error
        if not response.is_success:
            raise _refusal_of(response)
        if "html" in kind:
            raise StreamBroken("a page came in place of an answer", PAGE)
        return response


def _is_elsewhere(error: APIStatusError | StreamBroken) -> bool:
    if isinstance(error, StreamBroken):
        return error.kind == PAGE
    return error.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


def _as_stream(response: httpx2.Response) -> httpx2.Response:
    """Return an unstreamed answer as a stream of one event."""
    if "json" not in response.headers.get("content-type", "").casefold():
        return response
    event = json.dumps(json.loads(response.text))
    return httpx2.Response(200, content=f"data: {event}\n\ndata: {DONE}\n\n".encode())


def _refusal_of(response: httpx2.Response) -> APIStatusError:
    said = response.text.strip()
    body: object = said
    try:
        words, kind = _error_words(json.loads(said))
        body = {"error": {"message": words, "type": kind}}
    except (ValueError, RecursionError):
        pass
    return APIStatusError(said, response=response, body=body)


def _error_words(body: object) -> tuple[str, str]:
    """Return the text and kind of an error. Raises ValueError without one.

    OpenAI sends an object `error`, Gemini a list, LM Studio and xAI a text, old vLLM no wrapper, FastAPI
    `detail`.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        raise ValueError("no error")
    error = body.get("error") or body.get("detail") or body
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, str):
        return error, _error_kind(body)
    if not isinstance(error, Mapping):
        raise ValueError("no error")
    return str(error.get("message") or error.get("msg") or ""), _error_kind(error)


def _error_kind(error: Mapping[str, Any]) -> str:
    code, kind = error.get("code"), error.get("type") or error.get("status")
    if isinstance(code, str) and not code.isdecimal():
        return code
    return str(kind or code or "")


@dataclass(slots=True)
class ChatAnswer(StreamedAnswer):
    """Answer of chat completions; `request` serves to estimate uncounted tokens."""

    request: Mapping[str, Any] = field(default_factory=dict)
    leading: LeadingThoughtFilter = field(default_factory=LeadingThoughtFilter)
    is_refused: bool = False

    def take_event(self, data: str) -> str:
        """Process one event in JSON; return its answer text, often empty."""
        if data.strip() == DONE:
            self.ended = True
            return self._add(self._flush())
        event = json.loads(data) if data else None
        if isinstance(event, list) and event:  # Gemini sends errors in a list
            [event, *_] = event
        if not isinstance(event, Mapping):
            return ""
        if event.get("error") or event.get("object") == "error":
            words, kind = _error_words(event)
            raise StreamBroken(words, kind)
        self._count(event.get("usage"))
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return ""
        self._count(choice.get("usage"))  # Moonshot counts here
        said = self._take_delta(choice.get("delta") or choice.get("message"))
        return self._add(said + self._end(choice.get("finish_reason")))

    def _take_delta(self, delta: object) -> str:
        if not isinstance(delta, Mapping):
            return ""
        self.thought += len(_thought_text(delta))
        self.is_refused = self.is_refused or bool(delta.get("refusal"))
        before = self.leading.length
        spoken = self.leading.feed(_answer_text(delta.get("content")))
        self.thought += self.leading.length - before
        return self.joining.feed(spoken)

    def _end(self, reason: object) -> str:
        if not isinstance(reason, str) or reason.casefold() in ("", "null"):
            return ""
        word = reason.casefold()
        if word in FAILED:
            raise StreamBroken(f"the answer ended with {word}", FAILED[word])
        self.stop_reason = "refusal" if self.is_refused else REASONS.get(word, word)
        return self._flush()

    def _flush(self) -> str:
        return self.joining.feed(self.leading.end()) + self.joining.end()

    def _count(self, counted: Any) -> None:
        """Keep the highest count: counts are cumulative, and servers omit parts."""
        if not isinstance(counted, Mapping):
            return
        prompt = counted_tokens(counted, "prompt_tokens")
        # Some servers omit thoughts from `completion_tokens`, but not from the total.
        output = max(
            counted_tokens(counted, "completion_tokens"), counted_tokens(counted, "total_tokens") - prompt
        )
        read, written = _cached_tokens(counted)
        read = min(read, prompt)
        written = min(written, prompt - read)
        usage = TokenUsage(input=prompt - read - written, cache_read=read, cache_write=written, output=output)
        if usage.total >= self.usage.total:
            self.usage = usage

    def billed_usage(self) -> TokenUsage:
        """Return the billed tokens, estimated if uncounted."""
        usage = super(ChatAnswer, self).billed_usage()  # dataclasses with slots break a bare super()
        came = len(self.text) + self.thought
        if not (came or self.is_complete):
            return usage
        if not usage.output:
            usage = replace(usage, output=came // CHARACTERS)
        if not usage.prompt:
            usage = replace(usage, input=estimate_prompt_tokens(self.request))
        return usage


def _thought_text(delta: Mapping[str, Any]) -> str:
    """Return the thought in a piece; some servers send the thought twice."""
    for name in THOUGHTS:
        thought = delta.get(name)
        if thought and isinstance(thought, str):
            return thought
    content = delta.get("content")
    if isinstance(content, list):  # Mistral sends lists
        return "".join(str(part.get("thinking", "")) for part in content if isinstance(part, Mapping))
    return ""


def _answer_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _cached_tokens(counted: Mapping[str, Any]) -> tuple[int, int]:
    """Return the prompt tokens (read from a cache, written to a cache)."""
    details = counted.get("prompt_tokens_details")
    if not isinstance(details, Mapping):
        details = {}
    read = (
        counted_tokens(details, "cached_tokens"),  # OpenAI
        counted_tokens(counted, "cached_tokens"),  # Moonshot
        counted_tokens(counted, "prompt_cache_hit_tokens"),  # DeepSeek
        counted_tokens(counted, "cache_read_input_tokens"),  # LiteLLM
    )
    written = (
        counted_tokens(details, "cache_write_tokens"),  # OpenRouter
        counted_tokens(counted, "cache_creation_input_tokens"),  # LiteLLM
    )
    return max(read), max(written)
