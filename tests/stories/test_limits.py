"""Stop reasons of runs, and extensions by owners."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from daemon.settings.limits import Limits
from rehearsal.people import ALICE as ALICE_HERSELF
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
    press,
    pressed,
    questions,
    shown,
    told,
    turning,
    whispers,
)
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.stage import BOB as BOBS

READ = {"name": "ReadThread", "args": {"back": 1}}
FOUND = "It is the new timetable."
PARTLY = "I know this much so far."
WHOLE = "Tell them now what you have found out"
PART = "You have to stop here, before you are done."
ASKS = "That is as far as I may go by myself"
CLOSED = "That question is closed by now"
OWNED = {"owner_user_ids": frozenset({CAROL.id})}


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Replies, settings and final text for a stop reason."""

    says: tuple[str, ...]
    read: str = PARTLY
    guided: str = PART
    settings: dict[str, Any] = field(default_factory=dict)


ENDS = {
    "done": End(says=(choice("DONE"), reply(FOUND)), read=FOUND, guided=WHOLE),
    "finished": End(says=(choice("Respond"), reply(FOUND)), read=FOUND, guided=WHOLE),
    "transition": End(says=(choice("To_closing"), reply("Farewell.")), read="Farewell.", guided="goodbye"),
    "loops": End(says=(choice("Think"), "Hm.", reply(PARTLY)), settings={"ism_max_loops": 1}),
    "calls": End(says=(choice("Think"), "Hm.", reply(PARTLY)), settings={"limit_turn": Limits(calls=3)}),
    "tokens": End(says=(reply(PARTLY),), settings={"limit_turn": Limits(tokens=10)}),
    "money": End(says=(reply(PARTLY),), settings={"limit_turn": Limits(usd=0.000_1)}),
    "stagnation": End(says=(*[choice(READ)] * 3, reply(PARTLY))),
    "failed": End(says=(*["What?"] * 4, reply(PARTLY))),
}


@pytest.mark.parametrize(
    ("reason", "end"),
    [later(*one) if one[0] in ("finished", "tokens") else one for one in ENDS.items()],
    ids=ENDS.keys(),
)
async def test_why_a_run_ends(stage: Stage, reason: str, end: End) -> None:
    await deciding(stage, **end.settings)
    answers(stage, turning(), *end.says)
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, end.read]
    assert ended(stage) == [reason]
    assert end.guided in stage.asked()[-1]
    assert len(stage.model.requests) == 1 + len(end.says)
    assert not questions(stage), "there is nobody who could let it go on"
    assert stage.entries("turn-ended")[-1].event.outcome == "completed"


