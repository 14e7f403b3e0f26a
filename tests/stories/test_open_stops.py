"""Stops of a conversation with its branches."""

from __future__ import annotations

import asyncio

from rehearsal.people import ALICE as ALICE_HERSELF
from tests.stories import choosing
from tests.stories.choosing import ASKED, answers, choice, deciding, press, questions, shown, turning
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_approval import publish, publishing
from tests.stories.test_asking import SCHEDULE
from tests.stories.test_open_deeds import may_delete
from tests.stories.test_open_thought import OPEN, OVER, calls_itself, final, goes_on, prompts, spawns, thinks

OWNED = {"owner_user_ids": frozenset({ALICE_HERSELF.id})}
MAY_I = "<Delete><name>the old plan</name></Delete>"


async def a_branch_thinks(stage: Stage, words: str, ts: str | None = None) -> tuple[str, asyncio.Event]:
    thinks(stage, spawns("slow"))
    slow, seen = asyncio.Event(), len(prompts(stage))
    stage.model.say(final("It is 42."), asks=OPEN, until=slow)
    said = await stage.post("alice", ALICE, words, ts)
    await stage.until(lambda: len(prompts(stage)) == seen + 2)
    return ts or said, slow


def ended(stage: Stage) -> list[str]:
    return [entry.event.status for entry in stage.entries("thread-ended")]


def at_rest(stage: Stage) -> bool:
    return not stage.pending("asked", "waiting", "thread-spawned", "input", "turn-began")


async def pressed(stage: Stage, label: str) -> None:
    *_, spoken = stage.soul.journal.entries_at(questions(stage)[-1].event.said)
    await press(stage, "alice", ALICE, spoken.event.ts, label)


