"""Late stops and answers, which do not apply to anything newer."""

from __future__ import annotations

import asyncio

from rehearsal.people import ALICE as ALICE_HERSELF
from tests.stories.choosing import ASKED, answers, choice, deciding, offering, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_approval import publish, publishing
from tests.stories.test_asking import ASK, DONE, WHICH
from tests.stories.test_away import lose


async def woken_before_it_reads(stage: Stage) -> asyncio.Event:
    lose(stage)
    go = asyncio.Event()
    stage.wire.held["users.conversations"] = go
    await stage.wake()
    return go


async def read(stage: Stage, go: asyncio.Event) -> None:
    go.set()
    del stage.wire.held["users.conversations"]
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)


async def answering(stage: Stage, channel: str, root: str | None = None) -> tuple[str, asyncio.Event]:
    slow, asked = asyncio.Event(), len(stage.model.requests)
    stage.model.say(reply("Four."), until=slow)
    ts = await stage.post("alice", channel, f"{ME} What is 2+2?", root)
    await stage.until(lambda: len(stage.model.requests) > asked)
    return ts, slow


async def test_a_stop_that_was_missed_ends_nothing_that_was_asked_since(stage: Stage) -> None:
    root = await stage.say("alice", GENERAL, f"{ME} hello")
    await stage.sleep()
    await stage.post("alice", GENERAL, "stop", root)
    go = await woken_before_it_reads(stage)
    _, slow = await answering(stage, GENERAL, root)
    await read(stage, go)
    slow.set()
    await stage.settled()
    assert (await stage.answers(GENERAL, root))[-1] == "Four."
    assert not stage.entries("stop")


async def test_at_the_top_of_a_dm_it_is_meant_for_no_newer_conversation(stage: Stage) -> None:
    await stage.say("alice", ALICE, "hello")
    await stage.sleep()
    await stage.post("alice", ALICE, "stop")
    go = await woken_before_it_reads(stage)
    ts, slow = await answering(stage, ALICE)
    await read(stage, go)
    slow.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Four."]


async def test_there_it_ends_what_was_at_work_when_it_was_written(stage: Stage) -> None:
    offering(stage, publishing([]))
    await deciding(stage, owner_user_ids=frozenset({ALICE_HERSELF.id}))
    answers(stage, turning(), publish())
    ts = await stage.say("alice", ALICE, ASKED)
    await stage.sleep()
    await stage.post("alice", ALICE, "stop")
    go = await woken_before_it_reads(stage)
    newer, slow = await answering(stage, ALICE)
    await read(stage, go)
    slow.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert await stage.answers(ALICE, newer) == ["Four."]


async def test_words_that_were_missed_are_no_answer_to_a_newer_question(stage: Stage) -> None:
    await deciding(stage)
    await stage.say("alice", ALICE, "hello")
    await stage.sleep()
    missed = await stage.post("alice", ALICE, "Delete all of it, I do not need it any more.")
    go = await woken_before_it_reads(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    stage.model.say(reply("Are you sure?"))
    await read(stage, go)
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == WHICH, "nobody has answered it"
    assert await stage.answers(ALICE, missed) == ["Are you sure?"]
    assert not stage.entries("answered")


async def test_nor_are_those_that_crossed_with_it(stage: Stage) -> None:
    await deciding(stage)
    held, gate = asyncio.Event(), asyncio.Event()
    stage.model.say(turning())
    stage.model.say(choice(ASK), until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 2)
    stage.wire.held["chat.postMessage"] = gate
    held.set()
    await stage.until(lambda: WHICH in str(stage.wire.told("chat.postMessage")))
    said = {"token": "xoxp-alice", "channel": ALICE, "text": "And feed the cat.", "thread_ts": ts}
    await stage.session.post(f"{stage.url}/rehearsal/message", json=said)
    await stage.until(lambda: len(stage.entries("message")) == 2)
    del stage.wire.held["chat.postMessage"]
    gate.set()
    answers(stage, reply("The cat is fed."))
    await stage.settled()
    assert not stage.entries("answered")
    answers(stage, choice("Respond"), reply(DONE))
    await stage.say("alice", ALICE, "The one to the island.", ts)
    assert [entry.event.value for entry in stage.entries("answered")] == ["The one to the island."]


async def test_who_deletes_what_they_asked_is_not_answered_for_a_day(stage: Stage) -> None:
    held, asked = asyncio.Event(), len(stage.model.requests)
    await stage.say("alice", ALICE, "hello")
    stage.model.say(reply("Hm."), until=held)
    ts = await stage.post("alice", ALICE, "oops, wrong window")
    await stage.until(lambda: len(stage.model.requests) > asked + 1)
    await stage.client("alice").chat_delete(channel=ALICE, ts=ts)
    await stage.until(lambda: stage.entries("heard"))
    held.set()
    await stage.settled()
    assert [entry.event.outcome for entry in stage.entries("turn-ended")][-1] == "abandoned"
    assert not stage.pending("message", "turn-began")
