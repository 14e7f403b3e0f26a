"""Helpers for account faults."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import SOUL
from tests.stories.stage import ALICE, BOB, CAROL, PATIENCE, Stage

OWNERS = frozenset({ALICE_HERSELF.id})
MENDING = "Something of mine needs mending"
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
SHORT = 100.0
"""Seconds; longer steps are taken at once."""
FAULTS = {
    "unauthorized": "Claude does not take ANTHROPIC_API_KEY",
    "no-credit": "has no credit left",
    "unknown-model": f"There is no model {SONNET} for this account. Correct CLAUDE_MODEL (",
}
"""Beginnings of the owner's notice by fault."""


async def settled(stage: Stage) -> None:
    """Run due work, owners' conversations included."""
    async with asyncio.timeout(PATIENCE):
        await stage.soul.worker.sweep()
        while stage.soul.worker.is_busy or stage.undone():
            await stage.clock.advance(0)
            await stage.soul.worker.sweep()


async def say(stage: Stage, name: str, channel: str, text: str, root: str | None = None) -> str:
    """Post a message, and settle everywhere."""
    known = len(stage.entries("input"))
    ts = await stage.post(name, channel, text, root)
    await stage.until(lambda: len(stage.entries("input")) > known)
    await settled(stage)
    return ts


async def passing(stage: Stage, seconds: float, step: float = 5.0) -> None:
    """Let time pass in steps, with a sweep after each."""
    end = stage.clock.now() + seconds
    while stage.clock.now() < end:
        if step > SHORT:
            await stage.clock.leap(step)
        else:
            await stage.clock.advance(step)
        await settled(stage)


async def mended(stage: Stage) -> None:
    """End the fault, and let time pass until nobody waits."""
    stage.model.faults.all_off()
    async with asyncio.timeout(PATIENCE):
        while stage.pending("waiting", "outage", "input", "turn-began"):
            await passing(stage, 5.0)


async def meet(stage: Stage) -> None:
    for who, place in (("alice", ALICE), ("bob", BOB), ("carol", CAROL)):
        await say(stage, who, place, "Hello")


async def unasked(stage: Stage, name: str, channel: str) -> list[str]:
    """Return the soul's messages at the top of a DM."""
    history = await stage.client(name).conversations_history(channel=channel)
    return [message["text"] for message in history["messages"] if message["user"] == SOUL.user]


def asks(stage: Stage) -> int:
    return len(stage.model.requests)


def errors(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]
