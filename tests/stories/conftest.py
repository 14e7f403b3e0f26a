"""The stage, with the soul awake on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stories.stage import ALICE, Stage, reply, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake()
        yield stage
        assert stage.unsent() == []


@pytest.fixture
async def thread(stage: Stage) -> str:
    """A conversation of Alice's that has begun."""
    stage.model.say(reply("Hello."))
    return await stage.say("alice", ALICE, "Hello")
