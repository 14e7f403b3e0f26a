"""First days of a fake month, with a kill on the second."""

from __future__ import annotations

from tests.wire.month import Month
from tests.wire.month_world import DAYS, KILLED, NO_MODEL, NO_SLACK, QUIET, STOPPED, days_of, trouble


def test_some_days_lose_and_double_nothing() -> None:
    month = Month(seed=1, messages=3, seconds=600.0)
    days = [*month.days()]
    print(*days, sep="\n")
    assert not month.violation
    assert month.runs == 2
    assert [day.said for day in days] == [1, 2, 3]
    assert all(day.memory > 0 for day in days)


def test_each_message_has_its_day() -> None:
    for messages in (1, 29, 30, 31, 600):
        days = days_of(messages)
        assert len(days) <= DAYS
        assert [number for today in days for number in today] == [*range(messages)]


def test_each_trouble_comes_several_times() -> None:
    happens = [trouble(day) for day in range(DAYS)]
    assert min(map(happens.count, (QUIET, KILLED, STOPPED, NO_MODEL, NO_SLACK))) >= 5
