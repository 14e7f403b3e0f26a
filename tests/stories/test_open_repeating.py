"""Repetition in open thought, warned and then ended."""

from __future__ import annotations

import asyncio

from daemon.actions.action import ActionContext, ActionDefinition
from tests.soak import SOAK
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_deeds import offering
from tests.stories.test_open_thought import ALONE, calls_itself, final, goes_on, thinks, told

AGAIN = "Let me think about it."
SAID = "You have written that already"


def codes(stage: Stage) -> list[str]:
    return [entry.event.code for entry in stage.entries("inner-message") if entry.event.code]


async def test_what_it_says_again_is_remarked_and_then_ended(stage: Stage) -> None:
    on = calls_itself(AGAIN)
    thinks(stage, on, calls_itself(f"\n{AGAIN.upper()}  "), on)
    stage.model.say(final("Forty-two, I think."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "What is it?")
    assert await stage.answers(ALICE, ts) == ["Forty-two, I think."]
    assert codes(stage) == ["repeated", "alone"]
    assert SAID in told(stage)[0]
    assert len(stage.entries("self-call")) == 1, "a repetition calls nobody"


@SOAK
async def test_another_way_goes_on(stage: Stage) -> None:
    on, off = calls_itself(AGAIN), calls_itself("Now the other way.")
    thinks(stage, on, on, off, off, final("Forty-two."))
    ts = await stage.say("alice", ALICE, "What is it?")
    assert await stage.answers(ALICE, ts) == ["Forty-two."]
    assert codes(stage) == ["repeated", "repeated"]


async def test_what_was_begun_is_not_begun_again(stage: Stage) -> None:
    tea = '<set-timer in="90s" label="tea"/>' + calls_itself("And now?")
    thinks(stage, tea, tea, final("In a minute and a half."))
    ts = await stage.say("alice", ALICE, "When is the tea ready?")
    assert await stage.answers(ALICE, ts) == ["In a minute and a half."]
    assert codes(stage) == ["repeated"]
    assert len([text for text in told(stage) if text.startswith("<timer-set")]) == 1


async def test_who_waits_repeats_nothing(stage: Stage) -> None:
    thinks(stage, '<set-timer in="90s" label="tea"/>')
    ts = await stage.say("alice", ALICE, "Tell me when the tea is ready.")
    for _ in range(3):
        goes_on(stage, "Let me wait.")
        await stage.say("alice", ALICE, "Is it ready?", ts)
    assert not codes(stage)
    goes_on(stage, final("It is."))
    await stage.clock.advance(91)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is."


async def test_looking_again_is_repetition(stage: Stage) -> None:
    await stage.sleep()
    colours = iter(["red", "green", "green", "green"])

    async def look(context: ActionContext, args: object) -> str:
        return next(colours)

    offering(stage, ActionDefinition(name="look", description="Look.", perform=look))
    await stage.wake()
    thinks(stage, *["<look/>"] * 4, final("It is green."))
    ts = await stage.say("alice", ALICE, "Which colour has it?")
    assert (await stage.answers(ALICE, ts))[-1] == "It is green."
    assert codes(stage) == ["repeated"]
    assert next(colours) == "green"


@SOAK
async def test_it_is_noticed_after_another_start_too(stage: Stage) -> None:
    on = calls_itself(AGAIN)
    thinks(stage, on)
    late = asyncio.Event()
    stage.model.say(on, asks="in the open", until=late)
    ts = await stage.post("alice", ALICE, "What is it?")
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.sleep()
    late.set()
    goes_on(stage, on, on)
    stage.model.say(final("Forty-two."), asks=ALONE)
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Forty-two."]
    assert codes(stage) == ["repeated", "alone"]
