"""Bounds: what bodies, threads and people use is counted, and an owner's consent begins it anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from daemon.journal.journal import Journal
from daemon.life.budget import Budget
from daemon.life.limits import Standing
from daemon.limits import Limits
from tests.clock import FakeClock
from tests.life.spending import Life

NOON = 1_790_000_000.0 // 86_400 * 86_400 + 43_200
DAY = 86_400.0
SCOPES = ("turn", "thread", "person")
NOBODY: Sequence[str] = ()


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    clock = FakeClock(NOON)
    async with Journal(tmp_path / "journal.db", clock) as journal:
        life = Life(journal, clock)
        await life.begin()
        yield life


BOUNDS = [
    (Limits(calls=3), "calls"),
    (Limits(tokens=30), "tokens"),
    (Limits(usd=0.03), "money"),
    (Limits(seconds=6), "time"),
]


@pytest.mark.parametrize(("limits", "bound"), BOUNDS)
@pytest.mark.parametrize("scope", SCOPES)
async def test_each_bound_holds_where_it_is_reached_and_not_before(
    life: Life, limits: Limits, bound: str, scope: str
) -> None:
    gauge = life.gauge(**{scope: limits})
    for _ in range(3):
        assert life.standing(gauge) == Standing()
        await life.call()
        await life.clock.advance(2)
    person = "U1" if scope == "person" else ""
    found = life.standing(gauge)
    assert found == Standing(bound=bound, scope=scope, person=person)
    await life.answer(found.about)
    assert life.standing(gauge) == Standing(), "an owner let it go on"
    again = life.gauge(**{scope: limits})
    life.budget = Budget(life.journal, life.clock, 5.0, ("UOWNER",))
    assert life.standing(again) == Standing(), "a projection of the journal"


async def test_a_clock_that_is_set_back_takes_no_time_away(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=6))
    await life.clock.advance(3)
    await life.call()
    life.clock.set_ahead(-365 * DAY)
    await life.call()
    assert life.standing(gauge) == Standing()
    await life.clock.advance(3)
    assert life.standing(gauge).bound == "time"


async def test_what_was_spent_while_the_clock_was_ahead_is_not_of_today(life: Life) -> None:
    gauge = life.gauge(person=Limits(calls=1))
    life.clock.set_ahead(DAY)
    await life.call()
    assert life.standing(gauge).bound == "calls"
    life.clock.set_ahead(0)
    assert life.standing(gauge) == Standing()
    life.budget = Budget(life.journal, life.clock, 5.0)
    assert life.standing(life.gauge(person=Limits(calls=1))) == Standing(), "nor when it is counted anew"


async def test_without_bounds_nothing_stands_in_the_way(life: Life) -> None:
    for _ in range(5):
        await life.call()
        await life.clock.advance(DAY)
    assert life.standing(life.gauge()) == Standing()


async def test_of_several_bounds_the_nearest_is_named(life: Life) -> None:
    await life.call()
    one = Limits(calls=1, tokens=1)
    assert life.standing(life.gauge(turn=one, thread=one, person=one)).scope == "turn"
    assert life.standing(life.gauge(thread=one, person=one)).scope == "thread"
    assert life.standing(life.gauge(person=one)) == Standing(bound="calls", scope="person", person="U1")


async def test_a_playbook_may_set_a_nearer_bound(life: Life) -> None:
    gauge = life.gauge(turn=Limits(calls=2))
    await life.call()
    body = life.journal.under("t@1")
    found = gauge.standing(body, NOBODY, limits=Limits(calls=1))
    assert found == Standing(bound="calls", scope="turn")
    assert gauge.standing(body, NOBODY, limits=Limits(tokens=11)) == Standing()
    await life.call()
    assert gauge.standing(life.journal.under("t@1"), NOBODY, limits=Limits(calls=9)).bound == "calls"


async def test_what_the_budget_did_not_let_through_is_no_call(life: Life) -> None:
    await life.call(outcome="over-budget", usage=(0, 0, 0, 0), cost=0.0, worth=0.0)
    assert life.standing(life.gauge(turn=Limits(calls=1))) == Standing()


@pytest.mark.parametrize("value", ["stop", "", "yes"])
async def test_only_a_consent_lets_it_go_on(life: Life, value: str) -> None:
    one = Limits(calls=1)
    gauges = [life.gauge(turn=one), life.gauge(thread=one), life.gauge(person=one)]
    await life.call()
    for gauge in gauges:
        await life.answer(life.standing(gauge).about, value=value)
    assert all(life.standing(gauge).bound for gauge in gauges)


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_consent_to_one_thing_is_none_to_another(life: Life, scope: str) -> None:
    gauge = life.gauge(**{scope: Limits(calls=1)})
    await life.call()
    for other in {*SCOPES, "day", ""} - {scope}:
        await life.answer({"resets": other, "person": "U1"})
    await life.answer({"resets": "turn"}, "t@1~2")
    await life.answer({"resets": "person", "person": "U2"})
    await life.answer({"resets": "thread"}, "t2@1")
    await life.answer({})
    assert life.standing(gauge).scope == scope


async def test_a_body_does_not_pay_for_another(life: Life) -> None:
    gauge = life.gauge(turn=Limits(calls=1))
    await life.call("t@10")
    await life.call("t@1~2")
    assert life.standing(gauge) == Standing()
    await life.call("t@1/within")
    assert life.standing(gauge).scope == "turn"


async def test_a_body_that_waits_for_someone_does_not_use_its_time(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=100))
    await life.clock.advance(60)
    await life.write("asked", {})
    await life.write("turn-ended", {"outcome": "parked"}, name="ended")
    await life.clock.advance(DAY)
    await life.answer({"resets": "person", "person": "U2"})
    assert life.standing(gauge) == Standing()
    await life.clock.advance(39)
    assert life.standing(gauge) == Standing()
    await life.clock.advance(1)
    assert life.standing(gauge).bound == "time"


async def test_a_daemon_that_was_away_does_not_use_a_bodys_time(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=100))
    await life.clock.advance(60)
    await life.call()
    await life.clock.advance(DAY)
    await life.write("turn-resumed", {"attempt": 2}, author="core", name="attempt#2")
    assert life.standing(gauge) == Standing()
    await life.clock.advance(40)
    assert life.standing(gauge).bound == "time"


async def test_a_thread_counts_with_all_that_is_under_it(life: Life) -> None:
    gauge = life.gauge(thread=Limits(calls=3))
    for other in ("t2@1", "tt@1", "s.t@1"):
        await life.call(other)
    for inside in ("t.a@1", "t.a.b@1"):
        assert life.standing(gauge) == Standing()
        await life.call(inside)
    await life.call()
    assert gauge.thread("t").calls == 3
    assert life.standing(gauge).scope == "thread"
    await life.begin("t.a@1")
    assert life.standing(gauge, "t.a@1").scope == "thread", "one count for all of them"
    await life.answer({"resets": "thread"}, "t.a@1")
    assert life.standing(gauge) == Standing()


async def test_a_thread_counts_what_it_does_since_a_person_spoke(life: Life) -> None:
    """CORE: a bound is for what goes on by itself, not for a conversation that lives long."""
    gauge = life.gauge(thread=Limits(calls=1))
    await life.call()
    await life.word("UBOT", bot=True)
    await life.word("soul")
    await life.word("core")
    await life.word(rank="answer")
    await life.word(rank="stop")
    assert life.standing(gauge).scope == "thread", "nobody said anything"
    await life.word()
    assert life.standing(gauge) == Standing()
    await life.call()
    assert life.standing(gauge).scope == "thread"


async def test_people_have_a_day_each(life: Life) -> None:
    gauge = life.gauge(person=Limits(calls=2))
    await life.call(people=["U1", "U2"])
    await life.call("other@1", people=["U1"])
    await life.call(people=NOBODY)
    assert life.standing(gauge, people=["U2", "U1"]) == Standing(bound="calls", scope="person", person="U1")
    assert life.standing(gauge, people=["U2", "U3"]) == Standing()
    assert life.standing(gauge, people=NOBODY) == Standing()
    await life.answer({"resets": "person", "person": "U2"})
    assert life.standing(gauge).person == "U1", "it was somebody else's"
    await life.clock.advance(DAY / 2)
    assert life.standing(gauge) == Standing(), "a new day"


async def test_threads_that_are_no_longer_at_hand_are_counted_anew(life: Life) -> None:
    gauge = life.gauge(thread=Limits(calls=1))
    await life.call()
    for n in range(1_001):
        gauge.thread(f"thread-{n}")
    assert gauge.thread("t").calls == 1


@pytest.mark.parametrize("scope", SCOPES)
async def test_what_a_former_owner_allowed_is_allowed_no_longer(life: Life, scope: str) -> None:
    bound = Limits(calls=2)
    await life.call()
    await life.call()
    await life.answer({"resets": scope, "person": "U1"})
    assert not life.standing(life.gauge(**{scope: bound})).bound
    life.budget = Budget(life.journal, life.clock, 5.0, ("USOMEBODYELSE",))
    assert life.standing(life.gauge(**{scope: bound})).bound == "calls"


async def test_nor_does_the_day_go_on_because_a_former_owner_let_it(life: Life) -> None:
    await life.call(cost=4.0, worth=4.0)
    await life.answer({"resets": "day"})
    assert life.budget.fits(4.0)
    assert not Budget(life.journal, life.clock, 5.0, ("USOMEBODYELSE",)).fits(4.0)
