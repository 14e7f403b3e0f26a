"""A wrong token costs its address time, and nobody else; who shows the right one is let in at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import ClientResponse, ClientSession, CookieJar, TCPConnector

from daemon.console.address import whose
from daemon.console.brake import FORGOTTEN, FREE, KNOWN, LONGEST, WAITING, Brake
from tests.attention import until
from tests.clock import FakeClock
from tests.console.site import Site, console

TOKEN = "open sesame, and be quick"
FORM = {"Accept": "text/html,application/xhtml+xml"}


async def guess(site: Site, token: str = "wrong", http: ClientSession | None = None) -> ClientResponse:
    """A program shows this token."""
    answer = await (http or site.http).get(f"{site.url}/console/state", headers={"X-Console-Token": token})
    await answer.read()
    return answer


async def until_asleep(clock: FakeClock, count: int) -> None:
    await until(lambda: clock.sleepers >= count)


async def test_the_first_slips_are_free_and_then_each_one_waits_longer(tmp_path: Path) -> None:
    clock = FakeClock()
    async with console(tmp_path, token=TOKEN, clock=clock) as site:
        for _ in range(FREE):
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
        for _ in range(FREE):
            await guess(site)
        held = [asyncio.create_task(guess(site)) for _ in range(WAITING)]
        await until_asleep(clock, WAITING)
        refused = await guess(site)
        assert refused.status == 429
        assert int(refused.headers["Retry-After"]) >= 2**WAITING
        assert "wrong tokens" in (await refused.json())["error"]
        await clock.advance(LONGEST)
        assert [(await one).status for one in held] == [401] * WAITING


async def test_nobody_else_is_locked_out_and_the_right_one_is_always_let_in(tmp_path: Path) -> None:
    clock, elsewhere = FakeClock(), TCPConnector(local_addr=("127.0.0.2", 0))
    async with (
        console(tmp_path, token=TOKEN, clock=clock) as site,
        ClientSession(connector=elsewhere, cookie_jar=CookieJar(unsafe=True)) as other,
    ):
        for _ in range(FREE):
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
        await clock.advance(LONGEST)
        await asyncio.gather(*held)


async def test_an_old_cookie_is_taken_away(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        cookie = {"Cookie": "console_token=of-yesterday"}
        async with site.http.get(f"{site.url}/", headers=FORM | cookie) as answer:
            assert answer.status == 401
            assert 'console_token=""; expires=' in answer.headers["Set-Cookie"]
            assert "not the token" in await answer.text()


async def test_it_forgets_and_remembers_a_bounded_number(tmp_path: Path) -> None:
    clock = FakeClock()
    brake = Brake(clock)
    for _ in range(FREE):
        assert await brake.wrong("a") == 0.0
    await clock.advance(FORGOTTEN)
    for n in range(KNOWN + 10):
        assert await brake.wrong(f"address {n}") == 0.0
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
    assert whose(remote) == one


async def test_a_person_is_asked_by_a_form_which_lets_in(tmp_path: Path) -> None:
    async with console(tmp_path, token=TOKEN) as site:
        async with site.http.get(f"{site.url}/", headers=FORM) as asked:
            page = await asked.text()
            assert (asked.status, asked.content_type) == (401, "text/html")
            assert '<label for="token">' in page
            assert 'role="alert"' not in page
        for part in ("base.css", "token.css", "icon.svg"):
            async with site.http.get(f"{site.url}/static/{part}") as dress:
                assert dress.status == 200
        own = FORM | {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}
        for written in ({"token": "wrong"}, {"token": f"{TOKEN}!"}):
            async with site.http.post(f"{site.url}/", data=written, headers=own) as wrong:
                assert wrong.status == 401
                assert 'role="alert"' in await wrong.text()
        async with site.http.post(f"{site.url}/", headers=own) as empty:
            assert empty.status == 401
        foreign = FORM | {"Origin": "https://evil.example"}
        async with site.http.post(f"{site.url}/", data={"token": TOKEN}, headers=foreign) as refused:
            assert refused.status == 403
        right = {"token": f" {TOKEN} "}
        async with site.http.post(f"{site.url}/", data=right, headers=own, allow_redirects=False) as let_in:
            assert (let_in.status, let_in.headers["Location"]) == (303, "/")
        async with site.http.get(f"{site.url}/console/state") as state:
            assert state.status == 200


async def test_a_form_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    async with (
        console(tmp_path, token=TOKEN) as site,
        site.http.post(f"{site.url}/", data={"token": "x" * 100_000}, headers=FORM) as answer,
    ):
        assert answer.status == 401
