"""Failed turns: pause, retry, and the end of retries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pytest

from daemon.engine.context import Context
from daemon.engine.event import FAILED, Entry, Input, last_words_path
from daemon.engine.exceptions import (
    ExecutionSuspended,
    FencedError,
    ReplayMismatch,
    ReplayRequested,
    most_severe_error,
)
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import (
    AttemptFailed,
    CancelRequest,
    ExecutionRestarted,
    InputUndeliverable,
    StepResult,
    ThreadEnded,
    ThreadSpawned,
    TurnBegan,
    TurnEnded,
    TurnGivenUp,
    TurnNotBegun,
    WaitBegan,
    WaitEnded,
)
from daemon.engine.program import InputSelection
from daemon.engine.retries import MAX_ATTEMPTS, MAX_FAILED_BEGINS, MAX_FAILURES, MAX_FAILURES_AT_ONE_KEY
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.function_programs import Body, FunctionProgram, pass_time, said_to, say, working
from tests.engine.scenario import Said


class Fails(FunctionProgram):
    def __init__(self, body: Body | None = None, *, faulty: bool = True, final: bool = False) -> None:
        super().__init__(body or self._raise)
        self.tried = 0
        self.told = 0
        self.faulty = faulty
        self.final = final
        self.speechless = False

    async def _raise(self, ctx: Context) -> None:
        self.tried += 1
        await ctx.run(f"step-{self.tried}", self._fail)

    async def _fail(self) -> None:
        raise RuntimeError("always")

    async def failed(self, ctx: Context) -> None:
        self.told += 1
        if self.speechless:
            raise RuntimeError("not even that")
        await super().failed(ctx)

    def is_fault(self, error: Exception) -> bool:
        return self.faulty

    def ends(self, error: Exception) -> bool:
        return self.final


async def outcomes(folder: Path, program: Fails, seconds: float = 1500) -> list[str]:
    clock = FakeClock()
    async with working(folder, clock, program) as (journal, worker):
        await say(journal, "poison")
        await worker.wait_until_idle()
        await pass_time(clock, worker, seconds)
        return [entry.event.outcome for entry in journal.entries_of_kind(TurnEnded)]


async def test_after_five_failures_it_is_given_up_and_told_once(tmp_path: Path) -> None:
    program = Fails()
    assert await outcomes(tmp_path, program) == ["failed"]
    assert (program.tried, program.told) == (MAX_FAILURES, 1)


async def test_three_failures_at_one_place_are_enough(tmp_path: Path) -> None:
    tried = list[str]()

    async def body(ctx: Context) -> None:
        tried.append(ctx.path)
        raise RuntimeError("always here")

    assert await outcomes(tmp_path, Fails(body)) == ["failed"]
    assert len(tried) == MAX_FAILURES_AT_ONE_KEY


async def test_what_fails_for_ever_alike_is_given_up_at_once(tmp_path: Path) -> None:
    program = Fails(final=True)
    assert await outcomes(tmp_path, program, 0) == ["failed"]
    assert program.tried == 1


async def test_a_failure_that_is_not_its_own_counts_for_nothing(tmp_path: Path) -> None:
    program = Fails(faulty=False)
    assert await outcomes(tmp_path, program, 400) == []
    assert MAX_FAILURES < program.tried < MAX_ATTEMPTS


async def test_where_even_the_end_cannot_be_told_it_is_ended_without_a_word(tmp_path: Path) -> None:
    program = Fails()
    program.speechless = True
    assert await outcomes(tmp_path, program, 300 * 12) == ["abandoned"]
    assert program.told == MAX_FAILURES


async def test_the_end_of_a_wait_that_came_while_it_failed_is_not_taken_for_answered(tmp_path: Path) -> None:
    clock = FakeClock()

    async def body(ctx: Context) -> None:
        try:
            await ctx.sleep(1)
        except ExecutionSuspended:
            raise RuntimeError("it does not wait") from None

    async with working(tmp_path, clock, Fails(body)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        [wait] = journal.pending_entries(WaitBegan)
        await pass_time(clock, worker, 1500)
        [woke] = journal.entries_of_kind(WaitEnded)
        [ended], [late] = journal.entries_of_kind(TurnEnded), journal.entries_of_kind(InputUndeliverable)
        assert ended.event.outcome == "failed"
        assert wait.seq in ended.closes
        assert [*late.closes] == [woke.seq]
        assert not journal.busy_threads()


async def test_a_child_that_is_given_up_tells_its_parent(tmp_path: Path) -> None:
    joined, clock = list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            raise RuntimeError("always")
        [child] = await ctx.join([await ctx.spawn("a", Said(text="go"))])
        joined.append(child.status)

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        assert [entry.event.status for entry in journal.entries_of_kind(ThreadEnded)] == ["failed"]
    assert joined == ["failed"]


async def test_a_root_that_is_given_up_stops_what_it_spawned_and_nothing_else(tmp_path: Path) -> None:
    stopped, clock = list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        thread, first = ctx.execution.thread, ctx.execution.inputs[0]
        if isinstance(first.event, CancelRequest):
            stopped.append(thread)
            await ctx.end_thread(status="cancelled")
        elif ctx.execution.parent_thread:
            await ctx.sleep(3600)
        elif said_to(ctx) == ["poison"]:
            await ctx.spawn("lost", Said(text="go"))
            raise RuntimeError("always")
        else:
            await ctx.join([await ctx.spawn("kept", Said(text="go"))])

    async with working(tmp_path, clock, body) as (journal, worker):
        for text in ("wait", "poison"):
            await say(journal, text)
            await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        assert [entry.event.thread for entry in journal.pending_entries(ThreadSpawned)] == ["ann.kept"]
    assert stopped == ["ann.lost"]


async def test_a_stop_cuts_the_pause_and_nothing_of_it_runs_again(tmp_path: Path) -> None:
    program, clock = Fails(), FakeClock()
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "poison")
        await worker.wait_until_idle()
        assert program.tried == 1
        program.tried = 100
        await journal.append("ann", CancelRequest(), key="stop:1", author="ann")
        await worker.wait_until_idle()
        ended = journal.entries_of_kind(TurnEnded)
        assert [entry.event.outcome for entry in ended][:1] == ["stopped"]
        assert program.tried == 101, "the stop's own turn"


async def test_what_somebody_says_cuts_one_pause_and_not_two_in_a_row(tmp_path: Path) -> None:
    program, clock = Fails(), FakeClock()
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "poison")
        await worker.wait_until_idle()
        for n in range(3):
            await say(journal, f"hello? {n}")
            await worker.wait_until_idle()
        assert program.tried == 2


async def test_what_is_given_up_does_not_run_again(tmp_path: Path) -> None:
    program, clock = Fails(), FakeClock()
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "poison")
        await worker.wait_until_idle()
        [began] = journal.entries_of_kind(TurnBegan)
        words = last_words_path(began.event.execution, FAILED)  # the daemon was killed while giving up
        await journal.append(began.thread, TurnGivenUp(), key=f"{words}/begin", cause=began.seq)
        await pass_time(clock, worker, 60)
        assert [entry.event.outcome for entry in journal.entries_of_kind(TurnEnded)] == ["failed"]
    assert (program.tried, program.told) == (1, 1)


class Unfit(FunctionProgram):
    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        if any(isinstance(entry.event, Said) and entry.event.text == "mad" for entry in waiting):
            raise ValueError("nobody can read this")
        return super().take(journal, waiting)


async def test_what_cannot_be_begun_is_given_up_visibly(tmp_path: Path) -> None:
    heard, clock = list[list[str]](), FakeClock()

    async def body(ctx: Context) -> None:
        heard.append(said_to(ctx))

    async with working(tmp_path, clock, Unfit(body)) as (journal, worker):
        await say(journal, "mad")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        assert len(journal.entries_of_kind(TurnNotBegun)) == MAX_FAILED_BEGINS
        assert [entry.event.unfit for entry in journal.entries_of_kind(TurnBegan)] == [True]
        assert [entry.event.outcome for entry in journal.entries_of_kind(TurnEnded)] == ["failed"]
        await say(journal, "hello")
        await worker.wait_until_idle()
    assert heard == [["hello"]]


async def test_code_that_swallows_the_end_of_its_turn_does_not_go_on(tmp_path: Path) -> None:
    clock, steps = FakeClock(), list[str]()

    async def body(ctx: Context) -> None:
        try:
            await ctx.sleep(60)
        except BaseException:  # noqa: BLE001  what a careless program does
            steps.append("swallowed")
        try:
            await ctx.run("more", lambda: say(journal, "never"))
        except BaseException:  # noqa: BLE001
            steps.append("raised again")

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert [entry.event.outcome for entry in journal.entries_of_kind(TurnEnded)] == ["suspended"]
        assert not journal.entries_of_kind(AttemptFailed)
    assert steps == ["swallowed", "raised again"]


async def test_code_that_swallows_what_a_branch_ended_with_does_not_go_on(tmp_path: Path) -> None:
    clock, steps = FakeClock(), list[str]()

    async def waits(inner: Context) -> None:
        await inner.sleep(60)

    async def body(ctx: Context) -> None:
        try:
            await ctx.gather((ctx.child_context("a"), waits))
        except BaseException:  # noqa: BLE001  what a careless program does
            steps.append("swallowed")
        await ctx.run("more", lambda: say(journal, "never"))

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert [entry.event.outcome for entry in journal.entries_of_kind(TurnEnded)] == ["suspended"]
        assert not journal.entries_of_kind(StepResult)
    assert steps == ["swallowed"]


async def test_code_that_swallows_that_it_does_not_fit_begins_again_all_the_same(tmp_path: Path) -> None:
    clock, done = FakeClock(), list[str]()

    async def think() -> None:
        pass

    async def old(ctx: Context) -> None:
        await ctx.run("think", think)
        raise RuntimeError("it fails here")

    async def new(ctx: Context) -> None:
        async def send() -> None:
            done.append(ctx.path)

        with suppress(BaseException):
            await ctx.run("look up", think)
        await ctx.run("think", think)
        await ctx.run("send", send)

    async with working(tmp_path, clock, old) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
    async with working(tmp_path, clock, new) as (journal, worker):
        await pass_time(clock, worker, 5)
        assert len(journal.entries_of_kind(ExecutionRestarted)) == 1
    assert done == ["ann@2~1"]


def test_of_several_errors_their_kinds_decide_and_not_which_came_first() -> None:
    errors = (
        ExecutionSuspended(),
        ReplayRequested(),
        ValueError(),
        ReplayMismatch(),
        FencedError(),
        asyncio.CancelledError(),
    )
    for weaker, stronger in combinations(errors, 2):
        assert most_severe_error(["a result", weaker, stronger]) is stronger
        assert most_severe_error([stronger, weaker, "a result"]) is stronger


async def test_a_branch_that_suspends_does_not_end_the_turn_before_the_others_are_through(
    tmp_path: Path,
) -> None:
    async def waits(inner: Context) -> None:
        await inner.sleep(60)

    async def thinks(inner: Context) -> None:
        await inner.run("think", lambda: asyncio.sleep(0.05))

    async def body(ctx: Context) -> None:
        await ctx.gather((ctx.child_context("a"), waits), (ctx.child_context("b"), thinks))

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        [thought], [ended] = journal.entries_of_kind(StepResult), journal.entries_of_kind(TurnEnded)
        assert thought.seq < ended.seq, "what is paid for is kept, and the turn ends after that"


async def _receives(inner: Context) -> None:
    await inner.receive()


async def _is_interrupted(inner: Context) -> None:
    async def think() -> StepResult:
        return StepResult()

    await inner.step("think", None, think, StepResult, interruptible=True)


@pytest.mark.parametrize("hears", [_receives, _is_interrupted])
async def test_a_branch_is_told_nothing_that_comes_meanwhile(tmp_path: Path, hears: Body) -> None:
    clock = FakeClock()
    async with working(tmp_path, clock, lambda ctx: ctx.gather((ctx.child_context("a"), hears))) as (
        journal,
        worker,
    ):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert [entry.event.error for entry in journal.entries_of_kind(AttemptFailed)] == ["RuntimeError"]


async def test_a_child_that_never_says_its_last_word_is_found(tmp_path: Path) -> None:
    clock = FakeClock()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            return
        await ctx.spawn("silent", Said(text="go"))

    async with Journal(tmp_path / "journal.db", clock, [Said]) as journal:
        async with Worker(journal, clock, FunctionProgram(body)) as worker:
            await say(journal, "go")
            await worker.wait_until_idle()
        [forsaken] = verify(journal).violations
    assert str(forsaken).endswith("ann.silent has not ended, and nothing goes on in it")
