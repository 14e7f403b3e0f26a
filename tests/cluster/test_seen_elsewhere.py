"""Whole daemons on one log: thoughts of one on the page of another, and machines that differ."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from aiohttp import ClientSession

from rehearsal.people import SOUL
from tests.attention import PATIENCE
from tests.cluster.daemons import SIGNED_IN, Machine, machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


async def first_thought(standby: Machine) -> dict[str, object]:
    """Return what a page shows first of a running call."""
    async with (
        ClientSession(headers=SIGNED_IN) as browser,
        browser.get(f"{standby.url}/console/journal?since=0") as answer,
    ):
        is_thought = False
        async for line in answer.content:
            if is_thought:
                found: dict[str, object] = json.loads(line.decode().partition("data: ")[2])
                return found
            is_thought = line == b"event: thinking\n"
    raise AssertionError("the stream ended")


async def test_a_standby_shows_what_the_soul_thinks_and_which_machines_differ(
    tmp_path: Path, log_url: str
) -> None:
    async with (
        around(tmp_path, pace=0.2) as place,
        machine(tmp_path, place, log_url, "first") as first,
        machine(tmp_path, place, log_url, "second", MESH_DAILY="3") as second,
        asyncio.timeout(PATIENCE),
    ):
        watching = asyncio.create_task(first_thought(second))
        await place.say(f"<@{SOUL.user}> Tell me about tea, please.")
        thought = await watching
        assert str(thought["number"]).endswith(":1")
        assert {"thread", "key", "name", "text"} <= thought.keys()
        assert first.process.returncode is None
        while "a setting differs between first and second" not in str(await second.get("/console/state")):
            pass
