"""Addresses that others name: spellings, private networks, the owner's own origins."""

from __future__ import annotations

import socket

import pytest

from daemon.web.address_policy import AddressPolicy, AddressRefused, is_public_ip, parse_address

OWN = "http://127.0.0.1:8080/mcp"

SAME_MACHINE = [
    *("http://127.0.0.1/", "http://127.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://2130706433/"),
    *("http://0x7f000001/", "http://127.0.0.1./", "http://0/", "http://[::1]/", "http://[::]/"),
    *(
        "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://localhost/",
    ),
    *("http://LOCALHOST./", "http://ⓛocalhost/", "http://a.localhost/", "http://[::ffff:127.0.0.1]/"),
]
SAME_NETWORK = [
    *("http://10.0.0.1/", "http://172.31.255.1/", "http://192.168.1.1/", "http://100.64.0.1/"),
    *("http://169.254.169.254/latest/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/"),
    *("http://224.0.0.1/", "http://255.255.255.255/", "http://[ff02::1]/", "http://240.0.0.1/"),
    *("http://printer.local/", "http://metadata.google.internal/", "http://router.home.arpa/"),
]
EMBEDDED = [
    *("http://[::ffff:8.8.8.8]/", "http://[64:ff9b::808:808]/", "http://[2002:808:808::1]/"),
    *("http://[2001:0:808:808::1]/", "http://[::8.8.8.8]/", "http://[2606:4700::5efe:808:808]/"),
]
MALFORMED = [
    *("https://a@b.example/", "https://a:b@b.example/", "https://good.example\\@evil.example/"),
    *("https://good.example%2f@evil.example/", "https://ex\tample.com/", "https://exam ple.com/"),
    *("https://a%2eb/", "https://a..b/", "https:///x", "https://", "//example.com/", "example.com", ""),
    *("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://example.com/"),
    *("https://example.com:99999/", "https://09.1.1.1/", "https://1.2.3.4.5/", "https://256.1.1.1/"),
    *("https://0x/x", "https://[::1/", "https://[v1.x]/", "https://2001:db8::1/", "https://-a.example/"),
    f"https://example.com/{'a' * 5_000}",
    f"https://{'a.' * 200}example/",
]


@pytest.mark.parametrize("url", SAME_MACHINE + SAME_NETWORK + EMBEDDED + MALFORMED)
def test_an_address_that_is_not_public_is_refused_in_any_spelling(url: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        AddressPolicy([OWN]).check(url)
    assert "a:b@" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com.:443/A?b=c#d", "https://example.com/A?b=c"),
        ("https://Exämple.com/ä", "https://xn--exmple-cua.com/ä"),
        ("https://example.com?q=1", "https://example.com/?q=1"),
        ("http://8.8.8.8:80/", "http://8.8.8.8/"),
        ("http://0x08.8.2056/", "http://8.8.8.8/"),
        ("https://[2606:4700:0::1111]:8443/", "https://[2606:4700::1111]:8443/"),
    ],
)
def test_a_public_address_gets_its_one_spelling(url: str, read: str) -> None:
    assert AddressPolicy().check(url).url == read


def test_the_origin_of_the_owner_is_allowed_and_no_other_port_or_scheme() -> None:
    policy = AddressPolicy([OWN])
    assert policy.check("http://127.1:8080/other").url == "http://127.0.0.1:8080/other"
    for other in ("http://127.0.0.1/", "http://127.0.0.1:8081/", "https://127.0.0.1:8080/"):
        with pytest.raises(AddressRefused):
            policy.check(other)


def test_plain_http_needs_the_origin_of_the_owner_if_only_https_is_allowed() -> None:
    policy = AddressPolicy(["http://mcp.example/mcp"], https_only=True)
    assert policy.check("http://mcp.example/x").host == "mcp.example"
    assert policy.check("https://other.example/x").host == "other.example"
    with pytest.raises(AddressRefused, match="https"):
        policy.check("http://other.example/x")


def test_numbers_are_read_as_the_system_reads_them() -> None:
    for host in ("127.1", "0x7f.1", "0177.0.0.1", "2130706433", "1.2.3", "1.0x20003", "017700000001"):
        assert parse_address(f"http://{host}/").host == socket.inet_ntoa(socket.inet_aton(host))


def test_blocks_for_documentation_tests_and_the_future_are_not_public() -> None:
    for text in ("0.1.2.3", "192.0.0.8", "192.0.2.1", "198.18.0.1", "203.0.113.9", "2001:db8::1", "5f00::1"):
        assert not is_public_ip(text)
    for text in ("1.1.1.1", "9.255.255.255", "172.32.0.1", "2606:4700::1", "2a00:1450::1"):
        assert is_public_ip(text)
    assert not is_public_ip("no address")
