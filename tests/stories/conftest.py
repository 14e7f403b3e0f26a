"""The stage, with the soul awake on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stories.stage import ALICE, Stage, reply, staged
from tests.stories.ticking import live


@pytest.fixture
async def dormant(tmp_path: Path) -> AsyncIterator[Stage]:
    """The stage for stories that wake the soul themselves, as they want it."""
    async with staged(tmp_path) as stage:
        yield stage
        assert stage.unsent() == []


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    await dormant.wake()
    return dormant


@pytest.fixture
async def thread(stage: Stage) -> str:
    """A conversation of Alice's that has begun."""
    stage.model.say(reply("Hello."))
    return await stage.say("alice", ALICE, "Hello")


@pytest.fixture
async def asleep(tmp_path: Path) -> AsyncIterator[Stage]:
    """The stage before the soul is awake on it."""
    async with staged(tmp_path) as stage:
        yield stage


@pytest.fixture
async def alive(asleep: Stage) -> Stage:
    """The stage, with a soul on it that has an inner life."""
    await live(asleep)
    return asleep
