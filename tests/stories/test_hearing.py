"""Daemon that loses its Slack sockets."""

from __future__ import annotations

import asyncio
import math
import socket
from pathlib import Path

import pytest

from daemon.lifetime import run_until_failure
from daemon.settings.parse import ConfigError
from tests.attention import PATIENCE
from tests.soak import SOAK
from tests.stories.stage import ALICE, Stage, staged

HOUR = 3600.0
CONVERSATIONS = 7
"""Conversations with the soul in the rehearsed workspace."""


async def metrics(stage: Stage, url: str = "") -> dict[str, float]:
    async with stage.session.get(f"{url or stage.soul.url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }


def free() -> int:
    with socket.socket() as passing:
        passing.bind(("127.0.0.1", 0))
        return int(passing.getsockname()[1])


async def test_what_is_said_while_every_socket_is_down_is_answered_once(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    stage.wire.refuse["apps.connections.open"] = ["service_unavailable"] * 20
    await stage.world.workspace.links.close()
    await stage.until(lambda: not stage.soul.slack.hearing.alive_count)
    await stage.post("alice", ALICE, "Can you hear me?", ts)
    stage.wire.refuse.clear()
    await stage.clock.advance(30)
    await stage.until(lambda: stage.soul.slack.hearing.alive_count > 0)
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 2


async def test_its_health_tells_whether_it_hears(stage: Stage) -> None:
    await stage.until(lambda: stage.soul.slack.hearing.alive_count == 2)
    status, told = await stage.health()
    assert (status, told["ok"], told["deaf"], told["sockets"]) == (200, True, False, 2)
    assert (told["inbound_age"], told["event_age"]) == (0.0, None)
    await stage.say("alice", ALICE, "Hello")
    await stage.clock.advance(5)
    assert (await stage.health())[1]["event_age"] == 5.0
    stage.wire.refuse["apps.connections.open"] = ["service_unavailable"] * 1000
    await stage.world.workspace.links.close()
    await stage.until(lambda: not stage.soul.slack.hearing.alive_count)
    status, told = await stage.health()
    assert (status, told["ok"], told["deaf"], told["sockets"]) == (503, False, True, 0)


@SOAK
async def test_its_health_tells_how_far_it_has_read(stage: Stage) -> None:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    before = (await stage.health())[1]["caught_up_until"]
    assert before == stage.clock.now()
    await stage.clock.advance(HOUR)
    stage.wire.garbled.add("conversations.history")
    calls = len(stage.wire.told("conversations.history"))
    await stage.world.workspace.links.close()
    await stage.until(lambda: len(stage.wire.told("conversations.history")) > calls)
    for _ in range(3):
        await stage.clock.advance(1)
        status, told = await stage.health()
        assert (status, told["catching_up"], told["caught_up_until"]) == (200, True, before)
        assert told["left_to_read"] == CONVERSATIONS
    told = await metrics(stage)
    assert told["soul_catch_up_left"] == CONVERSATIONS
    assert (told["soul_catching_up"], told["soul_caught_up_timestamp_seconds"]) == (1, before)
    stage.wire.garbled.clear()
    await stage.clock.advance(60)
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    told = (await stage.health())[1]
    assert (told["catching_up"], told["caught_up_until"] > before) == (False, True)
    assert told["left_to_read"] == 0
    assert (await metrics(stage))["soul_catching_up"] == 0


async def test_while_it_starts_it_is_not_well(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.wire.held["auth.test"] = asyncio.Event()
        waking = asyncio.create_task(stage.wake(port=free()))
        try:
            await stage.until(lambda: stage.wire.told("auth.test"))
            url = f"http://127.0.0.1:{stage.settings['port']}"
            async with stage.session.get(f"{url}/healthz") as answer:
                told = await answer.json()
                assert (answer.status, told["deaf"], told["catching_up"]) == (503, True, False)
            assert math.isnan((await metrics(stage, url))["soul_caught_up_timestamp_seconds"])
        finally:
            stage.wire.held["auth.test"].set()
            await waking


async def test_its_metrics_are_those_of_its_life(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    told = await metrics(stage)
    assert told["soul_sockets_wanted"] == told["soul_sockets_alive"] == 2
    assert told['soul_events_total{type="events_api"}'] > 1, "what it says comes back as an event"
    assert told['soul_entries_total{kind="message"}'] == 1
    assert told['soul_turns_total{outcome="completed"}'] == 1
    assert told['soul_connections_total{reason="start"}'] == 2
    assert told["soul_inbound_age_seconds"] == told["soul_event_age_seconds"] == told["soul_deaf"] == 0


async def test_it_does_not_live_on_when_its_token_is_taken_back(stage: Stage) -> None:
    stage.wire.refuse["apps.connections.open"] = ["token_revoked"]
    await stage.world.workspace.links.close()
    with pytest.raises(ConfigError, match="token_revoked"):
        async with asyncio.timeout(PATIENCE):
            await run_until_failure(stage.soul.journal.died, stage.soul.slack.died)
