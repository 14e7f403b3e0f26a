"""An ordinary conversation at a bound: no call is made, it is said why, and an owner may let it go on."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pytest

from daemon.limits import Limits
from daemon.rehearsal.people import CAROL
from tests.stories.choosing import pressed, questions, shown
from tests.stories.stage import GENERAL, ME, Stage, reply

FOR_GOOD = "I have reached the limit for calls that was set for me here, so I cannot answer this now."
ASKS = "That is as far as I may go by myself: I have reached the limit for calls."
SPENT = "I have used up what I may spend on thinking today."
OWNED, UNOWNED = frozenset({CAROL.id}), frozenset[str]()
BOUNDS: dict[str, dict[str, Any]] = {
    "person": {"limit_person": Limits(calls=1)},
    "day": {"budget_daily_usd": 0.15},
}


async def at_a_bound(stage: Stage, owners: Set[str], **settings: Any) -> str:
    """Alice has been answered once in a channel, and asks again: the ts of her first message."""
    await stage.sleep()
    await stage.wake(owner_user_ids=owners, **settings)
    stage.model.say(reply("word " * 7_000))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    assert len(stage.model.requests) == 1
    await stage.say("alice", GENERAL, f"{ME} and now?", ts)
    assert len(stage.model.requests) == 1, "nothing is asked beyond it"
    return ts


@pytest.mark.parametrize(("bound", "said"), [("person", FOR_GOOD), ("day", SPENT)])
async def test_without_an_owner_it_says_so_and_offers_nothing(stage: Stage, bound: str, said: str) -> None:
    ts = await at_a_bound(stage, UNOWNED, **BOUNDS[bound])
    *_, (last, buttons) = await shown(stage, GENERAL, ts)
    assert (last[: len(said)], buttons) == (said, [])
    assert not questions(stage)
    assert not stage.soul.journal.open("perception", "turn-began")


@pytest.mark.parametrize(("bound", "said"), [("person", ASKS), ("day", SPENT)])
async def test_an_owner_lets_it_answer(stage: Stage, bound: str, said: str) -> None:
    ts = await at_a_bound(stage, OWNED, **BOUNDS[bound])
    *_, (asks, buttons) = await shown(stage, GENERAL, ts)
    assert (asks[: len(said)], buttons) == (said, ["Continue", "Stop"])
    stage.model.say(reply("Here it is."))
    await pressed(stage, "carol", "Continue")
    assert (await stage.answers(GENERAL, ts))[-1] == "Here it is."
    assert "and now?" in stage.asked()[-1]
    assert len(stage.model.requests) == 2
    assert not stage.soul.journal.open("asked", "perception", "turn-began")


async def test_an_owner_may_leave_it_at_that(stage: Stage) -> None:
    ts = await at_a_bound(stage, OWNED, **BOUNDS["person"])
    await pressed(stage, "carol", "Stop")
    *_, (asked, buttons) = await shown(stage, GENERAL, ts)
    assert (asked.startswith(ASKS), buttons) == (True, [])
    assert len(stage.model.requests) == 1
    assert not stage.soul.journal.open("asked", "perception", "turn-began")


async def test_where_nobody_waits_for_an_answer_nothing_is_said(stage: Stage) -> None:
    ts = await at_a_bound(stage, UNOWNED, **BOUNDS["person"])
    before = await shown(stage, GENERAL, ts)
    await stage.say("alice", GENERAL, "I only said.", ts)
    assert await shown(stage, GENERAL, ts) == [*before, ("I only said.", [])]
    assert len(stage.model.requests) == 1
