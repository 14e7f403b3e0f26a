"""Questions, timers and plans of a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.slack.status import MOMENT
from rehearsal.people import ALICE as ALICE_HERSELF
from tests.soak import SOAK, later
from tests.stories.choosing import (
    ASKED,
    ON_IT,
    answers,
    choice,
    deciding,
    ended,
    looking,
    outcomes,
    pressed,
    questions,
    told,
    turning,
)
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

WHICH = "Which ferry do you mean?"
ASK: dict[str, Any] = {"name": "AskPerson", "args": {"question": WHICH}}
SCHEDULE: dict[str, Any] = {"name": "Schedule", "args": {"minutes": 30, "text": "look at the ferry again"}}
DONE = "It is the new timetable."


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def test_it_asks_and_goes_on_after_a_restart(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think"), "There are two.", choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, WHICH]
    assert outcomes(stage) == ["suspended"]
    paid = len(stage.model.requests)
    await stage.sleep()
    await stage.wake()
    answers(stage, choice("Respond"), reply(DONE))
    await stage.say("alice", ALICE, "the night ferry", ts)
    assert await stage.answers(ALICE, ts) == [ON_IT, WHICH, DONE]
    assert len(stage.model.requests) == paid + 2, "nothing is paid again"
    assert WHICH in told(stage)
    assert "the night ferry" in told(stage)
    assert "the night ferry" in stage.asked()[-1]
    assert ended(stage) == ["finished"]
    assert not stage.entries("restarted", "attempt-failed")
    assert not stage.pending("asked", "input", "turn-began")


async def test_nobody_reads_a_thought_in_its_question(stage: Stage) -> None:
    await deciding(stage)
    thought = "<think>They have no idea.</think>"
    empty = {"name": "AskPerson", "args": {"question": thought}}
    answers(stage, turning(), choice(empty), choice({**ASK, "args": {"question": thought + WHICH}}))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, WHICH]
    assert "no idea" not in str(stage.wire.calls)


async def test_only_who_was_asked_answers(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    answers(stage, "<aside>Bob.</aside><next>conversation</next><say>Hello, Bob.</say><mood>neutral</mood>")
    await stage.say("bob", GENERAL, f"{ME} hello", ts)
    assert len(questions(stage)) == 1
    answers(stage, choice("Respond"), reply(DONE))
    await stage.say("alice", GENERAL, "the night ferry", ts)
    assert await stage.answers(GENERAL, ts) == [ON_IT, WHICH, "Hello, Bob.", DONE]
    assert "Hello, Bob." in stage.asked()[-1]


@SOAK
async def test_it_asks_alone(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think", ASK), "Hm.", choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert "AskPerson was not run: it has to be chosen alone" in told(stage)


async def test_a_question_can_be_let_go(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    paid = len(stage.model.requests)
    await stage.say("alice", ALICE, "stop", ts)
    assert await stage.answers(ALICE, ts) == [ON_IT, WHICH, "Stopped."]
    assert len(stage.model.requests) == paid
    assert not questions(stage)
    answers(stage, reply("A new day."))
    await stage.say("alice", ALICE, "Good morning!", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "A new day."


async def test_a_reminder_comes_and_is_answered(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(SCHEDULE, "Respond"), reply("I will be back."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "I will be back."]
    await stage.sleep()
    await stage.wake()
    answers(stage, reply("Still late."))
    await stage.clock.advance(29 * 60)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert len(await stage.answers(ALICE, ts)) == 2
    await stage.clock.advance(61)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[2:] == ["Still late."]
    asked = stage.asked()[-1]
    assert '<reminder for="Alice">\\nThe time has come that was set: look at the ferry again' in asked
    assert "Nobody speaks just now: the time has come of a reminder that you set yourself for Alice." in asked
    assert "Alice just spoke" not in asked
    assert 'note="a reminder"' not in asked
    assert not stage.pending("waiting", "outage", "input")


@SOAK
async def test_it_shows_what_it_is_at(stage: Stage) -> None:
    await deciding(stage)
    slowly(stage, turning(), choice("Think"), "Hm.", choice(looking()), choice("Respond"), reply(DONE))
    await stage.post("alice", ALICE, ASKED)
    await stage.passing(MOMENT, lambda: stage.entries("turn-ended"))
    every = ["choosing", "thinking it over", "choosing", "searching memory", "choosing", "writing"]
    rounds = [f"{what} ({1 + n // 2}/5)" for n, what in enumerate(every)]
    assert shows(stage)
    assert in_order(shows(stage), rounds)
    session = [args["status"] for args in stage.wire.told("agents.sessions.setStatus")]
    assert session[-1] == "active"


async def test_what_it_is_at_is_shown_while_it_is_at_it(stage: Stage) -> None:
    await deciding(stage)
    held = asyncio.Event()
    answers(stage, turning(), choice("Think"))
    stage.model.say("Hm.", until=held)
    answers(stage, choice("Respond"), reply(DONE))
    await stage.post("alice", ALICE, ASKED)
    await stage.passing(MOMENT, lambda: "thinking it over (1/5)" in shows(stage))
    [line] = stage.world.workspace.statuses.all()
    assert line.status == "is concentrating · thinking it over (1/5)"
    assert stage.world.workspace.statuses.sessions()
    held.set()
    await stage.settled()
    assert not stage.world.workspace.statuses.all()
    assert not stage.world.workspace.statuses.sessions()


@pytest.mark.parametrize(
    "chosen",
    [
        {"name": "AskPerson", "args": {"question": " \n "}},
        later({"name": "Schedule", "args": {"minutes": 5, "text": " "}}),
        later({"name": "SearchMemory", "args": {"query": " "}}),
        later({"name": "Remember", "args": {"text": " "}}),
        {"name": "ReadThread", "args": {"back": 0}},
    ],
    ids=lambda chosen: chosen["name"],
)
async def test_nothing_is_not_a_question(stage: Stage, chosen: dict[str, Any]) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(chosen), choice("Respond"), reply(DONE))
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, DONE]
    assert f"{chosen['name']} was not run: its arguments are wrong" in told(stage)
    assert not stage.entries("asked", "waiting", "outage", "remembered", "action")


@SOAK
async def test_a_reminder_counts_from_the_time_that_the_chooser_was_told(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(ASK))
    ts = await stage.say("alice", ALICE, ASKED)
    await stage.clock.skip(5 * 3_600)
    stage.model.fail(429, "rate_limit_error", wait=60)
    answers(stage, choice(SCHEDULE, "Respond"), reply("I will be back."))
    await stage.say("alice", ALICE, "the night ferry", ts)
    await stage.clock.advance(10 * 60)
    await stage.settled()
    [watch] = [entry for entry in stage.pending("waiting") if entry.event.note]
    assert watch.event.due == stage.entries("answered")[-1].at + 30 * 60
    assert watch.event.due > stage.clock.now()
    assert len(await stage.answers(ALICE, ts)) == 4


@SOAK
async def test_the_status_counts_rounds_and_begins_anew_when_it_may_go_on(stage: Stage) -> None:
    await deciding(stage, owner_user_ids=frozenset({ALICE_HERSELF.id}), ism_max_loops=2)
    slowly(stage, turning(), "Hm?", choice("Think"), "One.", choice("Think"), "Two.", reply("So far…"))
    await stage.post("alice", ALICE, ASKED)
    await stage.passing(MOMENT, lambda: stage.pending("asked"))
    await stage.settled()
    rounds = [f"{what} ({n}/2)" for n in (1, 2) for what in ("choosing", "thinking it over")]
    assert shows(stage)
    assert in_order(shows(stage), rounds)
    answers(stage, choice("To_closing"), reply("Bye."))
    await pressed(stage, "alice", "Continue")
    assert in_order(shows(stage), [*rounds, "choosing (1/2)", "saying goodbye (1/2)"])


@SOAK
async def test_a_transition_without_a_label_has_none_of_its_own(stage: Stage) -> None:
    labels = stage.words / "prompts" / "labels.md"
    labels.write_text(labels.read_text().replace("- To_closing: saying goodbye\n", ""))
    await deciding(stage)
    slowly(stage, turning(), choice("To_closing"), reply("Bye."))
    await stage.post("alice", ALICE, ASKED)
    await stage.passing(MOMENT, lambda: ended(stage) and stage.entries("turn-ended"))
    assert shows(stage)
    assert "goodbye" not in str(shows(stage))
    assert in_order(shows(stage), ["choosing (1/5)"] * 2)
    assert ended(stage) == ["transition"]


def slowly(stage: Stage, *texts: str) -> None:
    for text in texts:
        stage.model.say(text, delay=MOMENT)


def in_order(lines: list[str], every: list[str]) -> bool:
    seen = iter(every)
    return all(line in seen for line in lines)


def shows(stage: Stage) -> list[str]:
    lines = [args["status"] for args in stage.wire.told("assistant.threads.setStatus")]
    return [line.partition(" · ")[2] for line in lines if " · " in line]


@SOAK
async def test_a_reminder_of_a_reminder_is_for_the_same_person(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice(SCHEDULE, "Respond"), reply("I will be back."))
    await stage.say("alice", ALICE, ASKED)
    answers(stage, turning("Not yet."), choice(SCHEDULE, "Respond"), reply("Later, then."))
    await stage.clock.advance(30 * 60 + 1)
    await stage.soul.worker.sweep()
    await stage.settled()
    notes = [entry.event.note for entry in stage.entries("waiting") if entry.event.note]
    assert [note["user"] for note in notes] == [ALICE_HERSELF.id] * 2
