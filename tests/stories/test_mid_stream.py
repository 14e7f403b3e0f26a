"""Streamed message completed after a kill."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from rehearsal.claude.understudy import PACE
from tests.attention import until
from tests.soak import SOAK, later
from tests.stories.process import around, into, running
from tests.stories.stage import reply

LONG = "I begin, and I go on, and on. " * 30
WHOLE = "I begin again, and this time I come to an end."


@SOAK
@pytest.mark.parametrize("seen", [later(1), 100], ids=["just begun", "grown"])
async def test_killed_while_it_speaks_it_finishes_the_same_message(tmp_path: Path, seen: int) -> None:
    async with around(tmp_path, PACE) as place:
        place.model.say(reply(LONG), chunk=8)
        async with running(tmp_path / "soul", **into(place.url)) as (process, _):
            ts = await place.say("Tell me something.")
            await until(lambda: len("".join(place.texts(ts))) >= seen)
            half = place.texts(ts)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert len(half[0]) < len(LONG), "it was in the middle of it"
        place.model.say(reply(WHOLE))
        async with running(tmp_path / "soul", **into(place.url)):
            await until(lambda: place.texts(ts)[-1] == WHOLE and place.answers(ts)[-1].streaming is None)
        assert place.texts(ts) == [WHOLE]
        assert len(place.model.requests) == 2
