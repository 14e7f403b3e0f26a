"""Code that skips steps of an earlier attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.exceptions import ExecutionSuspended
from daemon.engine.kinds import AnswerAwaited, ExecutionRestarted, StepResult
from tests.clock import FakeClock
from tests.engine.function_programs import Body, pass_time, say, working


async def restarts(folder: Path, old: Body, new: Body) -> int:
    clock = FakeClock()
    async with working(folder, clock, old) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert journal.busy_threads()
    async with working(folder, clock, new) as (journal, worker):
        await pass_time(clock, worker, 5)
        assert not journal.busy_threads()
        return len(journal.entries_of_kind(ExecutionRestarted))


def fails(body: Body) -> Body:
    async def failing(ctx: Context) -> None:
        await body(ctx)
        raise RuntimeError("it fails here")

    return failing


def notes(done: list[str], ctx: Context) -> Callable[[], Awaitable[None]]:
    async def note() -> None:
        done.append(ctx.execution.path)

    return note


async def test_a_context_that_nobody_comes_to_is_missed_by_the_first_new_step_beside_it(
    tmp_path: Path,
) -> None:
    done = list[str]()

    def sends(name: str) -> Body:
        async def send(inner: Context) -> None:
            await inner.run("send", notes(done, inner))

        return lambda ctx: ctx.gather((ctx.child_context(name), send))

    assert await restarts(tmp_path, fails(sends("notify")), sends("inform")) == 1
    assert done == ["ann@2"], "what was sent is not sent again, but taken over"


async def test_a_branch_that_returns_early_is_found_out_before_the_trunk_goes_on(tmp_path: Path) -> None:
    done = list[str]()

    async def thinks(inner: Context) -> None:
        await inner.run("think", notes([], inner))

    async def returns(inner: Context) -> None:
        return

    async def old(ctx: Context) -> None:
        await ctx.gather((ctx.child_context("a"), thinks))

    async def new(ctx: Context) -> None:
        await ctx.gather((ctx.child_context("a"), returns))
        await ctx.run("send", notes(done, ctx))

    assert await restarts(tmp_path, fails(old), new) == 1
    assert done == ["ann@2~1"], "nothing is done on the word of a branch that did not fit"


async def test_what_suspends_must_have_read_all_that_is_recorded(tmp_path: Path) -> None:
    async def old(ctx: Context) -> None:
        await ctx.run("think", notes([], ctx))
        try:
            await ctx.ask("sure", AnswerAwaited())
        except ExecutionSuspended:
            raise RuntimeError("it fails here") from None

    assert await restarts(tmp_path, old, lambda ctx: ctx.ask("sure", AnswerAwaited())) == 1


async def test_a_step_may_come_before_one_of_which_only_parts_are_written(tmp_path: Path) -> None:
    async def old(ctx: Context) -> None:
        async def think() -> None:
            await ctx.append_note(StepResult(value="no answer"), "tried")
            raise RuntimeError("it fails here")

        await ctx.run("think", think)

    async def new(ctx: Context) -> None:
        await ctx.run("look up", notes([], ctx))
        await ctx.run("think", notes([], ctx))

    assert await restarts(tmp_path, old, new) == 0
