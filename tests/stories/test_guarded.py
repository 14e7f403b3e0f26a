"""Daemon behind its guard at each kind of address."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from daemon.settings.token_file import read_token
from tests.soak import SOAK
from tests.stories.process import Daemon, address_in, ended, ready, running, start, visit
from tests.stories.stage import PATIENCE

TOKEN = "open sesame, and be quick"
SHOWN = {"X-Console-Token": TOKEN}
ASKED = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
Route = tuple[str, str, dict[str, Any]]
CONSOLE: tuple[Route, ...] = (
    ("GET", "/console/state", {}),
    ("GET", "/console/threads", {}),
    ("GET", "/console/entries", {}),
    ("GET", "/console/inner", {}),
    ("GET", "/metrics", {}),
)
WORLD: tuple[Route, ...] = (
    ("GET", "/rehearsal/state", {}),
    ("POST", "/api/auth.test", {"headers": {"Authorization": "Bearer xoxp-alice"}}),
    ("POST", "/v1/messages", {"headers": {"X-Api-Key": "any"}, "json": ASKED}),
)


async def statuses(url: str, routes: tuple[Route, ...], shown: dict[str, str]) -> set[int]:
    found = set()
    async with ClientSession() as session:
        for method, path, sent in routes:
            headers = sent.get("headers", {}) | shown
            async with session.request(method, url + path, **sent | {"headers": headers}) as answer:
                found.add(answer.status)
                if answer.status == 401:
                    assert "CONSOLE_TOKEN" in (await answer.json())["error"]
    return found


async def session_of(url: str, token: str) -> dict[str, str]:
    async with (
        ClientSession() as session,
        session.post(f"{url}/console/session", json={"token": token}) as answer,
    ):
        told = await answer.json()
        return {"X-Console-Token": told["session"]} if told["ok"] else {}


def kept_in(home: Path) -> str:
    files = [path for path in home.rglob("*") if path.is_file()]
    return "".join(path.name + path.read_bytes().decode(errors="replace") for path in files)


async def printed(process: Daemon) -> tuple[int, str, str]:
    assert process.stdout
    said = (await process.stdout.read()).decode()
    status, complaint = await ended(process)
    return status, said, complaint


async def test_on_loopback_other_accounts_read_nothing_of_the_soul_and_the_world_is_theirs(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as (_, url):
        assert await statuses(url, CONSOLE, {}) == {401}
        assert await statuses(url, CONSOLE, {"X-Console-Token": "wrong"}) == {401}
        assert await statuses(url, WORLD, {}) == {200}
        assert await statuses(url, CONSOLE, {"X-Console-Token": read_token(tmp_path)}) == {200}
        file = tmp_path / "console-token"
        assert file.stat().st_mode & 0o777 == 0o600


async def test_a_start_prints_a_link_that_opens_one_session_and_its_token_stands_nowhere_else(
    tmp_path: Path,
) -> None:
    process = await start(tmp_path, LOG_FORMAT="json", LOG_LEVEL="debug")
    lines = await ready(process)
    url, link = address_in(lines), lines[-1].rpartition("/?token=")[2]
    shown = await session_of(url, link)
    assert await statuses(url, CONSOLE, shown) == {200}
    assert await session_of(url, link) == {}
    process.terminate()
    status, said = await ended(process)
    assert status == 0
    secrets = (link, shown["X-Console-Token"], read_token(tmp_path))
    assert not any(secret in said or secret in "".join(lines[:-1]) for secret in secrets)
    assert not any(secret in kept_in(tmp_path) for secret in secrets[:2])


async def test_the_command_prints_a_new_link_to_the_daemon_that_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, url):
        links = [await printed(await start(tmp_path, "link")) for _ in range(2)]
        for status, said, complaint in links:
            assert (status, complaint) == (0, "")
            assert said.startswith(f"{url}/?token=")
            assert await session_of(url, said.strip().rpartition("=")[2])
        assert links[0] != links[1]
        told = await printed(await start(tmp_path, "link", CONSOLE_URL="https://soul.example.org/"))
        assert told[1].startswith("https://soul.example.org/?token=")


async def test_the_command_says_so_where_no_daemon_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with running(home) as (_, url):
        for home_of_another in (tmp_path / "empty", tmp_path / "other"):
            status, said, complaint = await printed(await start(home_of_another, "link"))
            assert (status, said) == (78, "")
            assert f"No daemon with these settings is running in {home_of_another}" in complaint
            assert not home_of_another.exists(), "who only asks makes nothing"
        status, said, _ = await printed(await start(home, "link", CONSOLE_TOKEN=TOKEN))
        assert status == 0
        assert await session_of(url, said.strip().rpartition("=")[2]) == {}, "that daemon has another token"
    assert (await printed(await start(home, "link")))[0] == 78, "it was killed"


async def test_a_rehearsal_prints_its_bare_address_and_makes_no_token(tmp_path: Path) -> None:
    process = await start(tmp_path, "rehearse")
    try:
        lines = await ready(process)
        assert lines[-1] == f"ready  {address_in(lines)}"
        assert await statuses(address_in(lines), WORLD, {}) == {200}
        assert "console" not in kept_in(tmp_path)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("text", ["short", "two words, and more of them"])
async def test_a_token_file_that_cannot_be_used_ends_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "console-token").write_text(text)
    status, said = await ended(await start(tmp_path))
    assert status == 78
    assert "console-token holds no token of 20 or more letters and digits. Remove it" in said
    assert text not in said


async def test_the_doctor_says_what_opens_the_page(tmp_path: Path) -> None:
    async def found(**given: str) -> dict[str, Any]:
        told = json.loads((await printed(await start(tmp_path, "doctor", "--json", **given)))[1])
        return next(one for one in told["findings"] if one["name"] == "page")

    assert (await found())["said"].startswith("no token yet; the first start makes ")
    async with running(tmp_path):
        pass
    assert "`python -m daemon link` prints a link" in (await found())["said"]
    assert (await found(CONSOLE_TOKEN=TOKEN))["said"].startswith("CONSOLE_TOKEN is its token")
    (tmp_path / "console-token").write_text("short")
    told = await found()
    assert not told["ok"]
    assert "Remove it" in told["said"]


async def test_open_to_others_everything_but_its_health_asks_for_the_token(tmp_path: Path) -> None:
    async with open_daemon(tmp_path) as (_, url), ClientSession() as session:
        async with session.get(f"{url}/healthz") as health:
            assert (health.status, (await health.json())["ok"]) == (200, True)
        assert await statuses(url, CONSOLE + WORLD, {}) == {401}
        assert await statuses(url, CONSOLE + WORLD, SHOWN) == {200}
        assert await statuses(url, CONSOLE + WORLD, await session_of(url, TOKEN)) == {200}
        assert not (tmp_path / "console-token").exists(), "CONSOLE_TOKEN replaces it"


@SOAK
async def test_its_own_requests_pass_its_own_guard(tmp_path: Path) -> None:
    async with open_daemon(tmp_path) as (_, url), visit(url, SHOWN) as alice, asyncio.timeout(PATIENCE):
        ts = await alice.say("Hello")
        while not any("rehearsal script" in said["text"] for said in await alice.answers(ts)):
            pass


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
    async with running(tmp_path, HOST="127.0.0.2") as (_, url):
        assert url.startswith("http://127.0.0.2:")
        shown = {"X-Console-Token": read_token(tmp_path)}
        assert await statuses(url, CONSOLE, shown) == {200}
        assert await statuses(url, CONSOLE + WORLD, {"Host": "evil.example"} | shown) == {403}


def open_daemon(home: Path) -> AbstractAsyncContextManager[tuple[Daemon, str]]:
    return running(home, HOST="0.0.0.0", CONSOLE_TOKEN=TOKEN)
