"""Limits of tool calls in a turn, a thread and a person's day."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ActionStarted, LimitReached
from daemon.settings.limits import TURN, Limits
from daemon.turn.usage_limits import DailyBudget, LimitChecker
from tests.clock import FakeClock
from tests.turn.spending import Life, about

NOON = 1_790_000_000.0 // 86_400 * 86_400 + 43_200
CALL = ActionStarted(name="shop.buy", args={"arguments": {}, "for": ["U1"], "digest": "d"})
OTHER = ActionStarted(name="Research", args={"query": "for", "digest": "d"})


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    clock = FakeClock(NOON)
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        life = Life(journal, clock)
        await life.begin()
        yield life


def standing(
    life: Life, gauge: LimitChecker, people: Sequence[str] = ("U1",), *, as_tree: bool = False
) -> LimitReached | None:
    return gauge.exceeded_by_tool(life.lifetime("t@1"), people, as_tree=as_tree)


@pytest.mark.parametrize("as_tree", [False, True])
@pytest.mark.parametrize("scope", ["turn", "thread", "person"])
async def test_each_limit_holds_where_it_is_reached_until_an_owner_resets_it(
    life: Life, scope: str, as_tree: bool
) -> None:
    gauge = life.gauge(**{scope: Limits(tools=2)})
    for _ in range(2):
        assert standing(life, gauge, as_tree=as_tree) is None
        await life.write(CALL)
        await life.write(OTHER)
        await life.call()
    found = standing(life, gauge, as_tree=as_tree)
    assert found == LimitReached(bound="tools", resets=scope, person="U1" if scope == "person" else "")
    life.budget = DailyBudget(life.journal, life.clock, 5.0, ("UOWNER",))
    again = life.gauge(**{scope: Limits(tools=2)})
    assert standing(life, again, as_tree=as_tree) == found, "a projection of the journal"
    await life.answer(about(found))
    assert standing(life, gauge, as_tree=as_tree) is None


async def test_tool_calls_are_no_calls_of_a_model_and_bound_none(life: Life) -> None:
    gauge = life.gauge(turn=Limits(calls=1, tools=1), person=Limits(tools=1))
    await life.write(CALL)
    assert life.standing(gauge) is None
    assert standing(life, gauge)


async def test_calls_that_are_not_recorded_yet_count_once(life: Life) -> None:
    gauge = life.gauge(turn=Limits(tools=2))
    with gauge.count_tool_call("t") as recorded, gauge.count_tool_call("t"):
        assert standing(life, gauge)
        await life.write(CALL)
        recorded()
        assert standing(life, gauge)
    assert standing(life, gauge) is None
    with gauge.count_tool_call("other"):
        assert standing(life, gauge) is None


async def test_a_day_of_one_person_is_not_that_of_another(life: Life) -> None:
    gauge = life.gauge(person=Limits(tools=1))
    await life.write(CALL)
    assert standing(life, gauge, ["U2"]) is None
    assert standing(life, gauge, ["U2", "U1"])
    await life.clock.advance(86_400)
    assert standing(life, gauge) is None


def test_thirty_calls_a_turn_are_the_default() -> None:
    assert TURN.tools == 30
