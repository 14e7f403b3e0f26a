"""Outages, broken streams and restarts without loss."""

from __future__ import annotations

import asyncio

from daemon.engine.outages import JITTER
from tests.stories.stage import ALICE, BOB, Stage, reply

AWAY = "I can't gather my thoughts"


async def late(stage: Stage, seconds: float) -> None:
    await stage.clock.leap(seconds * (1 + JITTER) + 1)
    await stage.soul.worker.sweep()
    await stage.settled()


async def test_an_outage_is_told_once_and_the_message_answered_later(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    for _ in range(3):
        stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.say("alice", ALICE, "Are you there?", ts)
    for minutes in (1, 5):
        await late(stage, minutes * 60)
    assert [text[: len(AWAY)] for text in await stage.answers(ALICE, ts)][1:] == [AWAY]
    assert len(stage.model.requests) == 4
    stage.model.say(reply("Yes, I am."))
    await late(stage, 30 * 60)
    assert (await stage.answers(ALICE, ts))[-1] == "Yes, I am."
    assert not stage.pending("waiting", "outage", "input")


async def test_a_message_during_an_outage_is_answered_with_the_one_before(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    stage.model.fail(429, "rate_limit_error", wait=60)
    await stage.say("alice", ALICE, "First question", ts)
    stage.model.say(reply("Both answered."))
    await stage.say("alice", ALICE, "Second question", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Both answered."
    assert "First question" in stage.asked()[-1]
    assert not stage.pending("waiting", "outage"), "nothing is left to answer later"


async def test_no_exception_text_reaches_a_person(stage: Stage) -> None:
    stage.model.fail(400, "invalid_request_error")
    ts = await stage.say("alice", ALICE, "Hello")
    said = " ".join(await stage.answers(ALICE, ts))
    assert "error" not in said.lower()
    assert "400" not in said


async def test_a_restart_between_two_messages_forgets_nothing(stage: Stage) -> None:
    stage.model.say(reply("Noted."))
    ts = await stage.say("alice", ALICE, "My cat is called Ada.")
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "What is she called?", ts)
    assert "My cat is called Ada." in stage.asked()[-1]
    assert "Noted." in stage.asked()[-1]
    assert len(await stage.answers(ALICE, ts)) == 2


async def test_a_stop_in_the_middle_of_a_turn_is_taken_up_by_the_next_start(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    never = asyncio.Event()
    stage.model.say(reply("Lost."), until=never)
    ts = await stage.post("alice", ALICE, "A long story…")
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.sleep()
    stage.model.say(reply("Told after all."))
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Told after all."]
    [resumed] = stage.entries("turn-resumed")
    assert resumed.event.attempt == 2


async def test_what_is_said_while_the_daemon_is_away_is_answered_when_it_comes_back(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    await stage.sleep()
    ts = await stage.post("bob", BOB, "Nobody home?")
    await stage.wake()
    await stage.until(lambda: stage.entries("input")[-1].author == "U0BOB000002")
    await stage.settled()
    assert len(await stage.answers(BOB, ts)) == 1


async def test_some_minutes_without_slack_cost_neither_the_answer_nor_a_second_call(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    stage.model.say(reply("Worth waiting for."))
    stage.wire.lacking |= {"conversations.replies"}
    stage.wire.refuse["chat.startStream"] = ["internal_error"]
    await stage.post("alice", ALICE, "Still there?", ts)
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.passing(61, lambda: len(stage.entries("attempt-failed")) >= 7)
    stage.wire.lacking.clear()
    await stage.passing(61, lambda: not stage.pending("turn-began"))
    assert (await stage.answers(ALICE, ts))[1:] == ["Worth waiting for."]
    assert len(stage.model.requests) == 2


async def test_where_it_may_not_speak_any_more_a_turn_ends_in_silence(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    held = asyncio.Event()
    stage.model.say(reply("Nobody will read this."), until=held)
    ts = await stage.post("bob", BOB, "Anyone?")
    await stage.until(lambda: len(stage.model.requests) == 2)
    for method in ("chat.startStream", "chat.postMessage"):
        stage.wire.refuse[method] = ["is_archived"] * 1000
    held.set()
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.passing(301, lambda: len(stage.entries("turn-ended")) == 2)
    assert stage.entries("turn-ended")[-1].event.outcome == "abandoned"
    assert not stage.pending("input", "turn-began", "speech")
    stage.wire.refuse.clear()
    await stage.say("bob", BOB, "And now?", ts)
    assert len(await stage.answers(BOB, ts)) == 1, "the next message is answered again"


async def test_what_claude_does_not_understand_is_not_tried_for_a_day(stage: Stage, thread: str) -> None:
    for _ in range(3):
        stage.model.fail(400, "invalid_request_error")
    await stage.say("alice", ALICE, "Are you there?", thread)
    for seconds in (60, 300):
        await late(stage, seconds)
    _, away, failed = await stage.answers(ALICE, thread)
    assert away.startswith("I can't gather my thoughts")
    assert failed.startswith("Something in me went wrong")
    assert not stage.pending("waiting", "outage")
