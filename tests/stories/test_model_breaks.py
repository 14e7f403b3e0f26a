"""Broken stream, answered anew in the same message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from daemon.claude.client import STALL
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.soak import SOAK, shared
from tests.stories.choosing import pressed
from tests.stories.outage import AWAY, later
from tests.stories.stage import ALICE, PATIENCE, Stage, reply

BREAKS = {
    "cut": lambda model, text: model.cut(after=text),
    "no message_stop": lambda model, text: model.cut(after=text, hush=True),
    "error in the stream": lambda model, text: model.fail(200, "overloaded_error", after=text),
}


async def test_a_stream_that_stalls_in_a_sentence_is_told_anew_in_the_same_message(
    stage: Stage, thread: str
) -> None:
    stage.model.faults.switch("stalled", characters=60, times=1)
    stage.model.say(reply("The answer is a long one, and never comes."), chunk=60)
    stage.model.say(reply("It is forty-two, of course."))
    await stage.post("alice", ALICE, "What is it?", thread)
    await stage.until(lambda: len(stage.entries("speech-started")) == 2)
    async with asyncio.timeout(PATIENCE):
        while len(stage.model.requests) < 3:
            await stage.clock.advance(STALL)
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "It is forty-two, of course."]
    assert stage.entries("model-call")[1].event.failure == "broken-stream"
    assert stage.entries("model-call")[2].event.name == "pipeline", "asked as before"


@pytest.mark.parametrize("breaks", shared(BREAKS.values(), 3), ids=BREAKS.keys())
async def test_what_breaks_off_in_the_middle_is_told_anew_in_the_same_message(
    stage: Stage, thread: str, breaks: Callable[[ClaudeUnderstudy, str], None]
) -> None:
    breaks(stage.model, "<aside>hm</aside><say>The answer is, of cour")
    stage.model.say(reply("It is forty-two, of course."))
    await stage.say("alice", ALICE, "What is it?", thread)
    assert await stage.answers(ALICE, thread) == ["Hello.", "It is forty-two, of course."]
    outcomes = [call.event.outcome for call in stage.entries("model-call")]
    assert outcomes == ["ok", "failed", "ok"]
    assert {call.event.name for call in stage.entries("model-call")} == {"pipeline"}, "asked as before"
    assert len(stage.entries("speech-started")) == 2, "a message each"
    assert all(call.event.cost > 0 for call in stage.entries("model-call"))
    await stage.say("alice", ALICE, "Why?", thread)
    assert "of cour'" not in stage.asked()[-1], "what broke off is in nobody's memory"


@pytest.mark.parametrize("breaks", shared(BREAKS.values(), 3), ids=BREAKS.keys())
async def test_what_breaks_off_twice_stays_readable_and_is_answered_later(
    stage: Stage, thread: str, breaks: Callable[[ClaudeUnderstudy, str], None]
) -> None:
    breaks(stage.model, "<say>The answer is, of cour")
    breaks(stage.model, "<say>It")
    stage.model.say(reply("It is forty-two."))
    await stage.say("alice", ALICE, "What is it?", thread)
    _, half, away = await stage.answers(ALICE, thread)
    assert half == "The answer is, of cour …"
    assert away.startswith(AWAY)
    await later(stage)
    assert (await stage.answers(ALICE, thread))[1:] == [half, away, "It is forty-two."]
    assert not stage.pending("waiting", "outage", "input", "speech", "turn-began")


async def test_what_broke_off_in_its_private_part_leaves_nothing_to_read(stage: Stage, thread: str) -> None:
    stage.model.cut(after="<aside>They must not kn")
    stage.model.cut(after="<aside>They must not kn")
    await stage.say("alice", ALICE, "What is it?", thread)
    _, away = await stage.answers(ALICE, thread)
    assert away.startswith(AWAY)


@SOAK
async def test_a_stop_after_a_break_does_not_ask_the_same_again(stage: Stage, thread: str) -> None:
    stage.model.cut(after="<say>The answer is, of cour")
    stage.model.say(reply("Never."), until=asyncio.Event())
    await stage.post("alice", ALICE, "What is it?", thread)
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.sleep()
    stage.model.say(reply("It is forty-two."))
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "It is forty-two."]
    assert len(stage.model.requests) == 4
    assert [call.key[-10:] for call in stage.entries("model-call")[1:]] == ["pipeline#1", "pipeline#2"]


@SOAK
async def test_money_that_runs_out_after_a_break_is_said_plainly_below_what_was_read(
    stage: Stage, thread: str
) -> None:
    dear = "They ask much. " * 1_000
    stage.soul.budget.daily = stage.soul.budget.today().cost + 0.13
    stage.model.cut(after=f"<aside>{dear}</aside><say>The answer is, of cour")
    await stage.say("alice", ALICE, "What is it?", thread)
    _, half, said = await stage.answers(ALICE, thread)
    assert half == "The answer is, of cour …"
    assert said.startswith("I have used up what I may spend")
    assert [call.event.outcome for call in stage.entries("model-call")] == ["ok", "failed", "over-budget"]
    assert stage.soul.budget.today().cost < stage.soul.budget.daily
    assert not stage.pending("speech")


async def test_money_that_runs_out_after_a_break_leaves_nothing_half_said_where_an_owner_is_asked(
    dormant: Stage,
) -> None:
    stage = dormant
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.soul.budget.daily = 0.13
    stage.model.cut(after=f"<aside>{'They ask much. ' * 1_000}</aside><say>The answer is, of cour")
    ts = await stage.say("alice", ALICE, "What is it?")
    half, question = await stage.answers(ALICE, ts)
    assert (half, question[:28]) == ("The answer is, of cour …", "I have used up what I may sp")
    assert not stage.pending("speech")
    stage.soul.budget.daily = 5
    stage.model.say(reply("It is forty-two."))
    await pressed(stage, "alice", "Continue")
    half, _, said = await stage.answers(ALICE, ts)
    assert (half, said) == ("The answer is, of cour …", "It is forty-two.")
