"""Stages: dormant, awake, with an inner life, or with a shop of tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stories.stage import ALICE, Stage, reply, staged
from tests.stories.ticking import live
from tests.stories.tooling import Shop


@pytest.fixture
async def dormant(tmp_path: Path) -> AsyncIterator[Stage]:
    """Yield a stage for tests that start the soul themselves."""
    async with staged(tmp_path) as stage:
        yield stage
        assert stage.unsent() == []


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    await dormant.wake()
    return dormant


@pytest.fixture
async def shop(dormant: Stage) -> Shop:
    return Shop(stage=dormant)


@pytest.fixture
async def thread(stage: Stage) -> str:
    """Return the ts of a conversation of Alice's."""
    stage.model.say(reply("Hello."))
    return await stage.say("alice", ALICE, "Hello")


@pytest.fixture
async def asleep(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


@pytest.fixture
async def alive(asleep: Stage) -> Stage:
    await live(asleep)
    return asleep
