"""The whole daemon loses its ears: it gets them back, says when it has none, and ends when it may not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemon.errors import ConfigError
from daemon.lifetime import live
from tests.stories.process import ended, into, running
from tests.stories.stage import ALICE, Stage, staged


async def health(stage: Stage) -> tuple[int, dict[str, Any]]:
    """What the daemon says of itself."""
    async with stage.session.get(f"{stage.soul.url}/healthz") as answer:
        return answer.status, await answer.json()


async def test_what_is_said_while_every_socket_is_down_is_answered_once(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    stage.wire.refuse["apps.connections.open"] = ["service_unavailable"] * 20
    await stage.world.workspace.links.close()
    await stage.until(lambda: not stage.soul.slack.connected)
    await stage.post("alice", ALICE, "Can you hear me?", ts)
    stage.wire.refuse.clear()
    await stage.clock.advance(30)
    await stage.until(lambda: stage.soul.slack.connected)
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 2


async def test_its_health_tells_whether_it_hears(stage: Stage) -> None:
    await stage.until(lambda: stage.soul.slack.hearing.alive == 2)
    status, told = await health(stage)
    assert (status, told["ok"], told["deaf"], told["sockets"]) == (200, True, False, 2)
    assert (told["inbound_age"], told["event_age"]) == (0.0, None)
    await stage.say("alice", ALICE, "Hello")
    await stage.clock.advance(5)
    assert (await health(stage))[1]["event_age"] == 5.0
    stage.wire.refuse["apps.connections.open"] = ["service_unavailable"] * 1000
    await stage.world.workspace.links.close()
    await stage.until(lambda: not stage.soul.slack.connected)
    status, told = await health(stage)
    assert (status, told["ok"], told["deaf"], told["sockets"]) == (503, False, True, 0)


async def test_its_metrics_are_those_of_its_life(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    async with stage.session.get(f"{stage.soul.url}/metrics") as answer:
        told = await answer.text()
    for line in (
        "soul_sockets_wanted 2.0",
        'soul_entries_total{kind="perception"} 1.0',
        'soul_turns_total{outcome="ended"} 1.0',
    ):
        assert line in told.splitlines()


async def test_it_does_not_live_on_when_its_token_is_taken_back(stage: Stage) -> None:
    stage.wire.refuse["apps.connections.open"] = ["token_revoked"]
    await stage.world.workspace.links.close()
    with pytest.raises(ConfigError, match="token_revoked"):
        async with asyncio.timeout(10):
            await live(stage.soul.waker, stage.soul.journal, stage.soul.slack.died)


async def test_as_a_process_it_ends_with_what_happened_and_what_to_do(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, running(tmp_path / "soul", **into(stage.url)) as (process, _):
        stage.wire.refuse["apps.connections.open"] = ["token_revoked"] * 2
        await stage.world.workspace.links.close()
        status, said = await ended(process)
    assert status == 78
    [line] = [line for line in said.splitlines() if "SLACK_APP_TOKEN" in line]
    assert "token_revoked" in line
    assert "make an app-level token" in line
    assert "Traceback" not in said
