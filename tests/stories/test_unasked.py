"""Unprompted messages in DMs, threads and channels."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.process import Turn
from rehearsal.people import CAROL
from tests.soak import SOAK, later
from tests.stories.mending import unasked
from tests.stories.speaking import became, has_said, thread_of, top, wanted
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply
from tests.stories.test_learning import people, told

NEWS = "The ferry is late today."


async def test_in_a_conversation_it_is_said_and_remembered_and_nothing_else_changes(
    stage: Stage, thread: str
) -> None:
    here = thread_of(stage, ALICE, thread)
    stage.model.say(reply("Indeed.", mood="amused"))
    await stage.say("alice", ALICE, "Is it Monday?", thread)
    paid = len(stage.model.requests)
    await has_said(stage, here, NEWS)
    assert (await stage.answers(ALICE, thread))[-1] == NEWS
    assert (became(stage), len(stage.model.requests)) == (["said"], paid), "nobody is asked"
    stage.model.say(reply("An hour, they say."))
    await stage.say("alice", ALICE, "How late?", thread)
    asked = stage.asked()[-1]
    assert asked.index("Is it Monday?") < asked.index(NEWS) < asked.index("How late?")
    assert "amused" in asked, "its mood is as it was"
    assert not stage.pending("input", "turn-began", "speech")


async def test_at_the_top_of_a_channel_it_begins_a_conversation_for_whoever_answers_below(
    stage: Stage,
) -> None:
    await has_said(stage, await top(stage, GENERAL), NEWS)
    [said] = await unasked(stage, "alice", GENERAL)
    assert said == NEWS
    [spoken] = stage.entries("spoken")
    ts = spoken.event.ts
    stage.model.say(reply("An hour, they say."))
    await stage.say("bob", GENERAL, "How late?", ts)
    assert (await stage.answers(GENERAL, ts))[1:] == ["An hour, they say."]
    asked = stage.asked()[-1]
    assert asked.index(NEWS) < asked.index("How late?"), "it knows what it is asked about"
    stage.model.say(reply("At noon."))
    await stage.say("bob", GENERAL, "And when is it here?", ts)
    assert stage.asked()[-1].count(NEWS) == 1
    assert not stage.pending("input", "turn-began", "speech")


async def test_in_a_dm_it_is_known_to_the_conversation_that_begins_below_it(stage: Stage) -> None:
    await has_said(stage, await stage.soul.slack.doors.open_dm(CAROL.id), NEWS)
    [spoken] = stage.entries("spoken")
    stage.model.say(reply("An hour, they say."))
    await stage.say("carol", "D0CAROL0001", "How late?", spoken.event.ts)
    assert NEWS in stage.asked()[-1]


@SOAK
async def test_a_turn_at_work_is_not_disturbed_and_messages_go_first(stage: Stage, thread: str) -> None:
    here = thread_of(stage, ALICE, thread)
    held = asyncio.Event()
    stage.model.say(reply("It is noon."), until=held)
    await stage.post("alice", ALICE, "What time is it?", thread)
    await stage.until(lambda: len(stage.model.requests) == 2)
    await wanted(stage, here, NEWS)
    stage.model.say(reply("It is Monday."))
    await stage.post("alice", ALICE, "And what day?", thread)
    await stage.until(lambda: len(stage.entries("message")) == 3)
    held.set()
    await stage.settled()
    assert (await stage.answers(ALICE, thread))[1:] == ["It is noon.", "It is Monday.", NEWS]
    assert not stage.entries("attempt-failed", "received")


@SOAK
async def test_an_afterthought_does_not_yield_to_it(stage: Stage, thread: str) -> None:
    here = thread_of(stage, ALICE, thread)
    held = asyncio.Event()
    told(stage, until=held)
    await stage.post("alice", ALICE, "I keep bees.", thread)
    await stage.until(lambda: len(stage.model.requests) == 3)
    await wanted(stage, here, NEWS)
    await stage.clock.advance(1)
    held.set()
    await stage.settled()
    assert len(people(stage)) == 1
    assert (await stage.answers(ALICE, thread))[-1] == NEWS


@pytest.mark.parametrize("thought", ["<think>they are dull</think>", later("  \n")])
async def test_a_thought_is_never_said(stage: Stage, thread: str, thought: str) -> None:
    here = thread_of(stage, ALICE, thread)
    await has_said(stage, here, thought)
    await has_said(stage, here, f"{thought}\n{NEWS}")
    assert (await stage.answers(ALICE, thread))[1:] == [NEWS]
    assert became(stage) == ["refused", "said"]


async def test_killed_when_slack_had_it_it_is_said_once(stage: Stage, thread: str) -> None:
    stage.wire.cut.add("chat.postMessage")
    await wanted(stage, thread_of(stage, ALICE, thread), NEWS)
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.sleep()
    stage.wire.cut.clear()
    await stage.wake()
    await stage.passing(5.0, lambda: became(stage))
    await stage.settled()
    assert (await stage.answers(ALICE, thread))[1:] == [NEWS]
    assert became(stage) == ["said"]


async def test_killed_before_its_turn_it_is_said_after_the_next_start(stage: Stage) -> None:
    there = await top(stage, GENERAL)
    held = stage.wire.held["chat.postMessage"] = asyncio.Event()
    await wanted(stage, there, NEWS)
    await stage.until(lambda: stage.entries("speech"))
    await stage.sleep()
    held.set()
    stage.wire.held.clear()
    await stage.wake()
    await stage.settled()
    assert await unasked(stage, "alice", GENERAL) == [NEWS]
    assert became(stage) == ["said"]


async def test_where_slack_takes_nothing_it_is_known_and_nobody_is_told(stage: Stage) -> None:
    there = await top(stage, GENERAL)
    stage.wire.refuse["chat.postMessage"] += ["is_archived"]
    await has_said(stage, there, NEWS)
    assert await unasked(stage, "alice", GENERAL) == []
    assert became(stage) == ["refused"]
    assert not stage.pending("input", "turn-began", "speech")


async def test_what_fails_unasked_is_told_to_the_inner_life_alone(stage: Stage, thread: str) -> None:
    async def failing(turn: Turn) -> WorkingMemory:
        raise ValueError("a fault of ours")

    await stage.sleep()
    stage.processes = {**PROCESSES, "saying": replace(PROCESSES["saying"], run=failing)}
    await stage.wake()
    await wanted(stage, thread_of(stage, ALICE, thread), NEWS)
    await stage.passing(60.0, lambda: not stage.undone())
    assert (await stage.answers(ALICE, thread))[1:] == []
    assert became(stage) == ["refused"]


async def test_it_can_call_nobody(stage: Stage) -> None:
    await has_said(stage, await top(stage, GENERAL), f"<@{CAROL.id}> and @channel: {ME}, look!")
    [said] = await unasked(stage, "alice", GENERAL)
    assert f"<@{CAROL.id}>" not in said
    assert "@channel" not in said
    assert await unasked(stage, "bob", BOB) == []