@SOAK
async def test_it_ends_when_its_time_is_over(stage: Stage) -> None:
    await deciding(stage, limit_turn=Limits(seconds=30.0))
    held = asyncio.Event()
    answers(stage, turning(), choice("Think"))
    stage.model.say("A long thought.", until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.clock.advance(31)
    stage.model.say(reply(PARTLY))
    held.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [ON_IT, PARTLY]
    assert ended(stage) == ["time"]


async def at_a_bound(stage: Stage, **settings: Any) -> str:
    await deciding(stage, **OWNED, **settings)
    answers(stage, turning(), choice("Think"), "Hm.", reply(PARTLY))
    return await stage.say("alice", GENERAL, f"{ME} {ASKED}")


BOUNDS: dict[str, dict[str, Any]] = {
    "turn": {"limit_turn": Limits(calls=3)},
    "rounds": {"ism_max_loops": 1},
    "thread": {"limit_thread": Limits(calls=3)},
    "person": {"limit_person": Limits(calls=3)},
}
bounds = pytest.mark.parametrize(
    "settings",
    [later(BOUNDS["turn"]), BOUNDS["rounds"], BOUNDS["thread"], later(BOUNDS["person"])],
    ids=BOUNDS.keys(),
)


@bounds
async def test_an_owner_lets_it_go_on(stage: Stage, settings: dict[str, Any]) -> None:
    ts = await at_a_bound(stage, **settings)
    _, on_it, partly, (asks, buttons) = await shown(stage, GENERAL, ts)
    assert (on_it[0], partly[0], buttons) == (ON_IT, PARTLY, ["Continue", "Stop"])
    assert asks.startswith(ASKS)
    paid = len(stage.model.requests)

    await pressed(stage, "bob", "Continue")
    assert whispers(stage) == [(BOB.id, "That one isn't yours to answer. Whoever may has been asked.")]
    assert (await shown(stage, GENERAL, ts))[3:] == [(asks, buttons)], "the question stays"
    assert len(stage.model.requests) == paid

    answers(stage, choice("Respond"), reply(FOUND))
    await pressed(stage, "carol", "Continue")
    *_, (asked, gone), (found, _) = await shown(stage, GENERAL, ts)
    assert (asked.casefold(), gone) == (f"{asks}\n[carol chose “continue”]".casefold(), [])
    assert found == FOUND
    assert len(stage.model.requests) == paid + 2, "nothing is paid again"
    assert ended(stage)[1:] == ["finished"]
    assert "Hm." in stage.asked()[-1], "what it had found is not lost"
    assert told(stage).count("## Available Actions") == 1, "it goes on in the run that it was"
    assert not stage.entries("restarted")
    assert not stage.pending("asked", "input", "turn-began")


@SOAK
@bounds
async def test_the_counter_begins_anew_and_may_be_reached_again(
    stage: Stage, settings: dict[str, Any]
) -> None:
    await at_a_bound(stage, **settings)
    again = 1 if "ism_max_loops" in settings else 2
    answers(stage, *[choice("Think"), "Hm again."] * again, reply("And this much."))
    await pressed(stage, "carol", "Continue")
    assert calls(stage)[4:] == [*["choose", "think"] * again, "pipeline"]
    assert ended(stage) == ["loops" if again == 1 else "calls"] * 2
    assert len(questions(stage)) == 1


async def test_an_owner_stops_it(stage: Stage) -> None:
    ts = await at_a_bound(stage, **BOUNDS["turn"])
    paid = len(stage.model.requests)
    await pressed(stage, "carol", "Stop")
    *_, (asked, buttons) = await shown(stage, GENERAL, ts)
    assert (asked.casefold().partition("\n")[2], buttons) == ("[carol chose “stop”]", [])
    assert len(stage.model.requests) == paid
    assert ended(stage) == ["calls"]
    assert not stage.pending("asked", "input", "turn-began")


@SOAK
async def test_the_word_stop_takes_the_buttons_away(stage: Stage) -> None:
    ts = await at_a_bound(stage, **BOUNDS["turn"])
    await stage.say("alice", GENERAL, "stop", ts)
    *_, (_, buttons), _, (stopped, _) = await shown(stage, GENERAL, ts)
    assert (buttons, stopped) == ([], "Stopped.")
    assert not stage.pending("asked", "input", "turn-began")


async def test_a_stop_that_fails_halfway_and_is_stopped_takes_them_away_all_the_same(stage: Stage) -> None:
    ts = await at_a_bound(stage, **BOUNDS["turn"])
    stage.model.say(reply("Never said."), until=asyncio.Event())
    paid = len(stage.model.requests)
    await stage.post("alice", GENERAL, f"{ME} And this?", ts)
    await stage.until(lambda: len(stage.model.requests) > paid)
    stage.wire.refuse["chat.update"] = ["internal_error"]
    await stage.post("alice", GENERAL, "stop", ts)
    await stage.until(lambda: stage.entries("attempt-failed"))
    await stage.say("alice", GENERAL, "stop", ts)
    assert "stopped" in [entry.event.outcome for entry in stage.entries("turn-ended")]
    assert [buttons for text, buttons in await shown(stage, GENERAL, ts) if text.startswith(ASKS)] == [[]]
    assert not stage.pending("asked", "input", "turn-began")


async def test_two_owners_press_at_once(stage: Stage) -> None:
    await deciding(stage, owner_user_ids=frozenset({CAROL.id, ALICE_HERSELF.id}), limit_turn=Limits(calls=3))
    answers(stage, turning(), choice("Think"), "Hm.", reply(PARTLY))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    [question] = questions(stage)
    *_, asks = stage.soul.journal.entries_at(question.event.said)
    answers(stage, choice("Respond"), reply(FOUND))
    for name, label in (("carol", "Continue"), ("alice", "Stop")):
        await press(stage, name, GENERAL, asks.event.ts, label)
    await stage.until(lambda: len(stage.entries("input")) == 3)
    await stage.settled()
    assert (await stage.answers(GENERAL, ts))[-1] == FOUND
    [(person, said)] = whispers(stage)
    assert (person, said[: len(CLOSED)]) == (ALICE_HERSELF.id, CLOSED)


@SOAK
async def test_an_owner_in_her_own_conversation(stage: Stage) -> None:
    await deciding(stage, owner_user_ids=frozenset({ALICE_HERSELF.id}), limit_turn=Limits(calls=3))
    answers(stage, turning(), choice("Think"), "Hm.", reply(PARTLY))
    ts = await stage.say("alice", ALICE, ASKED)
    answers(stage, choice("Respond"), reply(FOUND))
    await pressed(stage, "alice", "Continue")
    assert (await stage.answers(ALICE, ts))[-1] == FOUND


@pytest.mark.parametrize("owned", [True, later(False)])
@pytest.mark.parametrize("left", [later(0.001), 0.005], ids=["choosing", "thinking"])
async def test_the_days_money_is_spent_in_the_middle(stage: Stage, left: float, owned: bool) -> None:
    await deciding(stage, **(OWNED if owned else {}))
    answers(stage, turning(), choice({"name": "AskPerson", "args": {"question": "Which one?"}}))
    ts = await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    for _ in range(2):
        stage.model.say(reply("Hm.", aside="word " * 7_000), chunk=10_000)
        await stage.say("bob", BOBS, "Talk a lot.")
    cost = stage.soul.budget.today().cost
    await stage.sleep()
    await stage.wake(budget_daily_usd=cost + left)
    if left > 0.003:
        answers(stage, choice("Think"))
    await stage.say("alice", GENERAL, "the night ferry", ts)
    *_, before, (spent, buttons) = await shown(stage, GENERAL, ts)
    assert spent.startswith("I have used up what I may spend on thinking today.")
    assert before == ("the night ferry", []), "it is said once"
    assert "may cost up to" in " ".join((await stage.health())[1]["wrong"])
    assert buttons == (["Continue", "Stop"] if owned else [])
    assert ended(stage) == ["money"]
    if owned:  # an owner grants as much again
        answers(stage, choice("Respond"), reply(FOUND))
        await pressed(stage, "carol", "Continue")
        assert (await stage.answers(GENERAL, ts))[-1] == FOUND
    assert not stage.pending("asked", "input", "turn-began")


async def test_the_days_money_is_spent_where_no_owner_reads(stage: Stage) -> None:
    await deciding(stage, **OWNED)
    answers(stage, turning(), choice({"name": "AskPerson", "args": {"question": "Which one?"}}))
    ts = await stage.say("alice", ALICE, ASKED)
    for _ in range(2):
        stage.model.say(reply("Hm.", aside="word " * 7_000), chunk=10_000)
        await stage.say("bob", BOBS, "Talk a lot.")
    cost = stage.soul.budget.today().cost
    await stage.sleep()
    await stage.wake(budget_daily_usd=cost + 0.003)
    await stage.say("alice", ALICE, "the night ferry", ts)
    assert (await stage.answers(ALICE, ts))[-1].startswith("I have used up what I may spend")
    assert not questions(stage)
