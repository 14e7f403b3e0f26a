"""Connections to foreign addresses: judged after resolution, connected to as judged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest

from daemon.web.address_policy import AddressPolicy, AddressRefused
from daemon.web.guarded_transport import PolicyTransport
from daemon.web.name_resolution import check_resolved
from tests.web.loopback import Loopback, serve_loopback


@pytest.fixture
async def place() -> AsyncIterator[Loopback]:
    async with serve_loopback() as place:
        yield place


class ListedNames:
    """Resolver that knows some names, with one answer after the other."""

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self.names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def client(policy: AddressPolicy, names: ListedNames) -> httpx2.AsyncClient:
    transport = PolicyTransport(policy, own=httpx2.AsyncHTTPTransport(), resolve=names)
    return httpx2.AsyncClient(transport=transport, follow_redirects=True, trust_env=False)


async def test_a_name_that_leads_to_this_machine_is_refused_after_resolution(place: Loopback) -> None:
    names = ListedNames(evil_example=[["127.0.0.1"]])
    async with client(AddressPolicy(), names) as http:
        with pytest.raises(AddressRefused, match=r"evil\.example leads into a private network"):
            await http.get(f"http://evil.example:{place.port}/")
    assert names.asked == ["evil.example"]
    assert not place.requests


async def test_a_name_is_resolved_once_so_that_no_second_answer_can_be_private(place: Loopback) -> None:
    names = ListedNames(rebind_example=[["192.0.2.1", "10.0.0.7"], ["127.0.0.1"]])
    async with client(AddressPolicy(), names) as http:
        with pytest.raises(AddressRefused):
            await http.get(f"http://rebind.example:{place.port}/")
    assert names.asked == ["rebind.example"]
    assert not place.requests


async def test_a_redirect_of_the_owner_s_server_into_the_network_is_refused(place: Loopback) -> None:
    place.redirects["/moved"] = f"http://localhost:{place.port}/secret"
    async with client(AddressPolicy([place.url]), ListedNames(localhost=[["127.0.0.1"]])) as http:
        with pytest.raises(AddressRefused, match="localhost is no public address"):
            await http.get(f"{place.url}/moved")
    assert place.requests == ["/moved"]


async def test_a_redirect_within_the_owner_s_origin_is_followed(place: Loopback) -> None:
    place.redirects["/moved"] = "/here"
    async with client(AddressPolicy([place.url]), ListedNames()) as http:
        answer = await http.get(f"{place.url}/moved")
    assert (answer.status_code, place.requests) == (200, ["/moved", "/here"])


async def test_a_link_is_judged_by_the_addresses_of_its_name(place: Loopback) -> None:
    names = ListedNames(inside_example=[["10.0.0.1"]], outside_example=[["10.0.0.1", "1.1.1.1"]])
    policy = AddressPolicy([place.url])
    with pytest.raises(AddressRefused, match="private network"):
        await check_resolved(policy, "https://inside.example/", names)
    assert (await check_resolved(policy, "https://outside.example/a#b", names)).url.endswith(".example/a")
    assert (await check_resolved(policy, f"{place.url}/x", names)).origin.port == place.port


async def test_the_system_s_own_names_are_judged_too(place: Loopback) -> None:
    transport = PolicyTransport(AddressPolicy())
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
        for url in (f"http://localhost:{place.port}/", f"http://127.0.0.1.:{place.port}/"):
            with pytest.raises(AddressRefused):
                await http.get(url)
    assert not place.requests
