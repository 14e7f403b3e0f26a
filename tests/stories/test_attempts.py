"""Retries of turns with growing delays; takeover by another daemon."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from daemon.app.discovery import PROCESSES
from daemon.engine.kinds import TurnResumed
from daemon.engine.retries import LONGEST_PAUSE
from daemon.memory import WorkingMemory
from daemon.turn.turn import Turn
from tests.stories.stage import ALICE, PATIENCE, Stage, reply

TRIES = 8


async def test_a_turn_that_fails_is_not_tried_again_in_a_hurry(stage: Stage) -> None:
    stage.model.say(reply("At last."))
    stage.wire.lacking |= {"conversations.replies"}
    stage.wire.refuse["chat.startStream"] = ["internal_error"]
    ts = await stage.post("alice", ALICE, "Are you there?")
    async with asyncio.timeout(PATIENCE):
        while len(stage.entries("attempt-failed")) < TRIES:
            await stage.clock.advance(1)
        failed = [entry.at for entry in stage.entries("attempt-failed")]
        stage.wire.lacking.clear()
        while not stage.entries("turn-ended"):
            await stage.clock.advance(1)
    waited = [after - before for before, after in pairwise(failed)]
    pauses = [min(2.0**attempt, LONGEST_PAUSE) for attempt in range(1, TRIES)]
    assert all(one >= least for one, least in zip(waited, pauses, strict=True)), waited
    assert await stage.answers(ALICE, ts) == ["At last."]


async def test_a_turn_that_another_daemon_has_taken_over_claims_nothing(stage: Stage) -> None:
    async def conversation(turn: Turn) -> WorkingMemory:
        began = turn.execution.began
        taken_over = TurnResumed(attempt=2)
        await stage.soul.journal.append(
            turn.thread, taken_over, key=f"{turn.execution.turn}!attempt#2", cause=began.seq
        )
        await turn.claim("the only one")
        return turn.memory

    stage.processes = {**PROCESSES, "conversation": conversation}
    await stage.sleep()
    await stage.wake()
    await stage.post("alice", ALICE, "Are you there?")
    await stage.until(
        lambda: [one for one in stage.entries("turn-began") if stage.soul.worker.has_lost(one.thread)]
    )
    assert stage.soul.journal.get("the only one") is None
