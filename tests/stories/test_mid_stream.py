"""Killed while a message of it grows in Slack: the next life finishes that message, and writes no second."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.stories.process import Visit, into, running, visit
from tests.stories.stage import PATIENCE, reply

LONG = "I begin, and I go on, and on. " * 30
WHOLE = "I begin again, and this time I come to an end."


@pytest.mark.parametrize("seen", [1, 100], ids=["just begun", "grown"])
async def test_killed_while_it_speaks_it_finishes_the_same_message(tmp_path: Path, seen: int) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, world), visit(world) as alice:
        await alice.cue(reply(LONG), chunk=1)
        async with running(tmp_path / "soul", **into(world)) as (process, _):
            ts = await alice.say("Tell me something.")
            half = await shown(alice, ts, seen)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert len(half) < len(LONG), "it was in the middle of it"
        await alice.cue(reply(WHOLE))
        async with running(tmp_path / "soul", **into(world)), asyncio.timeout(PATIENCE):
            while (said := await alice.answers(ts))[-1]["text"] != WHOLE or said[-1].get("streaming"):
                pass
        assert [message["text"] for message in await alice.answers(ts)] == [WHOLE]
        assert await alice.asked() == 2


async def shown(alice: Visit, ts: str, letters: int) -> str:
    """What stands in Slack as soon as so much of it does."""
    async with asyncio.timeout(PATIENCE):
        while not (said := await alice.answers(ts)) or len(said[0]["text"]) < letters:
            pass
    return str(said[0]["text"])
