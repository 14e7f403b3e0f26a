"""Approval of an action by an owner."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from pydantic import BaseModel

from daemon.actions.action import ActionDefinition, RunContext
from rehearsal.people import BOB, CAROL
from tests.soak import SOAK, later
from tests.stories.choosing import (
    ASKED,
    ON_IT,
    answers,
    calls,
    choice,
    deciding,
    ended,
    offering,
    outcomes,
    press,
    pressed,
    questions,
    shown,
    told,
    turning,
    whispers,
)
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

NEWS = "The ferry is late."
DONE = "It is published."
MAY_I = f"<@{CAROL.id}>, may I do this? *Publish*\n```\ntext: {NEWS}\n```"
NOT_NOW = "no, do not publish it"


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


class Post(BaseModel):
    """What to publish."""

    text: str


def publishing(published: list[str]) -> ActionDefinition:
    async def perform(_run: RunContext, post: Post) -> str:
        published.append(post.text)
        return "it is out"

    return ActionDefinition(
        name="Publish",
        description="Publish it.",
        perform=perform,
        args=Post,
        repeatable=False,
        approval=True,
        effect=True,
    )


def publish(text: str = NEWS) -> str:
    return choice({"name": "Publish", "args": {"text": text}})


async def asking(
    stage: Stage, published: list[str], *owners: str, action: ActionDefinition | None = None
) -> str:
    offering(stage, action or publishing(published))
    await deciding(stage, owner_user_ids=frozenset(owners))
    answers(stage, turning(), publish())
    return await stage.say("alice", GENERAL, f"{ME} {ASKED}")


async def again(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake()


async def question_ts(stage: Stage) -> str:
    [question] = questions(stage)
    *_, spoken = stage.soul.journal.entries_at(question.event.said)
    return str(spoken.event.ts)


async def test_it_is_done_when_an_owner_agrees_after_a_restart(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    assert (await shown(stage, GENERAL, ts))[1:] == [(ON_IT, []), (MAY_I, ["Approve", "Decline"])]
    assert (published, outcomes(stage), stage.entries("action")) == ([], ["suspended"], [])
    paid = len(stage.model.requests)
    await again(stage)
    await pressed(stage, "bob", "Approve")
    assert len(whispers(stage)) == 1, "it is not his to answer"
    assert (published, len(stage.model.requests)) == ([], paid)
    await again(stage)
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    *_, (asked, buttons), (done, _) = await shown(stage, GENERAL, ts)
    assert (asked.startswith(MAY_I), buttons, done) == (True, [], DONE)
    assert "it is out" in told(stage)
    assert ended(stage) == ["finished"]
    assert len(stage.model.requests) == paid + 2
    assert not stage.entries("restarted", "attempt-failed")
    assert not stage.pending("asked", "action", "input", "turn-began")


async def test_what_is_said_meanwhile_is_heard_first(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    answers(stage, reply("As you like."))
    await stage.say("alice", GENERAL, "oh no, better don't", ts)
    assert calls(stage)[-1] == "pipeline", "it is answered, and the question stays"
    await again(stage)
    answers(stage, choice("Respond"), reply("I have left it."))
    await pressed(stage, "carol", "Approve")
    assert published == []
    assert "choose it again if it is still right" in told(stage)
    assert "better don't" in told(stage)
    assert (await stage.answers(GENERAL, ts))[-1] == "I have left it."


@SOAK
async def test_if_it_is_still_right_nobody_is_asked_again(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    answers(stage, reply("Yes."))
    await stage.say("alice", GENERAL, "did you ask already?", ts)
    answers(stage, publish(), choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert len(stage.entries("asked")) == 1
    assert (await stage.answers(GENERAL, ts))[-1] == DONE


async def test_something_else_has_to_be_asked_for(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL.id)
    answers(stage, publish("The bridge is up."))
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert len(questions(stage)) == 1
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "carol", "Decline")
    assert published == [NEWS]


async def test_after_what_was_said_meanwhile_something_else_has_to_be_asked_for(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    answers(stage, reply("Yes."))
    await stage.say("alice", GENERAL, "did you ask already?", ts)
    answers(stage, publish("The bridge is up."))
    await pressed(stage, "carol", "Approve")
    assert published == []
    assert len(questions(stage)) == 1


async def test_an_owner_says_no(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    answers(stage, choice("Respond"), reply("I may not."))
    await pressed(stage, "carol", "Decline")
    assert (await stage.answers(GENERAL, ts))[-1] == "I may not."
    assert "an owner was asked, and said no" in told(stage)
    assert (published, ended(stage)) == ([], ["finished"])


async def test_where_there_is_nobody_to_ask_it_is_not_done(stage: Stage) -> None:
    published: list[str] = []
    offering(stage, publishing(published))
    await deciding(stage)
    answers(stage, turning(), publish(), choice("Respond"), reply("I may not."))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert await stage.answers(GENERAL, ts) == [ON_IT, "I may not."]
    assert "nobody can agree to it here" in told(stage)
    assert (published, stage.entries("asked", "action")) == ([], [])


@pytest.mark.parametrize("restarts", [False, later(True)])
@pytest.mark.parametrize(("said", "why"), [(NOT_NOW, "finished"), ("stop", "interrupted")])
async def test_what_waits_beside_the_press_is_heard_before_it_is_done(
    stage: Stage, said: str, why: str, restarts: bool
) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL.id)
    stage.model.say('{"kind": "more"}', asks="a new matter that wants")
    answers(stage, choice("Respond"), reply("I have left it."))
    stage.wire.held["chat.update"] = held = asyncio.Event()
    await press(stage, "carol", GENERAL, await question_ts(stage), "Approve")
    await stage.until(lambda: stage.entries("answered"))
    before = len(stage.entries("input"))
    await stage.post("alice", GENERAL, said, ts)
    await stage.until(lambda: len(stage.entries("input")) > before)
    if restarts:
        await stage.sleep()
    held.set()
    stage.wire.held.clear()
    if restarts:
        await stage.wake()
    await stage.settled()
    assert published == []
    assert ended(stage) == [why]
    assert (await stage.answers(GENERAL, ts))[-1] == {
        "finished": "I have left it.",
        "interrupted": "Stopped.",
    }[why]
    if why == "finished":
        assert "choose it again if it is still right" in told(stage)
        assert said in told(stage)
    assert not stage.pending("asked", "action", "input", "turn-began")


async def test_what_ends_a_run_does_not_end_it_where_it_is_not_done(stage: Stage) -> None:
    published: list[str] = []
    offering(stage, dataclasses.replace(publishing(published), terminal=True))
    await deciding(stage)
    answers(stage, turning(), publish(), choice("Respond"), reply("I may not."))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert await stage.answers(GENERAL, ts) == [ON_IT, "I may not."]
    assert "Publish was not run: nobody can agree" in told(stage)


async def test_in_a_conversation_that_no_owner_reads_nobody_is_asked(stage: Stage) -> None:
    published: list[str] = []
    offering(stage, publishing(published))
    await deciding(stage, owner_user_ids=frozenset({CAROL.id}))
    answers(stage, turning(), publish(), choice("Respond"), reply("I may not."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "I may not."]
    assert (published, stage.entries("asked")) == ([], [])


async def test_one_agreement_is_for_one_deed(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL.id)
    answers(stage, publish())
    await pressed(stage, "carol", "Approve")
    assert published == [NEWS]
    assert len(questions(stage)) == 1, "it asks again before it does it again"


async def agreed_and_killed(stage: Stage, published: list[str], method: str) -> str:
    ts = await asking(stage, published, BOB.id, CAROL.id)
    stage.wire.held[method] = held = asyncio.Event()
    await press(stage, "carol", GENERAL, await question_ts(stage), "Approve")
    await stage.until(lambda: stage.entries("answer") and stage.wire.told(method))
    await stage.sleep()
    held.set()
    stage.wire.held.clear()
    return ts


@pytest.mark.parametrize(("method", "recorded"), [("chat.update", True), later("users.info", False)])
async def test_what_a_former_owner_agreed_to_is_not_done(stage: Stage, method: str, recorded: bool) -> None:
    published: list[str] = []
    ts = await agreed_and_killed(stage, published, method)
    answers(stage, turning("I am at it again."), publish())
    await stage.wake(owner_user_ids=frozenset({BOB.id}))
    await stage.settled()
    assert published == []
    assert bool(stage.entries("answered")) == recorded
    *_, (asked, buttons) = await shown(stage, GENERAL, ts)
    assert (asked, buttons) == (MAY_I.replace(CAROL.id, BOB.id), ["Approve", "Decline"])
    answers(stage, choice("Respond"), reply(DONE))
    await pressed(stage, "bob", "Approve")
    assert published == [NEWS]


@SOAK
async def test_nor_where_nobody_is_left_to_agree(stage: Stage) -> None:
    published: list[str] = []
    ts = await agreed_and_killed(stage, published, "chat.update")
    answers(stage, turning("I am at it again."), publish(), choice("Respond"), reply("I may not."))
    await stage.wake(owner_user_ids=frozenset())
    await stage.settled()
    assert published == []
    assert (await stage.answers(GENERAL, ts))[-1] == "I may not."
    assert not stage.pending("asked", "action", "input", "turn-began")
