"""Repeatable steps, recorded unawaited and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.context import Context
from daemon.engine.event import Event, of_kind
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter, PendingAppend
from daemon.engine.kinds import Intent, Outcome, StepResult
from tests.attention import until
from tests.clock import FakeClock
from tests.engine.function_programs import say, working
from tests.engine.harness import ENGINE
from tests.engine.scenario import Said
from tests.soak import shared

EACH = 7
"""Every seventh kill: odd, to alternate before and after commits."""


class Refusing(JournalWriter):
    times = 0

    def _insert(self, append: PendingAppend) -> Any:
        if append.row.key.endswith("/look#1") and Refusing.times:
            Refusing.times -= 1
            return JournalError("the disk is full")
        return super()._insert(append)


def keys(journal: Journal) -> list[str]:
    return [entry.key.partition("/")[2] for entry in journal.thread_entries("ann", Event)[1:]]


async def find() -> Outcome:
    return Outcome(result="found")


@pytest.mark.parametrize("first", shared(range(EACH), EACH))
async def test_whatever_is_awaited_comes_after_it_wherever_it_is_killed(first: int) -> None:
    assert ENGINE.violations(ENGINE.kills("looks up")[first::EACH]) == {}


async def test_what_the_world_may_see_waits_for_what_came_before(tmp_path: Path) -> None:
    known = list[list[str]]()

    async def body(ctx: Context) -> None:
        async def look() -> Outcome:
            known.append(keys(journal))
            return Outcome()

        await ctx.effect_soon(Intent(name="look"), look)
        await ctx.record_soon(StepResult(value="first"), "told")
        await ctx.effect_soon(Intent(name="look"), look)

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
    assert known == [["began"], ["began", "look#1", "look#1!done", "told#1"]]


async def test_what_follows_on_something_that_could_not_be_written_is_not_written_either(
    tmp_path: Path,
) -> None:
    Refusing.times = 1
    async with Journal(tmp_path / "journal.db", FakeClock(), [Said], Refusing) as journal:
        first = journal.submit(journal.make_draft("ann", Intent(name="look"), key="ann@1/look#1"))
        done = journal.make_draft("ann", Outcome(), key="ann@1/look#1!done")
        second = journal.submit(done, after="ann@1/look#1", receipt_of="ann@1/look#1")
        third = journal.submit(journal.make_draft("ann", StepResult(), key="told"), after="ann@1/look#1!done")
        found = await asyncio.gather(first, second, third, return_exceptions=True)
        assert [type(one) for one in found] == [JournalError] * 3
        assert journal.last_seq_of_all() == 0


async def test_what_was_paid_for_meanwhile_is_not_paid_again(tmp_path: Path) -> None:
    Refusing.times = 2
    paid = list[str]()

    async def pay() -> str:
        paid.append("call")
        return "answer"

    async def body(ctx: Context) -> None:
        await ctx.effect_soon(Intent(name="look"), find)
        await ctx.run("call", pay)

    clock = FakeClock()
    async with working(tmp_path, clock, body, writer=Refusing) as (journal, worker):
        await say(journal, "go")
        worker.wake("ann")
        for _ in range(2):
            await until(lambda: clock.sleepers == 2)  # the sweep and the failed write
            await clock.advance(1.0)
        await until(lambda: "ended" in keys(journal))
        assert keys(journal) == ["began", "look#1", "look#1!done", "call#1", "ended"]
        [intent, done] = [entry for entry in journal.thread_entries("ann", Event) if "look" in entry.key]
        assert (done.cause, done.closes) == (intent.seq, (intent.seq,))
    assert paid == ["call"]


async def heard_after(path: Path, bring: Callable[[Journal], Awaitable[None]]) -> list[str]:
    heard = list[str]()

    async def body(ctx: Context) -> None:
        assert await ctx.receive() == []
        await bring(ctx.execution.journal)
        assert await ctx.receive(lambda _: False) == []
        heard.extend(entry.event.text for entry in of_kind(Said, await ctx.receive()))

    async with working(path, FakeClock(), body) as (journal, worker):
        await say(journal, "go")
        await until(lambda: journal.pending_entries(Said))
        worker.wake("ann")
        await until(lambda: heard)
    return heard[:1]


async def test_what_arrives_is_heard_and_again_as_long_as_it_waits(tmp_path: Path) -> None:
    assert await heard_after(tmp_path, lambda journal: say(journal, "more")) == ["more"]


async def test_it_is_heard_though_whoever_brought_it_is_gone(tmp_path: Path) -> None:
    async def bring(journal: Journal) -> None:
        before = journal.arrival_counter("ann")
        bringing = asyncio.create_task(say(journal, "more"))
        await asyncio.sleep(0)
        bringing.cancel()
        await until(lambda: journal.arrival_counter("ann") != before)

    assert await heard_after(tmp_path, bring) == ["more"]
