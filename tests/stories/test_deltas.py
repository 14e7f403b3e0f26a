"""Pieces of an answer, none of which reads the journal."""

from __future__ import annotations

from daemon.slack.speaker import ENOUGH
from tests.stories.stage import ALICE, Stage, reply

PIECES = 1_500


async def test_no_piece_of_an_answer_asks_the_journal_anything(stage: Stage) -> None:
    await asked_for(stage, 1)  # asked once a start
    few, many = await asked_for(stage, 1), await asked_for(stage, PIECES)
    requests = PIECES * len("so ") // ENOUGH
    assert many - few <= requests + 10, "each request asks whether the thread is still ours"


async def asked_for(stage: Stage, words: int) -> int:
    asked: list[str] = []
    stage.model.say(reply("so " * words))
    ts = await stage.post("alice", ALICE, "And so?")
    stage.soul.journal._store._db.set_trace_callback(asked.append)
    await stage.settled()
    stage.soul.journal._store._db.set_trace_callback(None)
    assert await stage.answers(ALICE, ts) == [("so " * words).strip()]
    return len(asked)
