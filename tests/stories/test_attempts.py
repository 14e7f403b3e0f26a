"""A turn that Slack does not let end is tried again: soon at first, then ever more rarely."""

from __future__ import annotations

from itertools import pairwise

from daemon.life.live import MAX_BACKOFF
from tests.stories.stage import ALICE, Stage, reply

TRIES = 8


async def test_a_turn_that_fails_is_not_tried_again_in_a_hurry(stage: Stage) -> None:
    stage.model.say(reply("At last."))
    stage.wire.lacking |= {"conversations.replies"}
    stage.wire.refuse["chat.startStream"] = ["internal_error"]
    ts = await stage.post("alice", ALICE, "Are you there?")
    await stage.until(lambda: stage.entries("failure"))
    pauses = [min(2.0**attempt, MAX_BACKOFF) for attempt in range(1, TRIES)]
    for pause in pauses:
        await stage.until(lambda: stage.clock.sleepers)
        await stage.clock.advance(pause)
    await stage.until(lambda: len(stage.entries("failure")) == TRIES)
    failed = [entry.at for entry in stage.entries("failure")]
    assert [after - before for before, after in pairwise(failed)] == pauses
    stage.wire.lacking.clear()
    await stage.clock.advance(MAX_BACKOFF)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["At last."]
