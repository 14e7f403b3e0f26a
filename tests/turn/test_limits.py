"""Limits of executions, threads and people, reset by an owner's approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import ExecutionRestarted, OutageBegan, OutageEnded, TurnResumed, WaitEnded
from daemon.kinds import (
    SOUL_KINDS,
    BackgroundTask,
    ButtonPress,
    LimitReached,
    QuestionAnswered,
    QuestionAsked,
    ReminderFired,
    SoulTurnEnded,
    StopRequest,
)
from daemon.settings.limits import CONTINUE, Limits, TokenUsage
from daemon.turn.usage_limits import DailyBudget, LimitChecker
from tests.clock import FakeClock
from tests.turn.spending import Life, about

NOON = 1_790_000_000.0 // 86_400 * 86_400 + 43_200
DAY = 86_400.0
SCOPES = ("turn", "thread", "person")
NOBODY: tuple[str, ...] = ()


def bound(life: Life, gauge: LimitChecker, path: str = "t@1") -> str:
    found = life.standing(gauge, path)
    return found.bound if found else ""


def whose(life: Life, gauge: LimitChecker, path: str = "t@1") -> str:
    found = life.standing(gauge, path)
    return found.resets if found else ""


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    clock = FakeClock(NOON)
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        life = Life(journal, clock)
        await life.begin()
        yield life


BOUNDS = [
    (Limits(calls=3), "calls"),
    (Limits(tokens=30), "tokens"),
    (Limits(usd=0.03), "money"),
    (Limits(seconds=6), "time"),
]


@pytest.mark.parametrize(("limits", "named"), BOUNDS)
@pytest.mark.parametrize("scope", SCOPES)
async def test_each_bound_holds_where_it_is_reached_and_not_before(
    life: Life, limits: Limits, named: str, scope: str
) -> None:
    gauge = life.gauge(**{scope: limits})
    for _ in range(3):
        assert life.standing(gauge) is None
        await life.call()
        await life.clock.advance(2)
    person = "U1" if scope == "person" else ""
    found = life.standing(gauge)
    assert found == LimitReached(bound=named, resets=scope, person=person)
    await life.answer(about(found))
    assert life.standing(gauge) is None, "an owner let it go on"
    again = life.gauge(**{scope: limits})
    life.budget = DailyBudget(life.journal, life.clock, 5.0, ("UOWNER",))
    assert life.standing(again) is None, "a projection of the journal"


async def test_a_clock_that_is_set_back_takes_no_time_away(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=6))
    await life.clock.advance(3)
    await life.call()
    life.clock.set_ahead(-365 * DAY)
    await life.call()
    assert life.standing(gauge) is None
    await life.clock.advance(3)
    assert bound(life, gauge) == "time"


async def test_what_was_spent_while_the_clock_was_ahead_is_not_of_today(life: Life) -> None:
    gauge = life.gauge(person=Limits(calls=1))
    life.clock.set_ahead(DAY)
    await life.call()
    assert bound(life, gauge) == "calls"
    life.clock.set_ahead(0)
    assert life.standing(gauge) is None
    life.budget = DailyBudget(life.journal, life.clock, 5.0)
    assert life.standing(life.gauge(person=Limits(calls=1))) is None, "nor when it is counted anew"


async def test_without_bounds_nothing_stands_in_the_way(life: Life) -> None:
    for _ in range(5):
        await life.call()
        await life.clock.advance(DAY)
    assert life.standing(life.gauge()) is None


async def test_of_several_bounds_the_nearest_is_named(life: Life) -> None:
    await life.call()
    one = Limits(calls=1, tokens=1)
    assert whose(life, life.gauge(turn=one, thread=one, person=one)) == "turn"
    assert whose(life, life.gauge(thread=one, person=one)) == "thread"
    assert life.standing(life.gauge(person=one)) == LimitReached(bound="calls", resets="person", person="U1")


async def test_a_playbook_may_set_a_nearer_bound(life: Life) -> None:
    gauge = life.gauge(turn=Limits(calls=2))
    await life.call()
    body = life.journal.entries_under("t@1")
    found = gauge.exceeded(body, NOBODY, limits=Limits(calls=1))
    assert found == LimitReached(bound="calls", resets="turn")
    assert gauge.exceeded(body, NOBODY, limits=Limits(tokens=11)) is None
    await life.call()
    found = gauge.exceeded(life.journal.entries_under("t@1"), NOBODY, limits=Limits(calls=9))
    assert found == LimitReached(bound="calls", resets="turn")


async def test_what_the_budget_did_not_let_through_is_no_call(life: Life) -> None:
    await life.call(outcome="over-budget", usage=TokenUsage(), cost=0.0, worth=0.0)
    assert life.standing(life.gauge(turn=Limits(calls=1))) is None


@pytest.mark.parametrize("value", ["stop", "", "yes"])
async def test_only_a_consent_lets_it_go_on(life: Life, value: str) -> None:
    one = Limits(calls=1)
    gauges = [life.gauge(turn=one), life.gauge(thread=one), life.gauge(person=one)]
    await life.call()
    for gauge in gauges:
        await life.answer(about(life.standing(gauge)), value=value)
    assert all(bound(life, gauge) for gauge in gauges)


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
    assert whose(life, gauge) == scope


async def test_a_body_does_not_pay_for_another(life: Life) -> None:
    gauge = life.gauge(turn=Limits(calls=1))
    await life.call("t@10")
    await life.call("t@1~2")
    assert life.standing(gauge) is None
    await life.call("t@1/within")
    assert whose(life, gauge) == "turn"


async def test_a_body_that_waits_for_someone_does_not_use_its_time(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=100))
    await life.clock.advance(60)
    await life.write(QuestionAsked())
    await life.write(SoulTurnEnded(outcome="suspended"), name="t@1/ended")
    await life.clock.advance(DAY)
    await life.answer({"resets": "person", "person": "U2"})
    assert life.standing(gauge) is None
    await life.clock.advance(39)
    assert life.standing(gauge) is None
    await life.clock.advance(1)
    assert bound(life, gauge) == "time"


async def test_a_daemon_that_was_away_does_not_use_a_bodys_time(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=100))
    await life.clock.advance(60)
    await life.call()
    await life.clock.advance(DAY)
    await life.write(TurnResumed(attempt=2), author="core", name="t@1!attempt#2")
    assert life.standing(gauge) is None
    await life.clock.advance(40)
    assert bound(life, gauge) == "time"


async def test_who_waits_for_what_cannot_be_reached_does_not_use_its_time(life: Life) -> None:
    gauge = life.gauge(turn=Limits(seconds=100))
    await life.clock.advance(60)
    await life.call(outcome="failed", failure="unreachable")
    for number in (1, 2):
        await life.write(OutageBegan(reason="unreachable"), name=f"t@1!outage#{number}")
        await life.clock.advance(DAY / 3)
    await life.call()
    await life.write(OutageEnded(), name="t@1!outage#2!ended")
    assert life.standing(gauge) is None
    await life.clock.advance(40)
    assert bound(life, gauge) == "time"


async def test_an_execution_that_begins_again_goes_on_with_its_count_and_pays_nothing_twice(
    life: Life,
) -> None:
    gauge = life.gauge(turn=Limits(calls=3), thread=Limits(calls=3), person=Limits(calls=3))
    await life.call()
    await life.write(ExecutionRestarted(why="other words"), name="t@1/restarted")
    await life.call("t@1~1", taken_from="t@1/think#1")
    await life.call("t@1~1")
    assert life.standing(gauge) is None
    assert life.budget.today().cost == pytest.approx(0.02)
    await life.call("t@1~1")
    assert whose(life, gauge) == "turn"


async def test_a_thread_counts_with_all_that_is_under_it(life: Life) -> None:
    gauge = life.gauge(thread=Limits(calls=3))
    for other in ("t2@1", "tt@1", "s.t@1"):
        await life.call(other)
    for inside in ("t.a@1", "t.a.b@1"):
        assert life.standing(gauge) is None
        await life.call(inside)
    await life.call()
    assert gauge.usage_of_tree("t", "thread").calls == 3
    assert whose(life, gauge) == "thread"
    await life.begin("t.a@1")
    assert whose(life, gauge, "t.a@1") == "thread", "one count for all of them"
    await life.answer({"resets": "thread"}, "t.a@1")
    assert life.standing(gauge) is None


async def test_a_thread_counts_what_it_does_since_a_person_spoke(life: Life) -> None:
    gauge = life.gauge(thread=Limits(calls=1))
    await life.call()
    await life.word("UBOT", bot=True)
    said: dict[str, Any] = {"user": "U1", "name": "Alice", "text": "hm", "ts": "1.0"}
    for nobody_s in (ReminderFired(**said), WaitEnded(answers=""), BackgroundTask(process="learning")):
        await life.write(nobody_s, "t", "core")
    for sign in (ButtonPress(**said, answers="", value=""), StopRequest(**said, address="dm")):
        await life.write(sign, "t", "U1")
    assert whose(life, gauge) == "thread", "nobody said anything"
    await life.word()
    assert life.standing(gauge) is None
    await life.call()
    assert whose(life, gauge) == "thread"


async def test_people_have_a_day_each(life: Life) -> None:
    gauge = life.gauge(person=Limits(calls=2))
    await life.call(people=("U1", "U2"))
    await life.call("other@1", people=("U1",))
    await life.call(people=NOBODY)
    assert life.standing(gauge, people=["U2", "U1"]) == LimitReached(
        bound="calls", resets="person", person="U1"
    )
    assert life.standing(gauge, people=["U2", "U3"]) is None
    assert life.standing(gauge, people=NOBODY) is None
    await life.answer({"resets": "person", "person": "U2"})
    found = life.standing(gauge)
    assert found
    assert found.person == "U1", "it was somebody else's"
    await life.clock.advance(DAY / 2)
    assert life.standing(gauge) is None, "a new day"


async def test_threads_that_are_no_longer_at_hand_are_counted_anew(life: Life) -> None:
    gauge = life.gauge(thread=Limits(calls=1))
    await life.call()
    for n in range(1_001):
        gauge.usage_of_tree(f"thread-{n}", "thread")
    assert gauge.usage_of_tree("t", "thread").calls == 1


@pytest.mark.parametrize("scope", SCOPES)
async def test_what_a_former_owner_allowed_is_allowed_no_longer(life: Life, scope: str) -> None:
    two = Limits(calls=2)
    await life.call()
    await life.call()
    await life.answer({"resets": scope, "person": "U1"})
    assert not bound(life, life.gauge(**{scope: two}))
    life.budget = DailyBudget(life.journal, life.clock, 5.0, ("USOMEBODYELSE",))
    assert bound(life, life.gauge(**{scope: two})) == "calls"


@pytest.mark.parametrize("scope", SCOPES)
async def test_what_was_allowed_before_a_restart_is_allowed_once(life: Life, scope: str) -> None:
    asked = {"resets": scope, "person": "U1"}
    await life.call()
    await life.call()
    await life.answer(asked)
    await life.call()
    await life.call()
    copy = QuestionAnswered(
        input=0, value=CONTINUE, by="UOWNER", about=asked, taken_from="t@1/limit#1!answer"
    )
    await life.write(copy)
    assert bound(life, life.gauge(**{scope: Limits(calls=2)})) == "calls"


async def test_nor_does_the_day_go_on_because_a_former_owner_let_it(life: Life) -> None:
    await life.call(cost=4.0, worth=4.0)
    await life.answer({"resets": "day"})
    assert life.budget.can_spend(4.0)
    assert not DailyBudget(life.journal, life.clock, 5.0, ("USOMEBODYELSE",)).can_spend(4.0)
