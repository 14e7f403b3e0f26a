"""The allowance of a reading: bounded under concurrency, without deadlock."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.engine.event import Entry
from daemon.kinds import Ending, ModelCall
from daemon.settings.limits import ReadingLimits
from daemon.turn.usage_limits import ReadingAllowance
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.turn.spending import called

SEQS = count(1)
ASKED = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 5)), max_size=30)
"""Calls: reserved cents, real cents (at most the reserved), duration."""


def made(cost: float = 0.01, **more: Any) -> Entry[ModelCall]:
    seq = next(SEQS)
    return Entry(
        seq=seq,
        thread="t",
        author="soul",
        key=f"call#{seq}",
        cause=None,
        closes=(),
        at=0.0,
        event=called(cost=cost, **more),
    )


def ledger(
    *spent: Entry[ModelCall], lasted: float = 0.0, clock: FakeClock | None = None, **limits: Any
) -> ReadingAllowance:
    usual: dict[str, Any] = {"usd": 1.0, "calls": 10, "concurrency": 2, "seconds": 60.0}
    return ReadingAllowance(ReadingLimits(**{**usual, **limits}), clock or FakeClock(), spent, lasted)


class Calls:
    def __init__(self, ledger: ReadingAllowance, most: float) -> None:
        self.ledger = ledger
        self.most = most
        self.at_once = self.held = self.most_at_once = 0
        self.granted = 0
        self.reached: list[Ending] = []

    async def make(self, cents: int, costs: int, passes: int, *, last: bool = False) -> None:
        async with self.ledger.reserve(cents / 100, last=last) as reached:
            if reached:
                self.reached.append(reached)
                return
            self.at_once += 1
            self.held += cents
            self.granted += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if not last:
                assert self.ledger.usd + self.held / 100 <= self.most + 1e-9
            for _ in range(passes):
                await asyncio.sleep(0)
            self.at_once -= 1
            self.held -= cents
        self.ledger.count(made(min(cents, costs) / 100))


@given(
    asked=ASKED,
    concurrency=st.integers(1, 5),
    most=st.integers(1, 8),
    usd=st.sampled_from([0.05, 0.2, 0.5]),
)
@example(asked=[(3, 0, 5), (5, 0, 5), (12, 10, 0), (10, 0, 0)], concurrency=5, most=8, usd=0.2)
def test_however_many_ask_no_bound_is_passed_and_all_come_to_an_end(
    asked: list[tuple[int, int, int]], concurrency: int, most: int, usd: float
) -> None:
    limited = ledger(concurrency=concurrency, calls=most, usd=usd)
    calls = Calls(limited, usd)

    async def every() -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[calls.make(*one) for one in asked])

    asyncio.run(every())
    assert calls.most_at_once <= concurrency
    assert limited.calls == calls.granted <= most
    assert limited.usd <= usd + 1e-9
    assert calls.granted + len(calls.reached) == len(asked)
    if len(asked) <= most and sum(cents for cents, _, _ in asked) / 100 < usd:
        assert not calls.reached, "nobody is refused where there is room for all"


@given(costs=st.lists(st.integers(0, 100), max_size=20), times=st.integers(1, 3))
def test_each_call_counts_once(costs: list[int], times: int) -> None:
    entries = [made(cents / 100) for cents in costs]
    counted = ledger(*entries[: len(entries) // 2])
    for _ in range(times):
        for entry in entries:
            counted.count(entry)
    assert counted.calls == len(entries)
    assert counted.usd == pytest.approx(sum(costs) / 100)


def test_what_was_not_paid_now_does_not_count() -> None:
    assert ledger(made(outcome="over-budget"), made(taken_from="t@1/read#1/recurse#1")).calls == 0
    assert ledger(made(outcome="failed"), made(outcome="refused"), made(outcome="cancelled")).calls == 3


async def test_where_only_what_is_on_its_way_stands_in_the_way_it_is_waited_for() -> None:
    limited = ledger(usd=1.0, concurrency=5)
    calls = Calls(limited, 1.0)
    order: list[str] = []

    async def first() -> None:
        async with limited.reserve(0.8):
            for _ in range(5):
                await asyncio.sleep(0)
            order.append("first")
        limited.count(made(0.1))

    async def second() -> None:
        async with limited.reserve(0.8) as reached:
            order.append(str(reached))

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(first(), second())
        await calls.make(90, 90, 0)
    assert order == ["first", "None"], "it cost less than it might have"
    assert calls.reached == [], "0.1 were spent, and 0.9 are left"


async def test_what_can_never_fit_is_refused_at_once() -> None:
    limited = ledger(usd=1.0)
    async with limited.reserve(0.5), asyncio.timeout(PATIENCE), limited.reserve(1.5) as reached:
        assert reached == "money"


async def test_calls_on_their_way_count_as_made() -> None:
    limited = ledger(calls=1)
    async with asyncio.timeout(PATIENCE), limited.reserve(0.0) as first, limited.reserve(0.0) as second:
        assert (first, second) == (None, "calls")
        assert limited.reached_limit == "calls"
    assert limited.reached_limit is None, "it came to nothing, so it may be tried again"


@pytest.mark.parametrize(
    ("limited", "reached"),
    [
        (ledger(made(), made(), calls=2), "calls"),
        (ledger(made(), calls=2), None),
        (ledger(made(1.0), usd=1.0), "money"),
        (ledger(made(99.0), usd=0.0), None),
        (ledger(lasted=60.0), "time"),
        (ledger(lasted=59.0), None),
    ],
    ids=["calls", "room for calls", "money", "any money", "time", "time left"],
)
def test_what_earlier_lives_used_counts(limited: ReadingAllowance, reached: Ending | None) -> None:
    assert limited.reached_limit == reached


async def test_time_is_over_when_it_is_over() -> None:
    clock = FakeClock()
    limited = ledger(lasted=20.0, clock=clock)
    await clock.advance(39)
    assert limited.reached_limit is None
    await clock.advance(1)
    assert limited.reached_limit == "time"


async def test_without_a_bound_of_money_any_sum_is_granted() -> None:
    limited = ledger(made(5.0), usd=0.0)
    async with asyncio.timeout(PATIENCE), limited.reserve(100.0) as first, limited.reserve(100.0) as second:
        assert (first, second) == (None, None)


async def test_the_last_call_goes_past_all_bounds_but_waits_for_a_slot() -> None:
    limited = ledger(made(5.0), calls=1, concurrency=1)
    calls = Calls(limited, 1.0)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*[calls.make(50, 50, 3, last=True) for _ in range(3)])
    assert (calls.granted, calls.most_at_once) == (3, 1)


async def test_whoever_is_cancelled_leaves_nothing_behind() -> None:
    limited = ledger(usd=1.0, concurrency=2, calls=5)
    never = asyncio.Event()

    async def hold() -> None:
        async with limited.reserve(0.9):
            await never.wait()

    async with asyncio.timeout(PATIENCE):
        holding = [asyncio.create_task(hold()) for _ in range(4)]
        for _ in range(5):
            await asyncio.sleep(0)
        for task in holding:
            task.cancel()
        await asyncio.gather(*holding, return_exceptions=True)
        async with limited.reserve(1.0) as first, limited.reserve(0.0) as second:
            assert (first, second) == (None, None)


async def test_a_reading_within_one_needs_no_slot_while_it_waits() -> None:
    limited = ledger(concurrency=1, calls=50, usd=1.0)
    calls = Calls(limited, 1.0)

    async def node(depth: int) -> None:
        await calls.make(10, 1, 2)
        if depth:
            await asyncio.gather(*[node(depth - 1) for _ in range(2)])
        await calls.make(10, 1, 2)

    async with asyncio.timeout(PATIENCE):
        await node(3)
    assert (calls.granted, calls.most_at_once) == (30, 1)
