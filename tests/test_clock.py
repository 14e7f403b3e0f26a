"""Order in which FakeClock wakes sleepers."""

from __future__ import annotations

import asyncio

from tests.clock import FakeClock


async def test_sleepers_wake_in_order_each_at_its_own_time() -> None:
    clock, woken = FakeClock(100.0), list[tuple[str, float]]()

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.now()))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("late", 5))
        group.create_task(sleeper("twice", 1, 1))
        group.create_task(sleeper("early", 1))
        await clock.advance(2)
        assert (clock.now(), clock.sleepers) == (102.0, 1)
        assert woken == [("twice", 101.0), ("early", 101.0), ("twice", 102.0)]
        await clock.advance(10)
    assert woken[-1] == ("late", 105.0)
    assert clock.now() == 112.0


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(1))
    await clock.advance(0)
    assert clock.sleepers == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.sleepers == 0
    await clock.advance(1)


async def test_who_sleeps_again_and_again_wakes_once_when_time_is_skipped() -> None:
    clock, woken = FakeClock(0.0), list[float]()

    async def beat() -> None:
        while True:
            await clock.sleep(1)
            woken.append(clock.now())

    beating = asyncio.create_task(beat())
    await clock.advance(0)
    await clock.skip(1_000)
    assert woken == [1_000]
    await clock.advance(2)
    assert woken == [1_000, 1_001, 1_002]
    beating.cancel()
