"""Clock that was once a year ahead."""

from __future__ import annotations

import asyncio

from rehearsal.people import ALICE as ALICE_HERSELF
from tests.stories.choosing import ASKED, answers, choice, deciding, turning
from tests.stories.mending import unasked
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_asking import SCHEDULE
from tests.stories.test_away import lose
from tests.stories.test_forgetting import forgotten
from tests.stories.ticking import did, do, live, thinks, tick, unlike

YEAR = 365 * 86_400.0


async def test_what_was_postponed_is_answered_in_a_minute(stage: Stage) -> None:
    stage.clock.set_ahead(YEAR)
    stage.model.fail(401, "authentication_error")
    ts = await stage.say("alice", ALICE, "Are you there?")
    assert len(stage.pending("waiting", "outage")) == 1
    await stage.sleep()
    stage.clock.set_ahead(0)
    stage.model.fail(401, "authentication_error")  # a start begins with a try
    await stage.wake()
    await stage.settled()
    stage.model.say(reply("Yes, I am."))
    await stage.clock.advance(59)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 1, "its minute is not over"
    await stage.clock.advance(15)  # jitter included
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[1:] == ["Yes, I am."]
    assert not stage.pending("waiting", "outage", "input")


async def test_what_slack_took_without_a_word_is_not_said_twice(stage: Stage) -> None:
    stage.clock.set_ahead(YEAR)
    stage.world.faults.switch("answer-lost", method="chat.startStream", times=1)
    stage.model.say(reply("Hello, Alice."))
    ts = await stage.post("alice", ALICE, "Hello")
    for _ in range(20):
        await stage.clock.advance(1)
        await stage.soul.worker.sweep()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hello, Alice."]


async def test_a_day_that_was_ahead_spends_nothing_of_today(stage: Stage) -> None:
    stage.clock.set_ahead(YEAR)
    stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hello")
    assert stage.soul.budget.today().cost > 0
    stage.clock.set_ahead(0)
    assert stage.soul.budget.today().cost == 0
    await stage.sleep()
    await stage.wake()
    assert stage.soul.budget.today().cost == 0


async def test_a_clock_that_is_set_makes_nobody_deaf(stage: Stage) -> None:
    stage.clock.set_ahead(YEAR)
    assert not stage.soul.slack.hearing.is_disconnected
    stage.clock.set_ahead(-YEAR)
    assert stage.soul.slack.hearing.inbound_age == 0


async def test_the_inner_life_neither_sleeps_nor_is_silent_for_as_long_as_the_clock_was_ahead(
    asleep: Stage,
) -> None:
    owned = {"owner_user_ids": frozenset({ALICE_HERSELF.id}), "inner_life_daily_messages": 1}
    asleep.clock.set_ahead(YEAR)
    await live(asleep, **owned)
    await did(asleep, do("message.send", to=ALICE_HERSELF.id, text="The lift is stuck."))
    await asleep.sleep()
    asleep.clock.set_ahead(0)
    await live(asleep, **owned)
    await did(asleep, do("message.send", to=ALICE_HERSELF.id, text="The lift works again."))
    spent = asleep.soul.budget.today().inner
    thinks(asleep, unlike(1))
    asked = await tick(asleep)
    assert asked.setting("messages sent today") == "1 of 1"
    assert asked.setting("spent today") == f"${spent:.2f} of $1.00"
    assert {*await unasked(asleep, "alice", ALICE)} == {"The lift is stuck.", "The lift works again."}


async def test_who_was_forgotten_is_heard_again_at_once(stage: Stage) -> None:
    stage.clock.set_ahead(YEAR)
    await forgotten(stage)
    await stage.sleep()
    ts = await stage.post("alice", ALICE, "Anybody there?")
    lose(stage)
    stage.model.say(reply("Yes."))
    await stage.wake()
    await stage.until(lambda: stage.entries("message")[-1].event.ts == ts)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Yes."]


async def test_a_reminder_can_be_stopped_as_soon_as_it_comes(stage: Stage) -> None:
    stage.clock.set_ahead(60)
    await deciding(stage)
    answers(stage, turning(), choice(SCHEDULE, "Respond"), reply("I will be back."))
    ts = await stage.say("alice", ALICE, ASKED)
    held, asked = asyncio.Event(), len(stage.model.requests)
    stage.model.say(reply("Still late."), until=held)
    await stage.passing(60, lambda: len(stage.model.requests) > asked)
    await stage.post("alice", ALICE, "stop", ts)
    await stage.until(lambda: stage.entries("stop"))
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
