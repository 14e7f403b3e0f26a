"""What went wrong in a model call, as one word for the journal."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus

import aiohttp
import anthropic
import httpx2

from daemon.claude.patience import StreamTimeout
from daemon.engine.exceptions import recorded_name

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
"""The kind of what is no answer of an API, but a page of a website."""
OPEN = (HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses that gateways give to several faults, which their words tell apart."""
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
"""Codes of errors in OpenAI's form, which say more than the status that they come with."""
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
"""What a refusal says that is the account's fault, and not the request's."""

CAUSES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (socket.gaierror, "its name cannot be resolved"),
    (ssl.SSLCertVerificationError, "its certificate is not valid"),
    (ssl.SSLError, "TLS fails"),
    (ConnectionRefusedError, "the connection is refused"),
    ((TimeoutError, httpx2.TimeoutException), "it is silent for too long"),
    ((ConnectionError, aiohttp.ServerDisconnectedError), "the connection breaks"),
    (OSError, "there is no way through the network"),
)
"""Errors of the transport, and what each means to an owner; the first that fits."""

TOO_LONG = "too-long"
"""The word for a request that was refused for its size: as it is, it is refused again."""
TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
SPACE = "[ _-]?"
CONTEXT = f"context{SPACE}(?:length|window|size|limit)"
REFUSED_FOR_SIZE = re.compile(
    rf"""
    (?:prompt|input|request|message|context|payload|body|entity)s?[ _](?:\w+[ _])?too[ _](?:long|large|big)
  | (?:exceed|overflow|greater\ than|longer\ than|larger\ than|beyond|reached|maximum)[^.]{{0,80}}{CONTEXT}
  | {CONTEXT}[^.]{{0,80}}(?:exceed|overflow|not\ enough|is\ full|was\ reached|too\ small)
  | context\ (?:the\ )?overflow | maximum\ (?:allowed\ )?(?:prompt|input|model|sequence)?\ ?length
  | reduce\ the\ length\ of\ the | token\ (?:count|limit)[^.]{{0,80}}exceed | exceed[^.]{{0,60}}token\ limit
  | too\ many\ (?:\w+\ )?tokens(?!\ per) | string[_ ](?:too[_ ]long|above[_ ]max) | max_new_tokens\W+must\ be
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""How Anthropic, gateways and local servers say it: see tests/claude/test_too_long.py."""
READ = 2_000
"""Characters of an error that are searched for it: some servers send the whole prompt back."""
WINDOWS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"> (\d+)",
        r"n_ctx\W+(\d+)",
        rf"{CONTEXT}(?!\ by)\D{{0,30}}?(\d+)",
        r"maximum\D{0,60}?(\d+)",
        r"(\d+) maximum",
        r"limit\D{0,12}(\d+)",
    )
]
"""Where such an error names the window, the surest way first."""
COUNTS = re.compile(
    r"(\d+) tokens? >|(\d+) \+ \d+ >|n_prompt_tokens\W+(\d+)|\((\d+) in (?:the|your) (?:messages|prompt)"
    r"|(\d+) input tokens|(?:contains|count|resulted in|keep the first|request|input|length|requested tokens)"
    r" \(?(\d+)",
    re.IGNORECASE,
)
"""Where it names the tokens of the prompt."""
LEAST_WINDOW = 1_000
"""Tokens; a smaller number in such an error is something else."""


class StreamBroken(Exception):
    """A stream ended with an error of this kind, or in the middle of an answer.

    `ours`: the words are ours, and not the server's.
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
"""All that the SDK and its transports raise for what a network or a server can do; ValueError is for
answers that are not JSON, RecursionError for those that are nested too deeply."""


def failure_word(error: BaseException) -> str:
    """One of the words of Reply.failure."""
    if isinstance(error, anthropic.APIConnectionError):
        return "unreachable"
    if isinstance(error, StreamBroken):
        return _account_fault_meant(str(error)) or _word_for_broken_stream(error)
    if not isinstance(error, anthropic.APIStatusError):
        return "broken-stream"
    if error.status_code < HTTPStatus.BAD_REQUEST:  # a redirect, which is not followed
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
    """The word for an error in the middle of a stream."""
    known = STREAMED.get(error.kind) or CODES.get(error.kind) or _word_for_status(error.kind)
    if known in ("", "server-error") and REFUSED_FOR_SIZE.search(refusal_text(error)):
        return TOO_LONG
    return known or "broken-stream"


def _word_for_status(kind: str) -> str:
    """The word for an error that a gateway passes on in a stream with its status, if this is one."""
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
    """The beginning of all that the server said of an error: its words, and its codes."""
    if isinstance(error, anthropic.APIStatusError):
        return str(error.response.text)[:READ]
    if isinstance(error, StreamBroken):
        return f"{error.kind}: {error}"[:READ]
    return ""


def refused_sizes(said: str) -> tuple[int, int]:
    """The window, and the tokens of the prompt, that a refusal for size names; 0 where it names none."""
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", said)
    window = 0
    for pattern in WINDOWS:
        found = pattern.search(plain)
        if found and int(found[1][:9]) >= LEAST_WINDOW:
            window = int(found[1][:9])
            break
    counted = COUNTS.search(plain)
    if counted is None:
        return window, 0
    [tokens] = [group for group in counted.groups() if group]
    return window, int(tokens[:9])


def _server_words(error: anthropic.APIStatusError) -> str:
    """The server's own words; gateways put there whatever they were told themselves."""
    said: object = error.api_message
    return str(said or "")


def _account_fault_meant(said: str) -> str:
    """The fault of the account that the server's own words tell of, if they do."""
    for words, word in SAID:
        if words.search(said[:300]):
            return word
    return ""


def failure_cause(error: BaseException) -> str:
    """Return what the network or the server did, in a few words without its own text; empty if unknown."""
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
    """Yield the error that stands behind all others first."""
    behind = error.__cause__
    if behind is not None:
        yield from _error_chain(behind)
    yield error


def retry_after_seconds(error: BaseException) -> float:
    """The seconds for which the server wants to be left alone; 0 if it names none."""
    if not isinstance(error, anthropic.APIStatusError):
        return 0.0
    asked = error.response.headers.get("retry-after", "")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", asked):
        return 0.0
    return float(asked)


def failure_detail(error: BaseException, secret: str) -> str:
    """What the log says about it, without the secret: the server's own words and request id."""
    if isinstance(error, anthropic.APIStatusError):
        said = _server_words(error).replace(secret, "…")[:300]
        return f"{error.status_code} {error.type} {error.request_id}: {said}"
    if isinstance(error, StreamBroken):
        return f"{error.kind}: {error}".replace(secret, "…")[:300].removeprefix(": ")
    if isinstance(error, StreamTimeout):
        return str(error)
    return recorded_name(error)
