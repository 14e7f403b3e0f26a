"""Top of a DM: answers and resumed waits."""

from __future__ import annotations

from daemon.app.discovery import PROCESSES
from rehearsal import people
from tests.stories.choosing import ASKED, answers, choice, deciding, ended, turning
from tests.stories.midway import POINTS, amid, heard
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply
from tests.stories.test_answering import asking

ASK = {"name": "AskPerson", "args": {"question": "Which ferry do you mean?"}}
DONE = "It is the new timetable."


def roots(stage: Stage) -> int:
    return len({entry.thread for entry in stage.entries("message")})


async def test_an_answer_at_the_top_goes_to_what_asked(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    answers(stage, reply("Hello, Bob."))
    theirs = await stage.say("bob", BOB, "the day ferry")
    assert await stage.answers(BOB, theirs) == ["Hello, Bob."], "in another DM that answers nothing"
    answers(stage, choice("Respond"), reply(DONE))
    top = await stage.say("alice", ALICE, "the night ferry")
    assert (await stage.answers(ALICE, ts))[-1] == DONE
    assert await stage.answers(ALICE, top) == []
    assert "the night ferry" in stage.asked()[-1]
    assert (ended(stage), roots(stage)) == (["finished"], 2)
    answers(stage, reply("And hello to you."))
    new = await stage.say("alice", ALICE, "hello")
    assert await stage.answers(ALICE, new) == ["And hello to you."], "nothing waits any more"
    assert not stage.pending("asked", "input", "turn-began")


async def test_what_was_an_answer_stays_there_when_it_is_changed(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    answers(stage, choice("Respond"), reply(DONE))
    top = await stage.say("alice", ALICE, "the night ferry")
    answers(stage, reply("Ah, the day ferry."))
    await stage.client("alice").chat_update(channel=ALICE, ts=top, text="the day ferry")
    await stage.settled()
    assert await stage.answers(ALICE, top) == []
    assert roots(stage) == 1
    assert DONE in await stage.answers(ALICE, ts)
    [said, _, changed] = stage.entries("message", "heard")
    assert (changed.event.text, changed.thread) == ("the day ferry", said.thread)


async def test_go_on_at_the_top_brings_back_what_was_set_aside(stage: Stage) -> None:
    await deciding(stage)
    point = POINTS["before a choice"]
    stage.model.say('{"kind": "new"}', asks="a new matter that wants")
    async with amid(stage, point) as ts:
        answers(stage, reply("Oslo."))
        await heard(stage, "alice", ALICE, "what is the capital of Norway?", ts)
    answers(stage, reply("Good day."))
    other = await stage.say("alice", ALICE, "good day")
    assert await stage.answers(ALICE, other) == ["Good day."], "no more than these words are meant for it"
    answers(stage, *point.after, reply(DONE))
    top = await stage.say("alice", ALICE, "Go on, please!")
    assert (await stage.answers(ALICE, ts))[-1] == DONE
    assert await stage.answers(ALICE, top) == []
    assert ended(stage) == ["finished"]


async def test_what_asks_in_a_channel_is_not_answered_in_a_dm(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    answers(stage, reply("Which night ferry?"))
    top = await stage.say("alice", ALICE, "the night ferry")
    assert await stage.answers(ALICE, top) == ["Which night ferry?"]
    assert len(stage.pending("asked")) == 1


async def test_who_was_asked_as_an_owner_and_is_none_any_more_begins_anew(stage: Stage) -> None:
    await stage.sleep()
    asks = asking(to=(people.ALICE.id,), owners=(people.ALICE.id,), resumes=True)
    stage.processes = {**PROCESSES, "conversation": asks}
    await stage.wake(owner_user_ids=frozenset({people.ALICE.id}))
    await stage.say("alice", ALICE, "hello")
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({people.BOB.id}))
    await stage.say("alice", ALICE, "go on")
    assert roots(stage) == 2
    assert not stage.entries("answered")
