"""Backfill after Slack's own retries have ended."""

from __future__ import annotations

from rehearsal.people import SOUL
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply

HOUR = 3600.0


def lose(stage: Stage) -> None:
    with stage.world.workspace.db as db:
        db.execute("update delivery set acked = 0 where acked is null and app = ?", (SOUL.id,))


async def back(stage: Stage, **settings: str | float) -> None:
    lose(stage)
    await stage.wake(**settings)
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.settled()


async def test_what_nobody_heard_is_answered_in_one_breath_for_each_thread(stage: Stage) -> None:
    root = await stage.say("alice", GENERAL, f"{ME} hello")
    await stage.sleep()
    await stage.post("alice", GENERAL, "One more thing.", root)
    await stage.post("bob", GENERAL, "Two, in fact.", root)
    ts = await stage.post("bob", BOB, "Nobody home?")
    await stage.clock.advance(HOUR)
    await back(stage)
    assert len(await stage.answers(GENERAL, root)) == 2
    assert len(await stage.answers(BOB, ts)) == 1
    thread = [request for request in stage.asked() if "One more thing." in request]
    assert len(thread) == 1
    assert "Two, in fact." in thread[0]


async def test_what_is_too_old_for_an_answer_is_known_when_its_thread_goes_on(stage: Stage) -> None:
    await stage.sleep()
    ts = await stage.post("alice", ALICE, "What is the capital of Peru?")
    await stage.clock.advance(2 * HOUR)
    await back(stage, catch_up_max_age=HOUR)
    assert await stage.answers(ALICE, ts) == []
    stage.model.say(reply("Lima."))
    await stage.say("alice", ALICE, "Well?", ts)
    assert await stage.answers(ALICE, ts) == ["Lima."]
    assert "capital of Peru" in stage.asked()[-1]
