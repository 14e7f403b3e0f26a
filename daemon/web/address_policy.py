"""Policy for addresses that others name: servers, pages, models.

An address that the owner wrote may lead anywhere. Any other is public, unless it has exactly the origin of
one that the owner wrote. A name is judged by its spelling and, once resolved, by each address that it has.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple
from urllib.parse import urlsplit

import idna

USUAL_PORTS = {"http": 80, "https": 443}

LONGEST_ADDRESS = 4_096

LONGEST_NAME = 253
"""Most characters of a host name, of RFC 1035."""

FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
"""Characters that parsers of addresses read in different ways."""

NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.(?!-)[a-z0-9_-]{1,63})*")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
"""Part of an IPv4 address as C libraries read it: decimal, octal or hexadecimal."""

LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "lan", "home.arpa", "onion")
"""Last labels of names that lead into the own network (RFC 6761, 6762, 8375, 7686)."""

LOCAL_V4 = [
    IPv4Network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
]
"""IPv4 blocks that are no public unicast addresses (RFC 6890)."""

GLOBAL_V6 = IPv6Network("2000::/3")
"""Global unicast addresses. Blocks that embed IPv4 (mapped, NAT64), local ones and multicast are outside."""

LOCAL_V6 = [IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
"""Blocks within the global unicast ones that are not public: Teredo, documentation, 6to4."""

ISATAP = {0x0000_5EFE, 0x0200_5EFE}
"""Upper half of an interface identifier that embeds an IPv4 address (RFC 5214)."""


class AddressRefused(ValueError):
    """An address that may not be used; the text says why, with the host alone."""

    recorded_name = "AddressRefused"


class WebOrigin(NamedTuple):
    """Scheme, host in its one spelling, and port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == USUAL_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """A parsed address; `url` names the host in its one spelling and has no fragment."""

    origin: WebOrigin
    url: str

    @property
    def host(self) -> str:
        return self.origin.host


def parse_address(url: str) -> WebAddress:
    """Parse an absolute http or https address. Raises AddressRefused."""
    if len(url) > LONGEST_ADDRESS or FORBIDDEN.search(url):
        raise AddressRefused("the address is too long, or holds spaces, backslashes or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("it is no address of the web") from None
    if parts.scheme not in USUAL_PORTS:
        raise AddressRefused("the address begins neither with https:// nor with http://")
    if "@" in parts.netloc:
        raise AddressRefused("the address holds a user name or a password")
    if "[" in parts.netloc and ":" not in (parts.hostname or ""):  # an address of a future version
        raise AddressRefused("the host is no IPv6 address")
    host = canonical_host(parts.hostname or "")
    origin = WebOrigin(parts.scheme, host, USUAL_PORTS[parts.scheme] if port is None else port)
    rest = parts._replace(scheme="", netloc="", fragment="").geturl()
    return WebAddress(origin=origin, url=f"{origin}{rest if rest.startswith('/') else f'/{rest}'}")


def canonical_host(host: str) -> str:
    """Return the one spelling of a host: an IP address, or a name in ASCII. Raises AddressRefused."""
    if ":" in host:
        try:
            return str(IPv6Address(host))
        except ValueError:
            raise AddressRefused("the host is no IPv6 address") from None
    name = _ascii_name(host).removesuffix(".")
    if NUMBER.fullmatch(name.rpartition(".")[2]):
        return str(_ipv4(name))
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise AddressRefused("the host is no name of a machine")
    return name


def _ascii_name(host: str) -> str:
    if host.isascii():
        return host.lower()
    try:
        return idna.encode(host, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        raise AddressRefused("the host is no name of a machine") from None


def _ipv4(name: str) -> IPv4Address:
    """Read an IPv4 address as inet_aton does: up to four numbers, the last one fills the rest."""
    parts = name.split(".")
    if len(parts) > 4 or not all(NUMBER.fullmatch(part) for part in parts):
        raise AddressRefused("the host is no IPv4 address")
    *firsts, last = (_number(part) for part in parts)
    if any(first > 255 for first in firsts) or last >= 256 ** (4 - len(firsts)):
        raise AddressRefused("the host is no IPv4 address")
    return IPv4Address(sum(first << (24 - 8 * at) for at, first in enumerate(firsts)) + last)


def _number(part: str) -> int:
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:
        raise AddressRefused("the host is no IPv4 address") from None


def is_public_ip(text: str) -> bool:
    """True for a unicast address of the public internet that embeds no other address."""
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in block for block in LOCAL_V4)
    if ip.scope_id or int(ip) >> 32 & 0xFFFF_FFFF in ISATAP:
        return False
    return ip in GLOBAL_V6 and not any(ip in block for block in LOCAL_V6)


def is_local_name(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in LOCAL_NAMES)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class AddressPolicy:
    """Addresses that may be used: public ones, and the origins of those that the owner wrote.

    With `https_only`, plain http needs an origin of the owner.
    """

    def __init__(self, own: Iterable[str] = (), *, https_only: bool = False) -> None:
        self.own = frozenset(parse_address(url).origin for url in own if url)
        self._https_only = https_only

    def is_own(self, origin: WebOrigin) -> bool:
        return origin in self.own

    def check(self, url: str) -> WebAddress:
        """Return the address if its spelling may be used; its name is not resolved. Raises AddressRefused."""
        address = parse_address(url)
        if self.is_own(address.origin):
            return address
        if self._https_only and address.origin.scheme != "https":
            raise AddressRefused(f"{address.host} is named with http:// instead of https://")
        self.check_host(address.host)
        return address

    def check_host(self, host: str) -> None:
        """Raise AddressRefused for a host of the own network."""
        if is_local_name(host) or (_is_ip(host) and not is_public_ip(host)):
            raise AddressRefused(f"{host} is no public address")

    def public_ips(self, host: str, found: Iterable[str]) -> list[str]:
        """Return the public ones of the addresses that a name has. Raises AddressRefused if there is none."""
        public = [ip for ip in found if is_public_ip(ip)]
        if not public:
            raise AddressRefused(f"{host} leads into a private network")
        return public
