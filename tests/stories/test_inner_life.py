"""The soul thinks on its own: in ticks, each when its time has come, with commands that do what they say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A world in which the soul has an inner life."""
    async with staged(tmp_path) as stage:
        yield stage


async def live(stage: Stage, **settings: Any) -> None:
    """Wake it, with an inner life."""
    await stage.wake(inner_life_enabled=True, **settings)
    await stage.settled()


def thinks(stage: Stage, thought: str, *commands: dict[str, Any]) -> None:
    """What it will answer in its next tick."""
    lines = [json.dumps({"cmd_id": str(number), **one}) for number, one in enumerate(commands, 1)]
    section = "\n".join(["# Commands:", *lines, "# End of commands"]) if lines else ""
    stage.model.say(f"{thought}\n\n{section}")


async def tick(stage: Stage, seconds: float = 60.0) -> str:
    """Let the pause pass; what the model was asked then."""
    before = len(stage.entries("tick"))
    await stage.clock.advance(seconds)
    await stage.soul.worker.sweep()
    await stage.until(lambda: len(stage.entries("tick")) > before)
    await stage.settled()
    return stage.asked()[-1]


async def test_ten_ticks(stage: Stage) -> None:
    await live(stage)
    assert not stage.entries("model-call")
    for number in range(10):
        thinks(stage, f"Thought number {number * 7919}: {chr(97 + number) * 9}.")
        asked = await tick(stage)
    assert "Thought number 63352" in asked
