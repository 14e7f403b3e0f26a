"""Helpers for model outages."""

from __future__ import annotations

from functools import partial

import pytest

from daemon.claude.availability import BACKOFF, MOST_TRIES_OF_CALL
from daemon.engine.outages import JITTER
from tests.stories.stage import Stage

AWAY = "I can't gather my thoughts"
AT_FAULT = "I can't think right now"
"""Beginning of the notice about an account fault."""
LATER = 61.0 * (1 + JITTER)
"""Seconds until any wait is retried, including jitter."""


async def pauses(stage: Stage, caplog: pytest.LogCaptureFixture, failures: int) -> None:
    """Wait for failed tries, passing the pause after each."""
    for failure in range(1, failures + 1):
        await stage.until(partial(_failed, caplog, failure))
        await stage.clock.advance(BACKOFF * MOST_TRIES_OF_CALL)


def _failed(caplog: pytest.LogCaptureFixture, times: int) -> bool:
    return caplog.text.count("Claude did not answer") >= times


async def later(stage: Stage) -> None:
    await stage.clock.advance(LATER)
    await stage.soul.worker.sweep()
    await stage.settled()
