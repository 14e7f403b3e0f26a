"""Work of the daemon that outlasts the cancellation of its caller."""

from __future__ import annotations

import asyncio

import pytest

from daemon.lifetime import run_to_end


async def test_work_runs_to_its_end_however_often_its_caller_is_cancelled() -> None:
    may_end, ended = asyncio.Event(), []

    async def work() -> None:
        await may_end.wait()
        ended.append(True)

    caller = asyncio.create_task(run_to_end(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended == [True]
