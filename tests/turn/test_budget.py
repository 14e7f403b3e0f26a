"""The daily budget: calls in flight count; it resets at midnight UTC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ModelCall, QuestionAnswered
from daemon.settings.limits import CONTINUE
from daemon.turn.usage_limits import DailyBudget
from tests.clock import FakeClock
from tests.turn.spending import called

DAY = 86_400.0


class Purse:
    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.journal, self.clock = journal, clock
        self.budget = DailyBudget(journal, clock, 1.0, ("U1",))
        self._calls = 0

    async def call(self, cost: float) -> Entry[ModelCall]:
        self._calls += 1
        event = called(cost=cost, worth=cost)
        entry, _ = await self.journal.append("t", event, key=f"call#{self._calls}")
        return entry

    async def consent(self, scope: str) -> Entry[QuestionAnswered]:
        self._calls += 1
        about = {"resets": scope, "person": "U2"}
        event = QuestionAnswered(input=0, value=CONTINUE, by="U1", about=about)
        entry, _ = await self.journal.append("t", event, key=f"answer#{self._calls}")
        return entry


@pytest.fixture
async def purse(tmp_path: Path) -> AsyncIterator[Purse]:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        yield Purse(journal, clock)


async def test_what_is_in_flight_is_waited_for_and_counts(purse: Purse) -> None:
    granted: list[str] = []

    async def second() -> None:
        async with purse.budget.reserve(0.6) as may:
            granted.append("second" if may else "refused")

    async with purse.budget.reserve(0.6) as may:
        assert may
        waiting = asyncio.create_task(second())
        await purse.clock.advance(1)
        assert granted == [], "both together would be too much"
        await purse.call(0.1)
    await waiting
    assert granted == ["second"]


async def test_what_the_day_cannot_pay_is_refused_at_once(purse: Purse) -> None:
    await purse.call(0.7)
    async with purse.budget.reserve(0.6) as may:
        assert not may
    async with purse.budget.reserve(0.0) as free:
        assert free


async def test_whoever_pays_hears_what_is_left_and_what_a_call_may_cost(purse: Purse) -> None:
    assert list(purse.budget.fault) == []
    await purse.call(0.7)
    async with purse.budget.reserve(0.6) as may:
        assert not may
    [told] = purse.budget.fault
    assert "$0.3000 is left" in told
    assert "up to $0.6000" in told
    async with purse.budget.reserve(0.1) as may:
        assert may
    assert list(purse.budget.fault) == [told], "a cheaper one says nothing of it"
    await purse.consent("day")
    assert list(purse.budget.fault) == []
    await purse.clock.advance(DAY)
    await purse.call(0.7)
    assert list(purse.budget.fault) == [], "nothing was refused today"


async def test_a_new_day_begins_at_midnight_and_an_old_one_is_not_forgotten(purse: Purse) -> None:
    await purse.call(0.7)
    await purse.clock.advance(DAY)
    assert purse.budget.today().cost == 0
    await purse.call(0.2)
    assert purse.budget.today().cost == pytest.approx(0.2)
    again = DailyBudget(purse.journal, purse.clock, 1.0, ("U1",))
    assert again.today() == purse.budget.today(), "a projection of the journal"


async def test_an_owner_lets_the_day_go_on_by_as_much_again(purse: Purse) -> None:
    await purse.call(0.9)
    assert not purse.budget.can_spend(0.2)
    await purse.consent("person")
    assert not purse.budget.can_spend(0.2), "to something else"
    await purse.consent("day")
    await purse.consent("day")
    assert purse.budget.can_spend(1.0)
    assert not purse.budget.can_spend(1.1), "two presses are not two days"
    assert purse.budget.today().cost == pytest.approx(0.9), "what was spent stays spent"
    await purse.call(0.5)
    assert not purse.budget.can_spend(0.6)
    assert DailyBudget(purse.journal, purse.clock, 1.0, ("U1",)).today() == purse.budget.today()
    await purse.clock.advance(DAY)
    assert not purse.budget.can_spend(1.1), "a consent is for its day"


async def test_a_consent_of_yesterday_is_not_counted(purse: Purse) -> None:
    await purse.call(0.9)
    await purse.consent("day")
    await purse.clock.advance(DAY)
    await purse.call(0.9)
    assert purse.budget.today().cost == pytest.approx(0.9)
    assert not purse.budget.can_spend(0.2)


async def test_a_call_over_midnight_is_counted_once(purse: Purse) -> None:
    await purse.clock.advance(DAY)
    await purse.call(0.7)
    assert purse.budget.today().cost == pytest.approx(0.7)
