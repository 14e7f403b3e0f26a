"""Delays after a wrong token, for its address only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import ClientResponse, ClientSession, CookieJar, TCPConnector

from daemon.console.access import FORGOTTEN, FREE_FAILURES, KNOWN, LONGEST_DELAY, WAITING, LoginRateLimit
from daemon.console.server import rate_limit_key
from tests.attention import until
from tests.clock import FakeClock
from tests.console.site import Site, console

TOKEN = "open sesame, and be quick"


async def guess(site: Site, token: str = "wrong", http: ClientSession | None = None) -> ClientResponse:
    answer = await (http or site.http).get(f"{site.url}/console/state", headers={"X-Console-Token": token})
    await answer.read()
    return answer


async def until_asleep(clock: FakeClock, count: int) -> None:
    await until(lambda: clock.sleepers >= count)


async def test_the_first_slips_are_free_and_then_each_one_waits_longer(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        for _ in range(FREE_FAILURES):
            assert (await guess(site)).status == 401
        for seconds in (1, 2, 4):
            held = asyncio.create_task(guess(site))
            await until_asleep(clock, 1)
            await clock.advance(seconds - 0.5)
            assert not held.done()
            await clock.advance(0.5)
            assert (await held).status == 401


async def test_many_at_once_are_told_when_to_come_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        for _ in range(FREE_FAILURES):
            await guess(site)
        held = [asyncio.create_task(guess(site)) for _ in range(WAITING)]
        await until_asleep(clock, WAITING)
        refused = await guess(site)
        assert refused.status == 429
        assert int(refused.headers["Retry-After"]) >= 2**WAITING
        assert "wrong tokens" in (await refused.json())["error"]
        await clock.advance(LONGEST_DELAY)
        assert [(await one).status for one in held] == [401] * WAITING


async def test_nobody_else_is_locked_out_and_the_right_one_is_always_let_in(tmp_path: Path) -> None:
    clock, elsewhere = FakeClock(), TCPConnector(local_addr=("127.0.0.2", 0))
    async with (
        console(tmp_path, token=TOKEN, clock=clock) as site,
        ClientSession(connector=elsewhere, cookie_jar=CookieJar(unsafe=True)) as other,
    ):
        for _ in range(FREE_FAILURES):
            await guess(site)
        held = [asyncio.create_task(guess(site)) for _ in range(WAITING + 1)]
        await until_asleep(clock, WAITING)
        assert (await guess(site, TOKEN)).status == 200
        assert (await guess(site, "wrong", other)).status == 401
        assert (await guess(site, TOKEN, other)).status == 200
        async with other.get(f"{site.url}/healthz") as health:
            assert health.status == 200
        async with other.get(f"{site.url}/console/state") as bare:
            assert bare.status == 401, "who shows no token guesses nothing"
        await clock.advance(LONGEST_DELAY)
        await asyncio.gather(*held)


async def test_it_forgets_and_remembers_a_bounded_number(tmp_path: Path) -> None:
    clock = FakeClock()
    brake = LoginRateLimit(clock)
    for _ in range(FREE_FAILURES):
        assert await brake.delay_wrong_token("a") == 0.0
    await clock.advance(FORGOTTEN)
    for n in range(KNOWN + 10):
        assert await brake.delay_wrong_token(f"address {n}") == 0.0
    assert len(brake._known) == KNOWN


@pytest.mark.parametrize(
    ("remote", "one"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        (None, ""),
    ],
)
def test_who_counts_as_one(remote: str | None, one: str) -> None:
    assert rate_limit_key(remote) == one


async def test_guesses_at_links_cost_time_too_and_a_right_one_is_let_in_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        for _ in range(FREE_FAILURES):
            assert await exchange(site, "wrong") == 401
        held = asyncio.create_task(exchange(site, "wrong"))
        await until_asleep(clock, 1)
        assert not held.done()
        assert await exchange(site, await site.credentials.make_link()) == 200
        assert await exchange(site, TOKEN) == 200
        await clock.advance(LONGEST_DELAY)
        assert await held == 401


async def exchange(site: Site, token: str) -> int:
    async with site.http.post(f"{site.url}/console/session", json={"token": token}) as answer:
        return answer.status
