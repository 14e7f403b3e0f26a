"""Resolution of names of machines, and the judgement of addresses by it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

from daemon.web.address_policy import AddressPolicy, AddressRefused, WebAddress

RESOLVE_SECONDS = 5.0
"""Seconds that the resolution of a name may take."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Function from host and port to IP addresses; raises OSError."""


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a host, as the system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


async def check_resolved(policy: AddressPolicy, url: str, resolve: Resolve = resolve_host) -> WebAddress:
    """Return an address that others open, such as a link for a person, judged by its name's addresses, too.

    Raises AddressRefused, also if the name cannot be resolved.
    """
    address = policy.check(url)
    if not policy.is_own(address.origin):
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await resolve(address.host, address.origin.port)
        except OSError:
            raise AddressRefused(f"{address.host} cannot be resolved") from None
        policy.public_ips(address.host, found)
    return address
