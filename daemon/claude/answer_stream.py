"""A streamed answer of a model: server-sent events, deadlines, token counts and failures.

The SDK's event reader is not used: it takes quadratic time for many lines, and unlimited memory.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal

import aiohttp
import anthropic
import httpx2

from daemon.claude.deadlines import StreamDeadline, StreamTimeout
from daemon.claude.requests import REFUSED_FOR_SIZE
from daemon.engine.event import storable_text
from daemon.engine.exceptions import recorded_name
from daemon.model import ENDED, REPEATING, Oddity
from daemon.settings.limits import TokenUsage

FIRST_HALF = re.compile(r"[\ud800-\udbff]\Z")


class SurrogateJoiner:
    """Buffer that joins a surrogate pair split between two pieces of text."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        text = self._half + piece
        self._half = text[-1:] if FIRST_HALF.search(text) else ""
        return storable_text(text.removesuffix(self._half))

    def end(self) -> str:
        half, self._half = self._half, ""
        return storable_text(half)


STATUS = {
    401: "unauthorized",
    402: "no-credit",
    403: "forbidden",
    404: "unknown-model",
    408: "unreachable",
    429: "rate-limited",
    529: "overloaded",
}


PAGE = "page"
"""Error kind of a web page received in place of an API answer."""


OPEN = (HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses to which gateways give several meanings; the text of the refusal decides."""


STREAMED = {
    PAGE: "unreachable",
    "authentication_error": "unauthorized",
    "billing_error": "no-credit",
    "permission_error": "forbidden",
    "not_found_error": "unknown-model",
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate-limited",
    "api_error": "server-error",
    "server-error": "server-error",
    "server_error": "server-error",
    "overloaded": "overloaded",
}


CODES = {
    "insufficient_quota": "no-credit",
    "billing_not_active": "no-credit",
    "billing_hard_limit_reached": "no-credit",
    "budget_exceeded": "no-credit",
    "invalid_api_key": "unauthorized",
    "account_deactivated": "unauthorized",
    "model_not_found": "unknown-model",
    "invalid_model": "unknown-model",
    "DeploymentNotFound": "unknown-model",
    "context_length_exceeded": "too-long",
    "exceed_context_size_error": "too-long",
    "rate_limit_exceeded": "rate-limited",
}
"""Words of ModelReply.failure by OpenAI error code, more precise than the status."""


SAID = (
    (re.compile(r"credit balance is too low|reached your specified .*usage limit", re.I), "no-credit"),
    (re.compile(r"organization has been disabled", re.I), "unauthorized"),
    (re.compile(r"insufficient (?:balance|credit|fund)|budget has been exceeded", re.I), "no-credit"),
    (re.compile(r"(?:incorrect|invalid) api key|api key not valid", re.I), "unauthorized"),
    (
        re.compile(
            r"^invalid model name|invalid model name passed|not a valid model|model not exist"
            r"|model\W.{0,200}(?:not found|does not exist)",
            re.I,
        ),
        "unknown-model",
    ),
)
"""Refusals that concern the account, with their words of ModelReply.failure."""


CAUSES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (socket.gaierror, "its name cannot be resolved"),
    (ssl.SSLCertVerificationError, "its certificate is not valid"),
    (ssl.SSLError, "TLS fails"),
    (ConnectionRefusedError, "the connection is refused"),
    ((TimeoutError, httpx2.TimeoutException), "it is silent for too long"),
    ((ConnectionError, aiohttp.ServerDisconnectedError), "the connection breaks"),
    (OSError, "there is no way through the network"),
)
"""Causes in words for an owner, by transport error; the first match counts."""


TOO_LONG = "too-long"
"""Word of ModelReply.failure for a request refused as too large."""


TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


READ = 2_000
"""Most characters of an error text to search; some servers return the prompt."""


class StreamBroken(Exception):
    """Error for a stream that broke off or carried an error event of this `kind`.

    `ours`: the daemon wrote the text, not the server.
    """

    recorded_name = "Broken"

    def __init__(self, said: str, kind: str = "", *, ours: bool = False) -> None:
        super().__init__(said)
        self.kind = kind
        self.ours = ours


FAILURES = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    aiohttp.ClientError,
    TimeoutError,
    ValueError,
    RecursionError,
    StreamBroken,
)
"""Errors that a call can meet: ValueError for invalid JSON, RecursionError for deeply nested JSON."""


def failure_word(error: BaseException) -> str:
    """Classify an error by a word of ModelReply.failure."""
    if isinstance(error, anthropic.APIConnectionError):
        return "unreachable"
    if isinstance(error, StreamBroken):
        return _account_fault_meant(str(error)) or _word_for_broken_stream(error)
    if not isinstance(error, anthropic.APIStatusError):
        return "broken-stream"
    if error.status_code < HTTPStatus.BAD_REQUEST:
        return "unreachable"
    coded = CODES.get(str(error.type))
    if coded:
        return coded
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return _account_fault_meant(_server_words(error)) or _refused_for_size(error) or "bad-request"
    if error.status_code in OPEN and _account_fault_meant(_server_words(error)):
        return _account_fault_meant(_server_words(error))
    if error.status_code in STATUS:
        return STATUS[error.status_code]
    size = _refused_for_size(error)
    if size:
        return size
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server-error"
    return "bad-request"


def _word_for_broken_stream(error: StreamBroken) -> str:
    known = STREAMED.get(error.kind) or CODES.get(error.kind) or _word_for_status(error.kind)
    if known in ("", "server-error") and REFUSED_FOR_SIZE.search(refusal_text(error)):
        return TOO_LONG
    return known or "broken-stream"


def _word_for_status(kind: str) -> str:
    if not re.fullmatch("[45][0-9]{2}", kind):
        return ""
    status = int(kind)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return STATUS.get(status, "server-error")
    return STATUS.get(status, "")


def _refused_for_size(error: anthropic.APIStatusError) -> str:
    if error.status_code == TOO_LARGE or REFUSED_FOR_SIZE.search(refusal_text(error)):
        return TOO_LONG
    return ""


def refusal_text(error: BaseException) -> str:
    """Return the server's text and codes, shortened; empty for other errors."""
    if isinstance(error, anthropic.APIStatusError):
        return str(error.response.text)[:READ]
    if isinstance(error, StreamBroken):
        return f"{error.kind}: {error}"[:READ]
    return ""


def _server_words(error: anthropic.APIStatusError) -> str:
    said: object = error.api_message
    return str(said or "")


def _account_fault_meant(said: str) -> str:
    for words, word in SAID:
        if words.search(said[:300]):
            return word
    return ""


def failure_cause(error: BaseException) -> str:
    """Return a short cause in the daemon's own words; empty if unknown."""
    if isinstance(error, anthropic.APIStatusError) and error.status_code != HTTPStatus.OK:
        if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
            return f"HTTP {error.status_code}: it leads to another address, which nobody has set"
        return f"HTTP {error.status_code}"
    if isinstance(error, StreamTimeout) or (isinstance(error, StreamBroken) and error.ours):
        return str(error)
    if isinstance(error, StreamBroken) and error.kind == PAGE:
        return "a page came, as from a website, in place of an answer"
    for one in _error_chain(error):
        for kind, words in CAUSES:
            if isinstance(one, kind):
                return words
    return ""


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    behind = error.__cause__
    if behind is not None:
        yield from _error_chain(behind)
    yield error


def retry_after_seconds(error: BaseException) -> float:
    """Return the seconds in the `Retry-After` header; 0 if absent or unreadable."""
    if not isinstance(error, anthropic.APIStatusError):
        return 0.0
    asked = error.response.headers.get("retry-after", "")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", asked):
        return 0.0
    return float(asked)


def failure_detail(error: BaseException, secret: str) -> str:
    """Return the server's text and request id for the log, without `secret`."""
    if isinstance(error, anthropic.APIStatusError):
        said = _server_words(error).replace(secret, "…")[:300]
        return f"{error.status_code} {error.type} {error.request_id}: {said}"
    if isinstance(error, StreamBroken):
        return f"{error.kind}: {error}".replace(secret, "…")[:300].removeprefix(": ")
    if isinstance(error, StreamTimeout):
        return str(error)
    return recorded_name(error)


FULL_ANSWER = "model_context_window_exceeded"


OVERLONG = "max_tokens"
"""Stop reason at the token limit; also set for servers that exceed the limit."""


CUT = frozenset({OVERLONG, REPEATING, FULL_ANSWER, "pause_turn"})
"""Stop reasons that leave an answer unfinished."""


MOST = 1_000_000_000
"""Highest token count that is believed."""


CHARACTERS = 3
"""Characters per token, estimated low, for text without a token count."""


MOST_CHARACTERS = 8
"""Most characters per token: an answer with more has passed its token limit."""


TAIL = 1_000
"""Last characters of an answer that are checked for repetition."""


FIRST = 20
"""First characters of an answer that are checked for a thinking tag."""


STEP = 200


LONGEST_PIECE = 200


@dataclass(slots=True)
class StreamedAnswer:
    """Part of a model's answer that has arrived, and the stop sequence that ended it.

    `most`: tokens allowed. `in_circles`: True to close an answer that repeats itself. `failure`: one of the
    words of ModelReply.failure, or empty. `stopped`: True if it broke off. `closed`: ended early by the
    daemon, but usable.
    """

    most: int | None = None
    stop_sequences: Sequence[str] = ()
    in_circles: bool = False

    texts: list[str] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: str | None = None
    ended: bool = False
    first_text: float | None = None
    failure: str = ""
    cause: str = ""
    stopped: bool = False
    quiet: bool = False
    closed: bool = False
    odd: Oddity | None = None
    """Oddity for which the daemon closed the answer."""
    named_end: str = ""
    """Stop sequence that the server reported."""
    thought: int = 0
    size: int = 0
    tail: str = ""
    looked_at: int = 0
    joining: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    after: float = 0.0

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def outcome(self) -> Literal["ok", "cut", "refused", "cancelled", "failed"]:
        if self.stopped:
            return "cancelled"
        if self.failure:
            return "failed"
        if self.stop_reason == "refusal":
            return "refused"
        if self.stop_reason in CUT:
            return "cut"
        return "ok"

    @property
    def is_complete(self) -> bool:
        """True if the server ended the answer; later errors are harmless.

        An end without a stop reason and text comes from a proxy.
        """
        return self.stop_reason is not None or (self.ended and bool(self.texts))

    def take_event(self, data: str) -> str:
        """Process one event in JSON; return its answer text, often empty."""
        if not data:
            return ""
        event = json.loads(data)
        match event:
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
                self.thought += len(text)
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return self._add(self.joining.feed(text))
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(text)}}:
                return self._add(self.joining.feed(text))
            case {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": str(text)},
            }:
                return self._add(self.joining.feed(text))  # from the tool that enforces a grammar
            case {"type": "content_block_stop"}:
                return self._add(self.joining.end())
            case {"type": "message_start", "message": {"usage": {**counted}}}:
                self._count(counted)
            case {"type": "message_delta", "delta": {**delta}}:
                reason = delta.get("stop_reason")
                if isinstance(reason, str):
                    self.stop_reason = reason
                self.named_end = str(delta.get("stop_sequence") or "")
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self.ended = True
            case {"type": "error", "error": {"type": kind, **said}}:
                raise StreamBroken(str(said.get("message")), str(kind))
            case {"error": {"message": words, **more}}:  # OpenAI's form, passed on by gateways
                raise StreamBroken(str(words), str(more.get("code") or more.get("type") or ""))
            case {"error": str(words), **more} if not more:
                raise StreamBroken(words)
        return ""

    def _add(self, text: str) -> str:
        if text:
            self.texts.append(text)
        return text

    @property
    def has_thoughts(self) -> bool:
        """True if the model thought, in separate events or in the text."""
        return self.thought > 0 or self.text[:FIRST].lstrip().startswith("<think")

    def bounded_delta(self, delta: str) -> str:
        """Return the part of `delta` to keep; close the answer at a stop sequence, the
        limit or a repetition.
        """
        for stop in self.stop_sequences:
            near = (self.tail + delta)[-len(stop) - len(delta) + 1 :]
            at = near.find(stop)
            if at >= 0:
                delta = delta[: len(delta) - (len(near) - at - len(stop))]
                self.texts[-1:] = [delta]
                self._cut(ENDED, "endless")
                break
        self.size += len(delta)
        self.tail = (self.tail + delta)[-TAIL:]
        if self.most is not None and self.size + self.thought > self.most * MOST_CHARACTERS:
            self._cut(OVERLONG, "too-long")
        elif self.in_circles and self.size - self.looked_at >= STEP:
            self.looked_at = self.size
            if repeats_itself(self.tail):
                self._cut(REPEATING, "repeating")
        return delta

    def _cut(self, why: str, odd: Oddity) -> None:
        if self.stop_reason is None:
            self.odd = odd
        self.close(why)

    def close(self, why: str) -> None:
        """End the answer early as usable, with the stop reason `why`."""
        if not self.closed and self.stop_reason is None:
            self.closed, self.stop_reason = True, why

    def end_by_server(self) -> None:
        """Append the stop sequence that the server left out.

        Some servers report another stop reason: then an element that the text opened is closed.
        """
        if self.outcome != "ok":
            return
        for stop in self.stop_sequences:
            begun = self.text.rfind(stop.replace("</", "<", 1))
            if self.named_end == stop or begun > self.text.rfind(stop):
                self.texts.append(stop)
                return

    def break_off(self, prompt: int) -> None:
        """Mark the answer as stopped; bill `prompt` tokens if the server counted none."""
        self.stopped = not self.closed
        if self.usage == TokenUsage():
            self.usage = TokenUsage(input=prompt)

    def billed_usage(self) -> TokenUsage:
        """Return the billed tokens; the output of an unfinished answer is estimated."""
        if self.is_complete and not self.closed:
            return self.usage
        came = len(self.text) + self.thought
        return replace(self.usage, output=max(self.usage.output, came // CHARACTERS))

    def _count(self, counted: Any) -> None:
        """Keep the highest count of each kind, since local servers omit some."""
        if not isinstance(counted, Mapping):
            return
        was = self.usage
        self.usage = TokenUsage(
            input=max(was.input, counted_tokens(counted, "input_tokens")),
            cache_read=max(was.cache_read, counted_tokens(counted, "cache_read_input_tokens")),
            cache_write=max(was.cache_write, counted_tokens(counted, "cache_creation_input_tokens")),
            output=max(was.output, counted_tokens(counted, "output_tokens")),
        )


def repeats_itself(text: str) -> bool:
    """True if the text only repeats one short piece."""
    if len(text) < TAIL:
        return False
    return any(text[piece:] == text[:-piece] for piece in range(1, LONGEST_PIECE + 1))


def counted_tokens(counted: Mapping[str, Any], name: str) -> int:
    """Return the token count under `name`; 0 if absent or not believable."""
    found = counted.get(name)
    if isinstance(found, int) and found <= MOST:
        return found
    return 0


def estimate_prompt_tokens(request: Mapping[str, Any]) -> int:
    return len(json.dumps(request, ensure_ascii=False)) // CHARACTERS


MOST_BYTES = 1_000_000
"""Most bytes of a line or an event in a stream."""


NEWLINES = (b"\n", b"\r")


PING = b"ping"


async def answer_events(response: httpx2.Response, patience: StreamDeadline) -> AsyncGenerator[str, None]:
    """Yield the data of each server-sent event; report bytes and events to `patience`.

    Comments, pings and empty events are skipped. Raises StreamBroken (too long) and ValueError (no UTF-8).
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
    """Splitter of bytes into lines at LF, CR or CRLF."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> Sequence[bytes]:
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