async def test_a_stop_of_a_turn_that_fails_ends_the_branches_too(stage: Stage) -> None:
    ts, slow = await a_branch_thinks(stage, "What is six times seven?")
    rest, asked = asyncio.Event(), len(stage.model.requests)
    stage.model.say(final("An answer."), asks=OPEN, until=rest)
    await stage.post("alice", ALICE, "And now?", ts)
    await stage.until(lambda: len(stage.model.requests) > asked)
    stage.wire.refuse["chat.postMessage"] = ["internal_error"] * 2
    stage.wire.refuse["chat.startStream"] = ["internal_error"] * 4
    rest.set()
    await stage.until(lambda: stage.entries("attempt-failed"))
    stage.wire.refuse.clear()
    await stage.post("alice", ALICE, "stop", ts)
    await stage.until(lambda: ended(stage))
    slow.set()
    await stage.settled()
    assert ended(stage) == ["cancelled"]
    assert await stage.answers(ALICE, ts) == ["Stopped."]
    assert at_rest(stage)
    stage.model.say(reply("You are welcome."))
    await stage.say("alice", ALICE, "Thanks.", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "You are welcome.", "it does not think on"


async def test_what_people_have_read_of_a_final_answer_stays_when_it_is_stopped(stage: Stage) -> None:
    stage.model.say(OVER)
    said = final("One, two, three.")
    stage.model.say(said, until=asyncio.Event(), first=said.index("two,") + 4)
    ts = await stage.post("alice", ALICE, "Count, but think first.")
    await stage.until(lambda: stage.entries("speech-started"))
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == ["One, two, …"]
    stage.model.say(reply("Three."))
    await stage.say("alice", ALICE, "And then?", ts)
    assert stage.tags.wrapped("say", "One, two, …") in stage.asked()[-1], "it knows how far it came"


async def test_so_it_does_when_a_plan_comes_after_it(stage: Stage) -> None:
    stage.model.say(OVER)
    said = f"{final('One, two, three.')}\n<todo-until><step>Count on.</step></todo-until>\nI"
    stage.model.say(f"{said} go on.", until=asyncio.Event(), first=len(said))
    ts = await stage.post("alice", ALICE, "Count, but think first.")
    await stage.until(lambda: stage.entries("speech-started"))
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[0].startswith("One, two, three.")


async def test_what_is_answered_beside_it_ends_no_thought(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", ALICE, "Hello")
    await stage.say("alice", ALICE, "!forget me", ts)
    _, slow = await a_branch_thinks(stage, "Think about six times seven.", ts)
    await pressed(stage, "Keep it")
    await stage.until(lambda: not stage.pending("asked"))
    goes_on(stage, final("Six times seven is 42."))
    slow.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Six times seven is 42."


async def test_what_is_asked_beside_it_ends_no_thought(stage: Stage) -> None:
    ts, slow = await a_branch_thinks(stage, "What is six times seven?")
    await stage.post("alice", ALICE, "!forget me", ts)
    await stage.until(lambda: questions(stage))
    goes_on(stage, "I wait for it.")
    seen = len(prompts(stage))
    await stage.post("alice", ALICE, "How is it going?", ts)
    await stage.until(lambda: len(prompts(stage)) > seen)
    goes_on(stage, final("Six times seven is 42."))
    slow.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Six times seven is 42."


async def test_a_run_that_goes_on_beside_it_ends_no_thought(stage: Stage) -> None:
    choosing.offering(stage, publishing([]))
    await deciding(stage, **OWNED)
    answers(stage, turning(), publish())
    ts = await stage.say("alice", ALICE, ASKED)
    _, slow = await a_branch_thinks(stage, "And think about six times seven.", ts)
    answers(stage, choice("Respond"), reply("It is published."))
    await pressed(stage, "Approve")
    await stage.until(lambda: "It is published." in str(stage.entries("spoken")))
    await stage.until(lambda: len(stage.pending("turn-began")) == 1)
    goes_on(stage, final("Six times seven is 42."))
    slow.set()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "Six times seven is 42."


async def test_a_stop_ends_no_reminder(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(SCHEDULE, "Respond"), reply("I will be back."))
    ts = await stage.say("alice", ALICE, ASKED)
    [reminder] = stage.pending("waiting")
    asked = len(stage.model.requests)
    answers(stage, turning())
    stage.model.say(choice("Think"), until=asyncio.Event())
    await stage.post("alice", ALICE, f"{ASKED} And that.", ts)
    await stage.until(lambda: len(stage.model.requests) == asked + 2)
    await stage.say("alice", ALICE, "stop", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Stopped."
    assert stage.pending("waiting") == [reminder]


async def test_a_stop_while_it_thinks_leaves_no_question_of_a_branch(stage: Stage) -> None:
    deleted = await may_delete(stage)
    thinks(stage, spawns("tidy", MAY_I) + calls_itself("On."))
    stage.model.say(final("Never said."), asks=OPEN, until=asyncio.Event())
    ts = await stage.post("alice", ALICE, "Tidy up, but think first.")
    await stage.until(lambda: len(prompts(stage)) == 2 and stage.entries("wish"))
    await stage.say("alice", ALICE, "stop", ts)
    assert await shown(stage, ALICE, ts) == [
        ("Tidy up, but think first.", []),
        ("stop", []),
        ("Stopped.", []),
    ]
    assert (deleted, at_rest(stage)) == ([], True)


async def test_where_a_branch_ends_nobody_is_asked_for_it_any_more(stage: Stage) -> None:
    deleted = await may_delete(stage)
    thinks(stage, spawns("tidy", MAY_I))
    ts = await stage.say("alice", ALICE, "Tidy up, but think first.")
    assert (await shown(stage, ALICE, ts))[-1][1] != []
    goes_on(stage, final("Then I leave it as it is."))
    await stage.say("alice", ALICE, "Better leave it all as it is.", ts)
    assert [buttons for _, buttons in await shown(stage, ALICE, ts) if buttons] == []
    assert (deleted, ended(stage), at_rest(stage)) == ([], ["cancelled"], True)


async def test_a_stop_with_which_a_conversation_begins_is_told_that_nothing_runs(stage: Stage) -> None:
    before = len(stage.model.requests)
    ts = await stage.say("alice", ALICE, "Stop!")
    assert await stage.answers(ALICE, ts) == ["Nothing is running here, so there is nothing to stop."]
    assert len(stage.model.requests) == before, "no model is asked"
    assert not stage.entries("attempt-failed")


async def test_one_stop_is_enough_for_two_branches_that_ask(stage: Stage) -> None:
    deleted = await may_delete(stage)
    thinks(stage, spawns("a", MAY_I) + spawns("b", MAY_I.replace("old", "new")))
    ts = await stage.say("alice", ALICE, "Tidy up, but think first.")
    seen = len(prompts(stage))
    stage.model.say(final("Never said."), asks=OPEN, until=asyncio.Event())
    await stage.post("alice", ALICE, "How is it going?", ts)
    await stage.until(lambda: len(prompts(stage)) > seen)
    await stage.say("alice", ALICE, "stop", ts)
    assert [buttons for _, buttons in await shown(stage, ALICE, ts) if buttons] == []
    assert (deleted, ended(stage), at_rest(stage)) == ([], ["cancelled", "cancelled"], True)
