"""Login to a workspace: refused tokens fail, outages are waited out."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from daemon.console.server import bind, serve_app, url_of_socket
from daemon.errors import PostFailed
from daemon.settings.parse import ConfigError
from daemon.slack.incoming import BotIdentity
from daemon.slack.surface import SlackSurface
from daemon.slack.web_api import AT_ONCE, LONGEST_PAUSE
from tests.attention import PATIENCE, until
from tests.clock import FakeClock
from tests.slack.office import OPEN, Notebook, Office, access, workspace
from tests.slack.voice import called, ours
from tests.slack.wire import Wire

AWAY = ["503", "internal_error", "a_word_of_tomorrow"]


async def enter(path: Path, url: str, clock: FakeClock, **changes: Any) -> str:
    """Log in and listen; return our name."""
    async with (
        Notebook(path / "journal.db", clock) as journal,
        SlackSurface(access(url, **changes), OPEN, journal=journal, wake=print, clock=clock) as slack,
    ):
        await slack.connect()
        return slack.name


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"bot_token": "xoxb-wrong"}, "SLACK_BOT_TOKEN .*invalid_auth.*copy the bot token"),
        ({"app_token": "xapp-wrong"}, "SLACK_APP_TOKEN .*invalid_auth"),
        ({"app_token": "xoxp-alice"}, "SLACK_APP_TOKEN .*not_allowed_token_type"),
    ],
)
async def test_a_wrong_key_is_said_at_once_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, str], expected: str
) -> None:
    async with workspace(tmp_path, FakeClock(), Wire()) as (_, url), asyncio.timeout(PATIENCE):
        with pytest.raises(ConfigError, match=expected):
            await enter(tmp_path, url, FakeClock(), **changes)
    gc.collect()
    assert warnings(caplog) == []


async def test_what_is_printed_of_it_tells_no_key(here: Office) -> None:
    known = here.slack.access
    assert known.bot_token not in repr(here.slack)
    assert known.app_token not in repr(here.slack)


@pytest.mark.parametrize("word", AWAY)
async def test_a_slack_that_is_away_at_the_start_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    wire, clock = Wire(), FakeClock()
    wire.refuse["auth.test"] = [word] * (AT_ONCE + 3)
    async with workspace(tmp_path, clock, wire) as (_, url), asyncio.timeout(PATIENCE):
        entering = asyncio.create_task(enter(tmp_path, url, clock))
        await until(lambda: clock.sleepers == 1)
        assert len(wire.told("auth.test")) == AT_ONCE, "then it is not in a hurry"
        while not entering.done():
            await clock.advance(LONGEST_PAUSE)
        assert await entering == "Claudius"
    assert len(wire.told("auth.test")) == AT_ONCE + 4
    [said] = warnings(caplog)
    assert said.startswith("Slack cannot be reached (")
    assert f"{'no answer of Slack' if word == '503' else word}" in said
    assert f"{url}/api/" in said
    assert "token" not in said


async def test_a_slack_that_is_away_until_then_may_still_refuse(tmp_path: Path) -> None:
    wire, clock = Wire(), FakeClock()
    wire.refuse["auth.test"] = ["internal_error", "account_inactive"]
    async with workspace(tmp_path, clock, wire) as (_, url), asyncio.timeout(PATIENCE):
        with pytest.raises(ConfigError, match=r"SLACK_BOT_TOKEN .*account_inactive"):
            await enter(tmp_path, url, clock)


async def test_where_nobody_listens_it_is_said_and_tried_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert await tried_in_vain(tmp_path, "http://127.0.0.1:9", caplog) == (
        "Slack cannot be reached (ClientConnectorError at http://127.0.0.1:9/api/): "
        "check SLACK_API_URL and the network. It is tried again until it can."
    )


@pytest.mark.parametrize("status", [200, 404])
async def test_what_is_not_slack_is_said_to_be_none_and_tried_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    async with website(status) as url:
        said = await tried_in_vain(tmp_path, url, caplog)
    assert f"(no answer of Slack's at {url}/api/)" in said


async def tried_in_vain(path: Path, url: str, caplog: pytest.LogCaptureFixture) -> str:
    """Return the log of attempts until a stop."""
    clock = FakeClock()
    entering = asyncio.create_task(enter(path, url, clock))
    for _ in range(3):
        await until(lambda: clock.sleepers == 1 or entering.done())
        await clock.advance(LONGEST_PAUSE)
    assert not entering.done()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    [said] = warnings(caplog)
    return said


@asynccontextmanager
async def website(status: int) -> AsyncIterator[str]:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>Welcome</html>", content_type="text/html", status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", page)
    listener = bind("127.0.0.1", 0)
    async with serve_app(app, listener):
        yield url_of_socket(listener)


def test_its_own_are_the_messages_of_its_user_and_of_its_bot() -> None:
    me = BotIdentity(team="T1", user="U1", bot="B1", name="Soul")
    assert me.is_own_message("U1", "")
    assert me.is_own_message(None, "B1")
    assert not me.is_own_message("U2", "B2")
    assert not replace(me, bot="").is_own_message("U2", "")


@pytest.mark.parametrize("word", ["token_revoked", "account_inactive", "invalid_auth", "not_authed"])
async def test_a_bot_token_that_is_taken_back_ends_the_daemon(here: Office, word: str) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postMessage"] = [word] * 2
    for key in ("k1", "k2"):
        with pytest.raises(PostFailed, match=word):
            await here.slack.speaker.finish(thread, None, "Hello.", key, ours)
    with pytest.raises(ConfigError, match=f"SLACK_BOT_TOKEN .*{word}.*copy the bot token"):
        async with asyncio.timeout(PATIENCE):
            await here.slack.died


@pytest.mark.parametrize("word", ["missing_scope", "not_in_channel", "internal_error"])
async def test_what_it_may_not_do_does_not_end_it(here: Office, word: str) -> None:
    thread, _ = await called(here)
    here.wire.refuse["chat.postMessage"] = [word]
    with pytest.raises(PostFailed, match=word):
        await here.slack.speaker.finish(thread, None, "Hello.", "k1", ours)
    assert not here.slack.died.done()
