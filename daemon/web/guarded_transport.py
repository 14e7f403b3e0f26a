"""Connections to foreign addresses: the name is resolved, judged and connected to in one step.

A name that is resolved twice can be public the first time and private the second. So a connection goes to the
very IP address that was judged, and TLS still checks the certificate of the name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from daemon.web.address_policy import AddressPolicy, canonical_host
from daemon.web.name_resolution import Resolve, resolve_host


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects to public addresses alone."""

    def __init__(self, policy: AddressPolicy, resolve: Resolve = resolve_host) -> None:
        self._policy = policy
        self._resolve = resolve
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - named by httpcore2
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first public address that answers. Raises AddressRefused, ConnectError."""
        name = canonical_host(host)
        try:
            async with asyncio.timeout(timeout):
                ips = self._policy.public_ips(name, await self._resolve(name, port))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"{name} was not resolved in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(f"{name} cannot be resolved") from error
        for ip in ips[:-1]:
            try:
                return await self._inner.connect_tcp(ip, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(ips[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ForeignTransport(httpx2.AsyncHTTPTransport):
    """Transport for addresses that others name. It uses no proxy."""

    def __init__(self, policy: AddressPolicy, resolve: Resolve = resolve_host) -> None:
        context = httpx2.create_ssl_context()
        super().__init__(verify=context)
        # httpx2 hands no network backend on, so its pool is replaced by one that has ours
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context, network_backend=GuardedBackend(policy, resolve)
        )


class PolicyTransport(httpx2.AsyncBaseTransport):
    """Transport that judges each request, redirects included, by a policy.

    `own` carries requests to the owner's origins.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        own: httpx2.AsyncBaseTransport | None = None,
        resolve: Resolve = resolve_host,
    ) -> None:
        self.policy = policy
        self._own = own or httpx2.AsyncHTTPTransport()
        self._resolve = resolve
        self._foreign: ForeignTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises AddressRefused."""
        address = self.policy.check(str(request.url.copy_with(userinfo=b"", fragment=None)))
        if self.policy.is_own(address.origin):
            return await self._own.handle_async_request(request)
        if self._foreign is None:
            self._foreign = ForeignTransport(self.policy, self._resolve)
        return await self._foreign.handle_async_request(request)

    async def aclose(self) -> None:
        await self._own.aclose()
        if self._foreign is not None:
            await self._foreign.aclose()
