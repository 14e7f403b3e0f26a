"""Slack unreachable at the start, or access revoked."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from daemon.console.server import bind
from daemon.lifetime import run_until_failure
from daemon.settings.parse import ConfigError
from tests.soak import later
from tests.stories.process import PATIENCE, ended, into, ready, running, start
from tests.stories.stage import ALICE, Stage, reply, staged


async def test_a_slack_that_is_down_at_the_start_is_waited_for(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.wire.refuse["auth.test"] = ["503"]
        process = await start(tmp_path / "soul", **into(stage.url))
        await ready(process)
        process.send_signal(signal.SIGTERM)
        status, said = await ended(process)
    assert status == 0
    [line] = said.splitlines()
    assert f"Slack cannot be reached (no answer of Slack's at {stage.url}/api/)" in line


async def test_while_slack_is_down_it_stops_when_told(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.wire.refuse["auth.test"] = ["503"] * 1000
        process = await start(tmp_path / "soul", **into(stage.url))
        async with asyncio.timeout(PATIENCE):
            assert process.stderr
            warned = (await process.stderr.readline()).decode()
        process.send_signal(signal.SIGTERM)
        status, said = await ended(process)
    assert "Slack cannot be reached" in warned
    assert (status, said) == (0, "")


async def test_while_slack_is_down_its_health_says_so(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.wire.refuse["auth.test"] = ["503"] * 1000
        with bind("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        waking = asyncio.create_task(stage.wake(port=port))
        await stage.until(lambda: stage.clock.sleepers)
        async with stage.session.get(f"http://127.0.0.1:{port}/healthz") as answer:
            assert (answer.status, (await answer.json())["sockets"]) == (503, 0)
        stage.wire.refuse.clear()
        while not waking.done():  # longer silence would count as deaf until a real heartbeat
            await stage.clock.advance(1)
        await waking
        await stage.until(lambda: stage.soul.slack.hearing.alive_count)
        await stage.passing(1, lambda: not stage.soul.slack.hearing.is_disconnected)
        async with stage.session.get(f"http://127.0.0.1:{port}/healthz") as answer:
            assert answer.status == 200


async def test_what_was_open_when_the_bot_token_was_taken_back_is_answered_once(stage: Stage) -> None:
    stage.model.say(reply("Here I am."))
    stage.wire.refuse["chat.startStream"] = ["token_revoked"] * 9
    said = await stage.client("alice").chat_postMessage(channel=ALICE, text="Are you there?")
    with pytest.raises(ConfigError, match=r"SLACK_BOT_TOKEN was refused .*token_revoked"):
        async with asyncio.timeout(PATIENCE):
            await run_until_failure(stage.soul.journal.died, stage.soul.slack.died)
    assert stage.pending("input")
    await stage.sleep()
    stage.wire.refuse.clear()
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, str(said["ts"])) == ["Here I am."]


@pytest.mark.parametrize(
    ("method", "word", "token", "advice"),
    [
        ("apps.connections.open", "token_revoked", "SLACK_APP_TOKEN", "make an app-level token"),
        later("users.conversations", "account_inactive", "SLACK_BOT_TOKEN", "copy the bot token"),
    ],
)
async def test_as_a_process_it_ends_with_what_happened_and_what_to_do(
    tmp_path: Path, method: str, word: str, token: str, advice: str
) -> None:
    async with staged(tmp_path) as stage, running(tmp_path / "soul", **into(stage.url)) as (process, _):
        stage.wire.refuse[method] = [word] * 9
        await stage.world.workspace.links.close()
        status, said = await ended(process)
    assert status == 78
    [line] = [line for line in said.splitlines() if token in line]
    assert word in line
    assert advice in line
    assert "Traceback" not in said
