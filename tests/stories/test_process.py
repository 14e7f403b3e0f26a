"""Output, exit statuses and start errors of the daemon."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import ClientSession, web

from daemon.console.server import bind, serve_app, url_of_socket
from tests.attention import until
from tests.soak import SOAK
from tests.stories.process import Daemon, address_in, around, ended, into, ready, running, start, start_anew
from tests.stories.stage import PATIENCE, reply

PROMPTLY = 5.0
"""Real seconds for an idle stop."""


async def test_without_any_key_it_is_ready_and_stops_when_told(tmp_path: Path) -> None:
    process = await start(tmp_path)
    lines = await ready(process)
    assert len(lines) <= 8
    assert re.fullmatch(r"ready  http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", lines[-1])
    async with ClientSession() as session, session.get(address_in(lines) + "/healthz") as response:
        assert (await response.json())["ok"]
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == (0, "")


@SOAK
async def test_where_it_decides_without_an_owner_the_start_says_so(tmp_path: Path) -> None:
    process = await start(tmp_path, ISM_ENABLED="true", ANTHROPIC_API_KEY="any")  # no tour with a key
    [decides] = [line for line in await ready(process) if line.startswith("decides")]
    assert decides.startswith("decides    by itself, in runs of 5 rounds; a limit ends a run")
    assert "OWNER_USER_IDS" in decides
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == (0, "")


async def test_a_taken_port_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, said = await ended(await start(tmp_path, PORT=str(port)))
    assert status == 78
    assert f"PORT {port}" in said
    assert "set PORT to another number" in said
    assert "Traceback" not in said


async def test_all_bad_keys_are_named_at_once_and_no_secret(tmp_path: Path) -> None:
    bad = {"SLACK_BOT_TOKEN": "xoxp-very-secret", "PORT": "many", "BUDGET_DAILY_USD": "-1"}
    status, said = await ended(await start_anew(tmp_path, **bad))
    assert status == 78
    for key in (*bad, "SLACK_APP_TOKEN"):
        assert key in said
    assert "very-secret" not in said


async def test_two_servers_for_its_models_end_the_start(tmp_path: Path) -> None:
    both = {"ANTHROPIC_BASE_URL": "http://localhost:1", "OPENAI_BASE_URL": "http://localhost:2"}
    status, said = await ended(await start_anew(tmp_path, **both))
    assert status == 78
    assert "ANTHROPIC_BASE_URL and OPENAI_BASE_URL are both set" in said
    assert "Traceback" not in said


async def test_a_second_daemon_on_the_same_journal_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path):
        status, said = await ended(await start(tmp_path))
    assert status == 78
    assert "Another daemon" in said


async def test_a_wrong_slack_token_ends_the_start(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        wrong = into(place.url) | {"SLACK_BOT_TOKEN": "xoxb-wrong"}
        status, said = await ended(await start(tmp_path / "soul", **wrong))
    assert status == 78
    assert "SLACK_BOT_TOKEN" in said
    assert "Traceback" not in said


async def test_as_it_starts_it_names_the_keys_that_nobody_reads(tmp_path: Path) -> None:
    async with running(tmp_path, ANTHROPIC_APIKEY="hidden") as (process, _):
        process.send_signal(signal.SIGTERM)
        _, said = await ended(process)
    assert "ANTHROPIC_APIKEY in the environment is read by nobody: is it ANTHROPIC_API_KEY?" in said
    assert "hidden" not in said


async def test_as_it_starts_it_names_a_word_that_leaves_the_ism_off(tmp_path: Path) -> None:
    async with running(tmp_path, ISM_ENABLED="yes") as (process, _):
        process.send_signal(signal.SIGTERM)
        _, said = await ended(process)
    assert "ISM_ENABLED is neither true nor false (yes), and counts as false" in said


async def test_killed_in_the_middle_of_a_turn_it_answers_once_when_it_lives_again(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        async with running(tmp_path / "soul", **into(place.url)) as (process, _):
            place.model.say(reply("Too slow to be read."), until=asyncio.Event())
            ts = await place.say("Hello?")
            await until(lambda: place.model.requests)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with running(tmp_path / "soul", **into(place.url)):
            await until(lambda: any("rehearsal script" in text for text in place.texts(ts)))
        assert len(place.answers(ts)) == 1


async def test_told_to_stop_it_first_says_what_it_is_thinking_of(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        async with running(tmp_path / "soul", **into(place.url)) as (process, _):
            place.model.say(reply("It took a while."), delay=0.5)
            ts = await place.say("Hello?")
            await until(lambda: place.model.requests)
            assert place.answers(ts) == []
            process.send_signal(signal.SIGTERM)
            status, [line] = await _told(process)
        assert (status, " conversation completed: 1 call, $" in line) == (0, True)
        assert place.texts(ts) == ["It took a while."]


@SOAK
async def test_it_stops_when_told_also_while_slack_keeps_it_waiting(tmp_path: Path) -> None:
    async with silent_slack() as (slack, joined):
        process = await start(tmp_path, **into(slack))
        try:
            async with asyncio.timeout(PATIENCE):
                await joined.wait()
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(PROMPTLY):
                assert await ended(process) == (0, "")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@asynccontextmanager
async def silent_slack() -> AsyncIterator[tuple[str, asyncio.Event]]:
    joined, over = asyncio.Event(), asyncio.Event()

    async def call(request: web.Request) -> web.Response:
        socket = f"ws://{request.host}/socket"
        return web.json_response({"ok": True, "team_id": "T1", "user_id": "U1", "user": {}, "url": socket})

    async def wait(request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        joined.set()
        await over.wait()
        return response

    app = web.Application()
    app.router.add_route("*", "/api/{method}", call)
    app.router.add_get("/socket", wait)
    listener = bind("127.0.0.1", 0)
    async with serve_app(app, listener):
        try:
            yield url_of_socket(listener), joined
        finally:
            over.set()


async def test_each_turn_is_a_line_of_the_log_and_no_level_shows_a_word_or_a_secret(tmp_path: Path) -> None:
    async with around(tmp_path) as place:
        world = into(place.url)
        level = {"LOG_LEVEL": "debug", "LOG_FORMAT": "json"}
        async with running(tmp_path / "soul", **world, **level) as (daemon, _):
            ts = await place.say("My cat is called Zerbinetta. What do you make of it?")
            await until(lambda: place.answers(ts) and not place.working)
            daemon.send_signal(signal.SIGTERM)
            status, said = await ended(daemon)
        lines = [json.loads(line) for line in said.splitlines()]
        turns = [line for line in lines if line["logger"] == "daemon.turn_lines"]
        assert status == 0
        assert turns, said
        told = {"thread", "process", "outcome", "calls", "dollars", "seconds"}
        assert told | {"time", "level"} <= turns[0].keys()
        assert (turns[0]["outcome"], turns[0]["calls"]) == ("completed", 1)
        spoken = place.texts(ts)[0].split(".")[0]
        for secret in ("Zerbinetta", spoken, world["SLACK_BOT_TOKEN"], world["SLACK_APP_TOKEN"]):
            assert secret not in said


async def _told(process: Daemon) -> tuple[int, list[str]]:
    status, said = await ended(process)
    return status, said.splitlines()
