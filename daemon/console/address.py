"""Who counts as one where connections and wrong tokens are counted. For the guard and the crowd."""

from __future__ import annotations

import ipaddress

SITE = 64
"""Bits that name a network of IPv6; whoever has one address of it has them all."""


def rate_limit_key(remote: str | None) -> str:
    """What stands for everybody behind this address; empty where there is none."""
    try:
        address = ipaddress.ip_address((remote or "").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, SITE), strict=False))
