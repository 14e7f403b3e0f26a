"""HTTP client of one MCP server.

Headers of the owner and access tokens go to the configured origin alone; all other addresses come from the
server and are judged. A failed request becomes a JSON-RPC error with a sentence, so that one failure ends one
call and not the connection. Responses are bounded while they are read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from time import time
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from daemon.settings.mcp_servers import ToolServerSettings
from daemon.settings.private_files import PrivateFiles
from daemon.tools.authorization import ServerAuthorization
from daemon.tools.http_faults import (
    HttpFault,
    RequestFault,
    ResponseCutOff,
    fault_of_error,
    fault_of_status,
    unclear,
)
from daemon.tools.server_output import MOST_VALUES, EventValueCounter, ValueCounter
from daemon.tools.token_store import TokenStore
from daemon.web.address_policy import AddressPolicy, AddressRefused, WebAddress, parse_address
from daemon.web.guarded_transport import PolicyTransport
from daemon.web.name_resolution import Resolve, resolve_host

MOST_RESPONSE_BYTES = 10 * 1024 * 1024

CONNECT_SECONDS = 10.0
SEND_SECONDS = 30.0
READ_MARGIN_SECONDS = 30.0
"""Seconds that a response may be silent beyond the limit of a call, which then ends first."""

OTHER_TIMEOUT = httpx2.Timeout(SEND_SECONDS, connect=CONNECT_SECONDS)
"""Limits for requests that name none, as those of OAuth."""

METHOD_HEADER, LISTEN = "mcp-method", "subscriptions/listen"
"""Header with the method of a request, and the one that opens a stream of notices in the newer era."""

END_TIMEOUT = httpx2.Timeout(2.0)
"""Limit for the end of a session."""

EVENT_STREAM = "text/event-stream"
USER_AGENT = "soul-daemon"
BEARER = "bearer "


class BoundedStream(httpx2.AsyncByteStream):
    """Body of a response, cut off if it is too large, with a broken connection told in a sentence.

    `most` bounds its bytes; each event of a stream, or a whole body, has a bounded number of values.
    """

    def __init__(self, server: str, inner: httpx2.AsyncByteStream, most: int, values: ValueCounter) -> None:
        self._server = server
        self._inner = inner
        self._most = most
        self._values = values

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        try:
            async for part in self._inner:
                read += len(part)
                self._values.feed(part)
                if read > self._most or self._values.count > MOST_VALUES:
                    raise ResponseCutOff(too_long(self._server, self._most))
                yield part
        except httpx2.TransportError as error:
            raise ResponseCutOff(fault_of_error(self._server, self._server, error).sentence) from error

    async def aclose(self) -> None:
        await self._inner.aclose()


def too_long(server: str, most: int) -> str:
    return f"The answer of {server} was cut off: it is longer than {most // 1024 // 1024} MB. Ask for less."


class ServerTransport(httpx2.AsyncBaseTransport):
    """Transport of one server: adds the owner's headers at its origin alone, and bounds responses."""

    def __init__(
        self,
        settings: ToolServerSettings,
        policy: AddressPolicy,
        *,
        resolve: Resolve = resolve_host,
        most: int = MOST_RESPONSE_BYTES,
    ) -> None:
        self._server = settings.name
        self._origin = parse_address(settings.url).origin
        self._headers = httpx2.Headers(dict(settings.headers))
        self._most = most
        own = httpx2.AsyncHTTPTransport(proxy=environment_proxy(parse_address(settings.url)))
        self._inner = PolicyTransport(policy, own=own, resolve=resolve)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = self._for_the_wire(request)
        response = await self._inner.handle_async_request(sent)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity") != "identity":
            # packed bytes could unpack to any size
            await response.aclose()
            raise RequestFault(unclear(f"{self._server} sends packed answers, which were not asked for."))
        most, values = self._most, ValueCounter()
        if _is_event_stream(response):  # it has no end; its single events are bounded
            most, values = 2**62, EventValueCounter()
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=BoundedStream(self._server, response.stream, most, values),
            extensions=response.extensions,
        )

    def _for_the_wire(self, request: httpx2.Request) -> httpx2.Request:
        """Return a copy with the owner's headers, or without a token for another origin.

        A redirect copies the headers of its request, so they must not stand in the original.
        """
        headers = httpx2.Headers(request.headers)
        headers["accept-encoding"] = "identity"
        if parse_address(str(request.url.copy_with(userinfo=b""))).origin == self._origin:
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        elif headers.get("authorization", "").lower().startswith(BEARER):
            del headers["authorization"]
        return httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream,
            extensions={"timeout": OTHER_TIMEOUT.as_dict(), **request.extensions},
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def environment_proxy(address: WebAddress) -> str | None:
    """Return the proxy that the owner's environment names for an address."""
    if proxy_bypass(f"{address.host}:{address.origin.port}"):
        return None
    proxies = getproxies()
    return proxies.get(address.origin.scheme) or proxies.get("all")


