"""What the stories of a failing model share: how time goes on while a model fails."""

from __future__ import annotations

from functools import partial

import pytest

from daemon.claude.availability import BACKOFF, MOST_TRIES_OF_CALL
from daemon.engine.outages import CHANCE
from tests.stories.stage import Stage

AWAY = "I can't gather my thoughts"
AT_FAULT = "I can't think right now"
"""How people are told that the account is at fault."""
LATER = 61.0 * (1 + CHANCE)
"""Seconds after which what waits is tried again, whatever chance added."""


async def pauses(stage: Stage, caplog: pytest.LogCaptureFixture, failures: int) -> None:
    """So many tries fail, and after each of them the pause before the next one passes."""
    for failure in range(1, failures + 1):
        await stage.until(partial(_failed, caplog, failure))
        await stage.clock.advance(BACKOFF * MOST_TRIES_OF_CALL)


def _failed(caplog: pytest.LogCaptureFixture, times: int) -> bool:
    return caplog.text.count("Claude did not answer") >= times


async def later(stage: Stage) -> None:
    """The time for another try has come."""
    await stage.clock.advance(LATER)
    await stage.soul.worker.sweep()
    await stage.settled()
