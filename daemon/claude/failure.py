"""What went wrong in a model call, as one word for the journal. Called by client.py."""

from __future__ import annotations

import aiohttp
import anthropic
import httpx2

FAILURES = (anthropic.AnthropicError, httpx2.HTTPError, aiohttp.ClientError, TimeoutError, ValueError)
"""All that the SDK and its transports raise for what a network or a server can do; ValueError is for
answers that are not JSON."""

STATUS = {
    401: "unauthorized",
    402: "unauthorized",
    403: "unauthorized",
    429: "rate-limited",
    529: "overloaded",
}
STREAMED = {"overloaded_error": "overloaded", "rate_limit_error": "rate-limited", "api_error": "server-error"}


def failure(error: BaseException) -> str:
    """One of the words of Reply.failure. An error inside a stream arrives with status 200 and a type."""
    if isinstance(error, anthropic.APIConnectionError):
        return "unreachable"
    if not isinstance(error, anthropic.APIStatusError):
        return "broken-stream"
    if error.status_code == 200:
        return STREAMED.get(str(error.type), "broken-stream")
    usual = "server-error" if error.status_code >= 500 else "bad-request"
    return STATUS.get(error.status_code, usual)


def detail(error: BaseException) -> str:
    """What the log says about it: the kind, and the server's own words and request id."""
    if isinstance(error, anthropic.APIStatusError):
        said = (error.api_message or "")[:300]
        return f"{type(error).__name__} {error.status_code} {error.type} {error.request_id}: {said}"
    return type(error).__name__
