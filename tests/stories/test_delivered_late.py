"""CATCH_UP_MAX_AGE: later messages are remembered, not answered."""

from __future__ import annotations

from tests.stories.stage import ALICE, Stage


async def test_what_slack_delivers_later_than_the_setting_is_not_answered(dormant: Stage) -> None:
    await dormant.wake(catch_up_max_age=60.0)
    await dormant.until(lambda: not dormant.soul.slack.catch_up.is_running)
    dormant.world.faults.switch("delay", seconds=100.0, times=1.0)
    ts = await dormant.post("alice", ALICE, "Is anybody there?")
    await dormant.clock.advance(110)
    await dormant.settled()
    assert await dormant.answers(ALICE, ts) == []
    dormant.world.faults.all_off()
    await dormant.say("alice", ALICE, "And now?", ts)
    assert len(await dormant.answers(ALICE, ts)) == 1
    assert "Is anybody there?" in str(dormant.prompt()), "it is remembered"


async def test_however_short_the_setting_is_what_comes_at_once_is_answered(dormant: Stage) -> None:
    await dormant.wake(catch_up_max_age=0.0)
    ts = await dormant.say("alice", ALICE, "Is anybody there?")
    assert len(await dormant.answers(ALICE, ts)) == 1


async def test_an_event_that_is_retried_in_time_is_answered(dormant: Stage) -> None:
    await dormant.wake(catch_up_max_age=600.0)
    await dormant.until(lambda: not dormant.soul.slack.catch_up.is_running)
    dormant.world.faults.switch("delay", seconds=300.0, times=1.0)
    ts = await dormant.post("alice", ALICE, "Is anybody there?")
    await dormant.clock.advance(310)
    await dormant.settled()
    assert len(await dormant.answers(ALICE, ts)) == 1
