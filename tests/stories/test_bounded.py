"""Conversation at a limit, continued by an owner."""

from __future__ import annotations

from collections.abc import Set

import pytest

from daemon.settings.limits import Limits
from rehearsal.people import CAROL
from tests.soak import SOAK, later
from tests.stories.choosing import deciding, pressed, questions, shown
from tests.stories.stage import BOB, GENERAL, ME, Stage, reply

FOR_GOOD = "I have reached the limit of how often I may think that was set for me here, so I cannot answer"
ASKS = "That is as far as I may go by myself: I have reached the limit of how often I may think."
SPENT = "I have used up what I may spend on thinking today."
OWNED, UNOWNED = frozenset({CAROL.id}), frozenset[str]()


async def at_a_bound(stage: Stage, bound: str, owners: Set[str]) -> str:
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    for _ in range(2):
        stage.model.say(reply("word " * 7_000), chunk=10_000)
        await stage.say("bob", BOB, "Talk a lot.")
    spent = stage.soul.budget.today().cost
    await stage.sleep()
    await stage.wake(
        owner_user_ids=owners,
        limit_person=Limits(calls=1 if bound == "person" else None),
        budget_daily_usd=spent + (0.003 if bound == "day" else 5.0),
    )
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    assert len(stage.model.requests) == 3, "nothing is asked beyond it"
    return ts


@pytest.mark.parametrize(("bound", "said"), [("person", FOR_GOOD), later("day", SPENT)])
async def test_without_an_owner_it_says_so_and_offers_nothing(stage: Stage, bound: str, said: str) -> None:
    ts = await at_a_bound(stage, bound, UNOWNED)
    *_, (last, buttons) = await shown(stage, GENERAL, ts)
    assert (last[: len(said)], buttons) == (said, [])
    assert not questions(stage)
    assert not stage.pending("input", "turn-began")


@pytest.mark.parametrize(("bound", "said"), [later("person", ASKS), ("day", SPENT)])
async def test_an_owner_lets_it_answer(stage: Stage, bound: str, said: str) -> None:
    ts = await at_a_bound(stage, bound, OWNED)
    *_, (asks, buttons) = await shown(stage, GENERAL, ts)
    assert (asks[: len(said)], buttons) == (said, ["Continue", "Stop"])
    stage.model.say(reply("Here it is."))
    await pressed(stage, "carol", "Continue")
    assert (await stage.answers(GENERAL, ts))[-1] == "Here it is."
    assert "and now?" in stage.asked()[-1]
    assert len(stage.model.requests) == 4
    assert not stage.pending("asked", "input", "turn-began")


@SOAK
async def test_an_owner_may_leave_it_at_that(stage: Stage) -> None:
    ts = await at_a_bound(stage, "person", OWNED)
    await pressed(stage, "carol", "Stop")
    *_, (asked, buttons) = await shown(stage, GENERAL, ts)
    assert (asked.startswith(ASKS), buttons) == (True, [])
    assert len(stage.model.requests) == 3
    assert not stage.pending("asked", "input", "turn-began")


@SOAK
@pytest.mark.parametrize(("bound", "said"), [later("person", FOR_GOOD), ("day", SPENT)])
async def test_owners_are_asked_once_for_a_bound_in_a_thread(stage: Stage, bound: str, said: str) -> None:
    ts = await at_a_bound(stage, bound, OWNED)
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    *_, (last, buttons) = await shown(stage, GENERAL, ts)
    assert (last[: len(said)], buttons) == (said, [])
    assert len(questions(stage)) == 1


@SOAK
async def test_where_nobody_waits_for_an_answer_nothing_is_said(stage: Stage) -> None:
    ts = await at_a_bound(stage, "person", UNOWNED)
    before = await shown(stage, GENERAL, ts)
    await stage.say("alice", GENERAL, "I only said.", ts)
    assert await shown(stage, GENERAL, ts) == [*before, ("I only said.", [])]
    assert len(stage.model.requests) == 3


async def test_a_bound_that_the_settings_lift_meanwhile_is_read_back_as_it_was(stage: Stage) -> None:
    ts = await at_a_bound(stage, "person", OWNED)
    await stage.sleep()
    await stage.wake(limit_person=Limits())
    stage.model.say(reply("Here it is."))
    await pressed(stage, "carol", "Continue")
    assert (await stage.answers(GENERAL, ts))[-1] == "Here it is."
    assert len(stage.entries("asked")) == 1
    assert not stage.entries("restarted")


@pytest.mark.parametrize("to", ["conversation", "problem_solving", "deliberation"])
async def test_where_a_whole_day_is_too_little_for_one_call_nobody_is_asked_to_let_it_go_on(
    stage: Stage, to: str
) -> None:
    await deciding(stage, owner_user_ids=OWNED)
    stage.model.say(f"<aside>Hm.</aside><next>{to}</next><say>Well.</say><mood>neutral</mood>")
    ts = await stage.say("alice", GENERAL, f"{ME} think it through, please")
    await stage.sleep()
    await stage.wake(budget_daily_usd=0.005)
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    *_, (last, buttons) = await shown(stage, GENERAL, ts)
    assert last.startswith(SPENT)
    assert buttons == []
    assert not questions(stage)
    assert not stage.pending("asked", "input", "turn-began")
