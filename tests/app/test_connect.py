"""The command `connect`: beside a running daemon, and without one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from config import Settings
from daemon.app.connect_command import connect_server
from daemon.engine.clock import SystemClock
from daemon.kinds import TOOLS, ToolsListed
from daemon.settings.home import project_root
from daemon.settings.parse import ConfigError
from tests.attention import until
from tests.stories.choosing import IDS
from tests.stories.stage import Stage, staged
from tests.tools.oauth_servers import OAuthPlace, serve_oauth

Console = pytest.CaptureFixture[str]


@pytest.fixture
async def place() -> AsyncIterator[OAuthPlace]:
    async with serve_oauth() as place:
        yield place


def write_servers(folder: Path, **servers: object) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    path.chmod(0o600)
    return path


def settings(home: Path, servers: Path, **more: Any) -> Settings:
    return Settings(soul_home=home, mcp_config=servers, port=0, **more)


async def connect(settings: Settings, console: Console, **more: bool) -> tuple[int, str]:
    """Run the command, and consent in a browser to what it prints; return its status and all that it said."""
    running = asyncio.create_task(connect_server(settings, "shop", SystemClock(), **more))
    said = ""

    def shown() -> re.Match[str] | None:
        nonlocal said
        said += "".join(console.readouterr())
        return re.search(r"http://\S+/authorize\S+", said)

    await until(lambda: shown() or running.done())
    found = shown()
    if found:
        async with aiohttp.ClientSession() as browser, browser.get(found[0]) as page:
            said += await page.text()
    status = await running
    return status, said + "".join(console.readouterr())


async def test_without_a_daemon_a_small_listener_takes_the_answer(
    place: OAuthPlace, tmp_path: Path, capsys: Console
) -> None:
    servers = write_servers(tmp_path, shop={"url": place.url})
    status, said = await connect(settings(tmp_path / "home", servers), capsys)
    assert status == 0
    assert "You may close this window." in said
    assert "shop is connected." in said
    stored = json.loads((tmp_path / "home" / "oauth-tokens" / "shop.json").read_text())
    assert stored["tokens"]["access_token"] in place.valid
    assert stored["tokens"]["access_token"] not in said


async def test_beside_a_running_daemon_its_port_takes_the_answer_and_it_uses_the_tokens(
    place: OAuthPlace, tmp_path: Path, capsys: Console
) -> None:
    async with staged(tmp_path) as stage:
        servers = write_servers(stage.words, shop={"url": place.url})
        await stage.wake()
        await until(lambda: "/mcp" in place.loopback.requests)
        began = stage.clock.now()
        await stage.passing(30.0, lambda: stage.clock.now() > began + 600)
        status, said = await connect(of_stage(stage, servers), capsys)
        assert (status, "shop is connected." in said) == (0, True)
        [asked] = place.authorized
        assert asked["redirect_uri"] == f"{stage.soul.url}/oauth/callback"
        consented = stage.clock.now()
        await stage.passing(1.0, lambda: stage.soul.journal.thread_entries(TOOLS, ToolsListed))
        assert stage.clock.now() < consented + 30, "the next try was minutes away"
        [listed] = stage.soul.journal.thread_entries(TOOLS, ToolsListed)
        assert [tool.name for tool in listed.event.tools] == ["shop.stock"]


def of_stage(stage: Stage, servers: Path) -> Settings:
    return settings(stage.home, servers, slack_bot_token="xoxb-any", slack_app_token="xapp-any")


async def test_an_owner_consents_on_the_page_and_the_last_press_counts(
    place: OAuthPlace, tmp_path: Path
) -> None:
    async with staged(tmp_path) as stage:
        write_servers(stage.words, shop={"url": place.url}, program={"command": sys.executable})
        await stage.wake(owner_user_ids=frozenset({IDS["carol"]}))
        async with aiohttp.ClientSession() as browser:
            headers = {"X-Console-Token": stage.soul.credentials.token}

            async def press(server: str) -> tuple[int, dict[str, Any]]:
                url = f"{stage.soul.url}/console/tools/connections/{server}"
                async with browser.post(url, headers=headers) as answer:
                    return answer.status, await answer.json()

            for server in ("program", "nowhere"):
                assert (await press(server))[0] == 404
            first, second = await asyncio.gather(press("shop"), press("shop"))
            assert sorted([first[0], second[0]]) == [200, 409]
            [said] = [said for status, said in (first, second) if status == 200]
            names = [task.get_name() for task in asyncio.all_tasks()]
            assert names.count("consent to shop") == 1
            async with browser.get(said["url"]) as page:
                assert "You may close this window." in await page.text()
        stored = stage.home / "oauth-tokens" / "shop.json"
        await until(stored.exists)
        assert json.loads(stored.read_text())["tokens"]["access_token"] in place.valid


async def test_a_page_without_a_known_owner_begins_no_consent(place: OAuthPlace, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        write_servers(stage.words, shop={"url": place.url})
        await stage.wake()
        url = f"{stage.soul.url}/console/tools/connections/shop"
        headers = {"X-Console-Token": stage.soul.credentials.token}
        async with aiohttp.ClientSession() as browser, browser.post(url, headers=headers) as answer:
            assert (answer.status, "OWNER_USER_IDS" in await answer.text()) == (403, True)
        assert not place.registered


async def test_the_callback_takes_a_navigation_from_elsewhere_and_no_unknown_state(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path) as stage:
        await stage.wake()
        url = f"{stage.soul.url}/oauth/callback"
        navigation = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        async with aiohttp.ClientSession() as browser:
            for query in ({}, {"state": "guessed", "code": "x"}, {"state": "x" * 5_000}):
                async with browser.get(url, params=query, headers=navigation) as page:
                    assert page.status == 400
                    assert "Nobody waits for this answer" in await page.text()
            async with browser.get(url, headers={"Sec-Fetch-Site": "cross-site"}) as page:
                assert page.status == 403, "a script of another page"
            async with browser.head(url, headers=navigation) as page:
                assert page.status == 405


async def test_a_login_that_is_refused_is_said_in_a_sentence(
    place: OAuthPlace, tmp_path: Path, capsys: Console
) -> None:
    place.refuses_consent = True
    servers = write_servers(tmp_path, shop={"url": place.url})
    status, said = await connect(settings(tmp_path / "home", servers), capsys)
    assert (status, "shop got no consent" in said) == (1, True)


async def test_a_server_that_is_not_there_or_is_a_program_is_named(tmp_path: Path) -> None:
    servers = write_servers(tmp_path, time={"command": "python3"}, broken={"url": "nowhere"})
    for name, words in (("shop", "no usable server shop; it has: time"), ("time", "needs no consent")):
        with pytest.raises(ConfigError, match=words):
            await connect_server(settings(tmp_path, servers), name, SystemClock())
    with pytest.raises(ConfigError, match="broken: `url`"):
        await connect_server(settings(tmp_path, servers), "broken", SystemClock())


async def test_a_server_with_a_token_of_the_owner_needs_no_consent(
    place: OAuthPlace, tmp_path: Path, capsys: Console
) -> None:
    headers = {"Authorization": "Bearer own-token"}
    servers = write_servers(tmp_path, shop={"url": place.url, "headers": headers})
    status, said = await connect(settings(tmp_path / "home", servers), capsys)
    assert (status, "has a header Authorization" in said) == (1, True)
    assert not place.loopback.requests


async def test_the_address_at_which_the_browser_ends_can_be_pasted_into_the_terminal(
    place: OAuthPlace, tmp_path: Path
) -> None:
    servers = write_servers(tmp_path, shop={"url": place.url})
    environment = {"MCP_CONFIG": str(servers), "SOUL_HOME": str(tmp_path / "home"), "PORT": "0"}
    keyboard, terminal = os.openpty()
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", "connect", "shop"),
        stdin=terminal,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
        cwd=project_root(),
    )
    assert running.stdout is not None
    said = b""
    while not (found := re.search(rb"(http://\S+/authorize\S+)\n[^:]+:\n", said)):
        said += await running.stdout.read(4_096)
    login = found[1].decode()
    async with aiohttp.ClientSession() as browser, browser.get(login, allow_redirects=False) as page:
        ends_at = page.headers["Location"]
    os.write(keyboard, f"https://example.com/\n{ends_at}\n".encode())
    said += await running.stdout.read()
    assert await running.wait() == 0
    assert b"This is not the address" in said
    assert b"shop is connected." in said
    os.close(keyboard)
    os.close(terminal)