class ServerHttpClient(httpx2.AsyncClient):
    """HTTP client of a server; a request that fails is answered by a JSON-RPC error with a sentence."""

    def __init__(
        self, settings: ToolServerSettings, transport: ServerTransport, auth: httpx2.Auth | None = None
    ) -> None:
        super().__init__(
            transport=transport,
            auth=auth,
            timeout=client_timeout(settings.timeout),
            headers={"user-agent": USER_AGENT},
            follow_redirects=False,
            trust_env=False,
        )
        self._server = settings.name
        self._host = parse_address(settings.url).host

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if request.method == "GET" or request.headers.get(METHOD_HEADER) == LISTEN:
            # a stream of notices may be silent for days
            request.extensions["timeout"] = {**request.extensions.get("timeout", {}), "read": None}
        if request.method == "DELETE":  # the end of a session, which nobody waits for long
            request.extensions["timeout"] = END_TIMEOUT.as_dict()
        try:
            response = await super().send(request, **options)
        except (
            httpx2.TransportError,
            httpx2.InvalidURL,
            ResponseCutOff,
            AddressRefused,
            RequestFault,
        ) as error:
            return fault_response(request, 502, fault_of_error(self._server, self._host, error))
        fault = fault_of_status(self._server, response)
        if fault is None or await _has_own_error(response):
            return await self._whole(request, response)
        await response.aclose()
        return fault_response(request, max(response.status_code, 400), fault)

    async def _whole(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Read an answer in JSON to its end: the SDK takes one that it cannot read for a refusal."""
        if not _is_json(response) or not response.is_success:
            return response
        try:
            jsonrpc_message_adapter.validate_json(await response.aread(), by_name=False)
        except ResponseCutOff as error:
            return fault_response(request, 502, unclear(str(error)))
        except ValidationError:
            fault = unclear(f"{self._server} was asked, and its answer cannot be read.")
            return fault_response(request, 502, fault)
        return response


def _is_event_stream(response: httpx2.Response) -> bool:
    said = response.headers.get("content-type", "").lower()
    return response.is_success and said.startswith(EVENT_STREAM)


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def client_timeout(call_seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(SEND_SECONDS, connect=CONNECT_SECONDS, read=call_seconds + READ_MARGIN_SECONDS)


def fault_response(request: httpx2.Request, status: int, fault: HttpFault) -> httpx2.Response:
    error = {"code": int(fault.code), "message": fault.sentence}
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return httpx2.Response(status, json=body, request=request)


async def _has_own_error(response: httpx2.Response) -> bool:
    """True if the body is a JSON-RPC error. A 401 is about credentials, whatever it says."""
    if response.status_code == 401 or response.is_redirect or not _is_json(response):
        return False
    try:
        said = json.loads(await response.aread())
    except (ValueError, RecursionError, httpx2.StreamError):
        return False
    return isinstance(said, Mapping) and said.get("jsonrpc") == "2.0" and "error" in said


def policy_for(settings: ToolServerSettings) -> AddressPolicy:
    """Return the policy for a server: its origin and that of the issuer are the owner's."""
    return AddressPolicy([settings.url, settings.oauth.issuer], https_only=True)


def has_own_token(settings: ToolServerSettings) -> bool:
    """True if the owner's headers authorize requests, so that no OAuth is needed."""
    return any(name.lower() == "authorization" for name in settings.headers)


def http_client_for(
    settings: ToolServerSettings,
    files: PrivateFiles,
    *,
    now: Callable[[], float] = time,
    resolve: Resolve = resolve_host,
) -> httpx2.AsyncClient:
    """Return the HTTP client of a server, to be used in `async with`.

    `files` keep its OAuth tokens; `now` returns Unix seconds. Raises AddressRefused for an impossible `url`.
    """
    transport = ServerTransport(settings, policy_for(settings), resolve=resolve)
    auth = None
    if not has_own_token(settings):
        store = TokenStore(files, settings.name, settings.url)
        auth = ServerAuthorization(settings, store, transport, now)
    return ServerHttpClient(settings, transport, auth)
