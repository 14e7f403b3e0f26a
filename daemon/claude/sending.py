"""How a request reaches Claude: as the SDK sends it, but for what is the same each time.

The SDK makes URL, headers and timeouts anew for every request, which takes it longer than sending it. Here it
makes them once; what it made is sent with each body, over the connection that it was given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import aiohttp
import httpx2
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic

from daemon.claude.account import ANTHROPIC
from daemon.claude.server_look_up import ServerLookUp
from daemon.claude.streamed import StreamedAnswer

OF_THE_BODY = "content-length"
OF_THE_TRANSFER = frozenset({"content-length", "content-encoding", "transfer-encoding"})
MOST_OF_AN_ERROR = 100_000
"""Bytes that are read of a refusal: some servers send the whole prompt back, or never end."""


class RequestSender:
    """Implements ModelAPI for the Messages API: as this SDK client would, over the same HTTP client."""

    account = ANTHROPIC

    def __init__(self, sdk: AsyncAnthropic, http: httpx2.AsyncClient) -> None:
        self._sdk = sdk
        self._http = http
        self._form: httpx2.Request | None = None

    async def send(self, request: Mapping[str, Any]) -> httpx2.Response:
        """The answer, which has only begun: close it. Raises the SDK's errors."""
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
        """An empty answer."""
        return StreamedAnswer()

    async def get(self, path: str, within: float) -> httpx2.Response:
        """Return what the API says of this path."""
        return await self._sdk.get(f"/v1/{path}", cast_to=httpx2.Response, options={"timeout": within})

    def server_look_up(self) -> ServerLookUp:
        """Return what asks the server for more than this API does, with the same headers."""
        headers = {name: one for name, one in self._sdk.default_headers.items() if isinstance(one, str)}
        return ServerLookUp(self._http, str(self._sdk.base_url), headers)

    async def close(self) -> None:
        """Give the connections back."""
        await self._sdk.close()


async def request_form(sdk: AsyncAnthropic) -> httpx2.Request:
    """A request for a streamed answer as this client makes it, without what depends on the body."""
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
    """Return the response with no more of its body than is looked at."""
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
    """What the server says instead of an answer; words that are no JSON are kept as they are."""
    said = response.text.strip()
    body: object = said
    if said.startswith("{"):
        try:
            body = json.loads(said)
        except (ValueError, RecursionError):
            body = said
    return APIStatusError(said, response=response, body=body)
