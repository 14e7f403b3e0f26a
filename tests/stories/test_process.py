"""The daemon as its owner meets it: what it prints, how it ends, and what it says when it cannot start."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from pathlib import Path

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from daemon.rehearsal.people import SOUL
from tests.stories.process import ended, ready, running, start
from tests.stories.stage import ALICE, PATIENCE


async def test_without_any_key_it_is_ready_and_stops_when_told(tmp_path: Path) -> None:
    process = await start(tmp_path)
    lines = await ready(process)
    assert len(lines) <= 8
    assert re.fullmatch(r"ready  http://127\.0\.0\.1:\d+", lines[-1])
    async with ClientSession() as session, session.get(lines[-1].split()[-1] + "/healthz") as response:
        assert (await response.json())["ok"]
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
    status, said = await ended(await start(tmp_path, **bad))
    assert status == 78
    for key in (*bad, "SLACK_APP_TOKEN"):
        assert key in said
    assert "very-secret" not in said


async def test_a_second_daemon_on_the_same_journal_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path):
        status, said = await ended(await start(tmp_path))
    assert status == 78
    assert "Another daemon" in said


async def test_a_wrong_slack_token_ends_the_start(tmp_path: Path) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, world):
        status, said = await ended(
            await start(
                tmp_path / "soul",
                SLACK_API_URL=f"{world}/api/",
                SLACK_BOT_TOKEN="xoxb-wrong",
                SLACK_APP_TOKEN=SOUL.app_token,
                ANTHROPIC_BASE_URL=world,
            )
        )
    assert status == 78
    assert "SLACK_BOT_TOKEN" in said
    assert "Traceback" not in said


async def test_killed_in_the_middle_of_a_turn_it_answers_once_when_it_lives_again(tmp_path: Path) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, world), ClientSession() as session:
        alice = AsyncWebClient(token="xoxp-alice", base_url=f"{world}/api/", session=session)
        env = {
            "SLACK_API_URL": f"{world}/api/",
            "SLACK_BOT_TOKEN": SOUL.bot_token,
            "SLACK_APP_TOKEN": SOUL.app_token,
            "ANTHROPIC_BASE_URL": world,
        }
        async with running(tmp_path / "soul", **env) as (process, _):
            slow = {"raw": "<aside>hm</aside><say>Too slow to be read.</say>", "chunk": 1, "delay": 60}
            await session.post(f"{world}/rehearsal/claude/say", json=slow)
            ts = str((await alice.chat_postMessage(channel=ALICE, text="Hello?"))["ts"])
            while not (await asked(session, world)):
                pass
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with running(tmp_path / "soul", **env), asyncio.timeout(PATIENCE):
            while len(said := await replies(alice, ts)) < 2 or "rehearsal script" not in said[-1]:
                pass
        assert len(await replies(alice, ts)) == 2


async def asked(session: ClientSession, world: str) -> int:
    """How often the model was asked."""
    async with session.get(f"{world}/rehearsal/claude/requests") as response:
        return len(await response.json())


async def replies(client: AsyncWebClient, ts: str) -> list[str]:
    """A thread, as a person reads it."""
    return [m["text"] for m in (await client.conversations_replies(channel=ALICE, ts=ts))["messages"]]
