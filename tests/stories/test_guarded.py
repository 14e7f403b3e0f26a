"""The whole daemon behind its guard: open to others with a token, or under another loopback address."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, CookieJar

from tests.soak import SOAK
from tests.stories.process import Daemon, ended, running, start, visit
from tests.stories.stage import PATIENCE

TOKEN = "open sesame, and be quick"
SHOWN = {"X-Console-Token": TOKEN}
ASKED = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
ROUTES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("GET", "/console/state", {}),
    ("GET", "/console/inner", {}),
    ("GET", "/rehearsal/state", {}),
    ("POST", "/api/auth.test", {"headers": {"Authorization": "Bearer xoxp-alice"}}),
    ("POST", "/v1/messages", {"headers": {"X-Api-Key": "any"}, "json": ASKED}),
)


async def test_open_to_others_everything_but_its_health_asks_for_the_token(tmp_path: Path) -> None:
    async with open_daemon(tmp_path) as (_, url), ClientSession() as session:
        async with session.get(f"{url}/healthz") as health:
            assert (health.status, (await health.json())["ok"]) == (200, True)
        for method, path, sent in ROUTES:
            async with session.request(method, url + path, **sent) as refused:
                assert refused.status == 401, path
                assert "CONSOLE_TOKEN" in (await refused.json())["error"]
            shown = sent | {"headers": sent.get("headers", {}) | SHOWN}
            async with session.request(method, url + path, **shown) as answer:
                assert answer.status == 200, path


@SOAK
async def test_its_own_requests_pass_its_own_guard(tmp_path: Path) -> None:
    async with open_daemon(tmp_path) as (_, url), visit(url, SHOWN) as alice, asyncio.timeout(PATIENCE):
        ts = await alice.say("Hello")
        while not any("rehearsal script" in said["text"] for said in await alice.answers(ts)):
            pass


async def test_a_browser_gets_in_with_the_token_in_the_address(tmp_path: Path) -> None:
    jar = CookieJar(unsafe=True)  # also of a host that is a number
    async with open_daemon(tmp_path) as (_, url), ClientSession(cookie_jar=jar) as session:
        async with session.get(f"{url}/", params={"token": TOKEN}) as page:
            assert (page.status, str(page.url)) == (200, f"{url}/")
        async with session.get(f"{url}/console/state") as state:
            assert state.status == 200


async def test_without_a_token_it_does_not_open_to_others(tmp_path: Path) -> None:
    status, said = await ended(await start(tmp_path, HOST="0.0.0.0"))
    assert status == 78
    assert "CONSOLE_TOKEN is missing" in said


async def test_a_token_that_others_could_guess_does_not_start(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "127.0.0.1"):
        status, said = await ended(await start(tmp_path, HOST=host, CONSOLE_TOKEN="x" * 19))
        assert status == 78
        assert "CONSOLE_TOKEN is shorter than 20 characters" in said
        assert "secrets.token_urlsafe(32)" in said


async def test_under_another_loopback_address_a_foreign_host_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, HOST="127.0.0.2") as (_, url), ClientSession() as session:
        assert url.startswith("http://127.0.0.2:")
        async with session.get(f"{url}/console/state") as own:
            assert own.status == 200
        async with session.get(f"{url}/console/state", headers={"Host": "evil.example"}) as foreign:
            assert foreign.status == 403


def open_daemon(home: Path) -> AbstractAsyncContextManager[tuple[Daemon, str]]:
    """A daemon that others can reach, if they know the token."""
    return running(home, HOST="0.0.0.0", CONSOLE_TOKEN=TOKEN)
