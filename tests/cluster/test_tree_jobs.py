"""Trees of threads shared by several daemons over one log."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from daemon.cluster.tree_jobs import TreeJobs
from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, InputRank, root_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.engine.kinds import (
    AnswerAwaited,
    ClockCorrected,
    OutageBegan,
    StepResult,
    TurnBegan,
    TurnEnded,
    TurnResumed,
    WaitBegan,
    WaitEnded,
    WorkerDied,
)
from daemon.engine.program import Program
from daemon.engine.tree_share import AllTrees, WorkerName
from daemon.engine.worker import Worker
from tests.attention import until
from tests.clock import FakeClock
from tests.cluster.working_daemons import WorkingDaemon, install_workspace, joined
from tests.engine.function_programs import FunctionProgram, said_to, say
from tests.engine.scenario import Pressed, Said
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(Input):
    kind = "stop-asked"
    rank = InputRank.STOP


@pytest.fixture
def workspace(log_url: str) -> str:
    install_workspace(log_url)
    return log_url


def count_jobs(url: str, where: str = "true") -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        query = f"select count(*) from procrastinate_jobs where {where}"
        [(count,)] = connection.execute(query.encode()).fetchall()
        return int(count)


def ended(daemon: WorkingDaemon) -> int:
    return len(daemon.journal.entries_of_kind(TurnEnded))


def lives_of_turns(daemon: WorkingDaemon) -> list[int]:
    return [entry.event.life for entry in daemon.journal.entries_of_kind(TurnBegan)]


async def test_two_hundred_threads_at_once_are_shared(workspace: str, tmp_path: Path) -> None:
    left = 200

    async def think() -> str:
        nonlocal left
        left -= 1
        return "thought"

    async def body(ctx: Context) -> None:
        await ctx.run("think", think)

    async with (
        joined(workspace, tmp_path, "oak", body) as oak,
        joined(workspace, tmp_path, "elm", body) as elm,
    ):
        await asyncio.gather(*(say(oak.journal, "go", f"t{n}") for n in range(200)))
        await until(lambda: left <= 0 and ended(elm) >= 200)
        assert left == 0
        shares = Counter(lives_of_turns(elm))
        assert not elm.journal.entries_of_kind(TurnResumed)
        assert set(shares) == {oak.worker.life, elm.worker.life}
        assert max(shares.values()) <= 180, shares
        await until(lambda: count_jobs(workspace) == 0)


async def test_a_stop_that_one_daemon_hears_ends_the_turn_of_another_at_once(
    workspace: str, tmp_path: Path
) -> None:
    seen = list[str]()

    async def body(ctx: Context) -> None:
        seen.append(ctx.execution.thread)
        await ctx.execution.stopping.wait()

    async with (
        joined(workspace, tmp_path, "oak", body, [StopAsked]) as oak,
        joined(workspace, tmp_path, "elm", body, [StopAsked]) as elm,
    ):
        await say(oak.journal, "go")
        await until(lambda: bool(seen and lives_of_turns(oak)))
        runs = {oak.worker.life: oak, elm.worker.life: elm}[lives_of_turns(oak)[0]]
        hears = elm if runs is oak else oak
        clock = hears.membership.clock
        began = clock.now()
        await hears.journal.append("ann", StopAsked(), key="stop")
        hears.worker.wake("ann")
        await until(lambda: ended(hears) >= 1)
        assert clock.now() - began < 10.0
        assert not hears.journal.entries_of_kind(TurnResumed)


async def test_a_tree_stays_in_one_daemon(workspace: str, tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        if "." in ctx.execution.thread:
            await ctx.run("think", lambda: asyncio.sleep(0, "thought"))
            await ctx.end_thread("leaf")
            return
        children = [await ctx.spawn(f"c{n}", Said(text="go")) for n in range(3)]
        await ctx.join(children)

    async with (
        joined(workspace, tmp_path, "oak", body) as oak,
        joined(workspace, tmp_path, "elm", body) as elm,
    ):
        trees = [f"r{n}" for n in range(6)]
        await asyncio.gather(*(say(oak.journal, "go", root) for root in trees))
        await until(lambda: ended(elm) >= 4 * len(trees))
        await until(lambda: count_jobs(workspace) == 0 and not elm.journal.busy_threads())
        began = elm.journal.entries_of_kind(TurnBegan)
        lives = {entry.thread: entry.event.life for entry in reversed(began)}  # of each thread's first turn
        assert all(lives[thread] == lives[root_of(thread)] for thread in lives)


async def test_a_question_keeps_no_job_and_any_daemon_goes_on_at_the_answer(
    workspace: str, tmp_path: Path
) -> None:
    async def body(ctx: Context) -> None:
        await ctx.ask("may I", AnswerAwaited())

    async with joined(workspace, tmp_path, "oak", body) as oak:
        await say(oak.journal, "go")
        await until(lambda: ended(oak) >= 1 and count_jobs(workspace) == 0)
    async with joined(workspace, tmp_path, "elm", body) as elm:
        [asked] = elm.journal.pending_entries(AnswerAwaited)
        await elm.journal.append("ann", Pressed(text="yes", answers=asked.key), key="pressed")
        await until(lambda: ended(elm) >= 2 and count_jobs(workspace) == 0)
        assert not elm.journal.pending_entries(AnswerAwaited)


async def test_a_timer_ends_once_though_every_daemon_looks(workspace: str, tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        await ctx.wait(within=1.5)

    async with (
        joined(workspace, tmp_path, "oak", body) as oak,
        joined(workspace, tmp_path, "elm", body) as elm,
    ):
        await asyncio.gather(*(say(oak.journal, "go", f"t{n}") for n in range(20)))
        await until(lambda: len(elm.journal.entries_of_kind(WaitBegan)) >= 20)
        await until(lambda: count_jobs(workspace) == 0 or bool(elm.journal.entries_of_kind(WaitEnded)))
        await until(lambda: ended(elm) >= 40)
        assert len(elm.journal.entries_of_kind(WaitEnded)) == 20
        assert not elm.journal.entries_of_kind(ClockCorrected)


async def test_a_lost_job_costs_a_second_and_no_event(workspace: str, tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: asyncio.sleep(0, "thought"))

    with psycopg.connect(workspace, autocommit=True) as connection:
        connection.execute(
            "create or replace function soul_wake(tree text) returns void language sql as $$ select $$"
        )
    async with joined(workspace, tmp_path, "oak", body) as oak:
        await say(oak.journal, "go")
        await until(lambda: ended(oak) == 1)


async def test_a_job_that_a_dead_worker_left_is_deleted_and_deferred_again(
    workspace: str, tmp_path: Path
) -> None:
    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: asyncio.sleep(0, "thought"))

    with psycopg.connect(workspace, autocommit=True) as connection:
        connection.execute(
            "insert into procrastinate_jobs(queue_name, task_name, lock, queueing_lock, status)"
            " values('trees', 'trees', 'ann', 'ann', 'doing')"
        )
    async with joined(workspace, tmp_path, "oak", body) as oak:
        await say(oak.journal, "go")
        await until(lambda: ended(oak) == 1 and count_jobs(workspace) == 0)


async def test_a_job_whose_fetch_lost_its_answer_is_deleted_and_deferred_again(
    workspace: str, tmp_path: Path
) -> None:
    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: asyncio.sleep(0, "thought"))

    async with joined(workspace, tmp_path, "oak", body) as oak:
        with psycopg.connect(workspace, autocommit=True) as connection:
            connection.execute(
                "insert into procrastinate_jobs"
                "(queue_name, task_name, lock, queueing_lock, status, worker_id)"
                " values('trees', 'trees', 'ann', 'ann', 'doing', %s)",
                (oak.membership.worker_id,),
            )
        await say(oak.journal, "go")
        await until(lambda: ended(oak) == 1 and count_jobs(workspace) == 0)


async def test_the_log_is_not_asked_of_workers_that_the_last_heartbeat_calls_alive(
    workspace: str, tmp_path: Path
) -> None:
    async def body(ctx: Context) -> None: ...

    async with joined(workspace, tmp_path, "oak", body) as oak:
        unconnected = TreeJobs(workspace, "oak", oak.membership)
        await until(lambda: bool(oak.membership.alive))
        assert not await unconnected.find_dead([oak.jobs.name])
        gone = WorkerName("oak", oak.membership.worker_id - 1)
        assert await oak.jobs.find_dead([oak.jobs.name, gone]) == [gone]


async def test_jobs_go_on_after_their_connections_were_lost(workspace: str, tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        for _ in range(10):
            await ctx.run("think", lambda: asyncio.sleep(0.05, "thought"))

    async with (
        joined(workspace, tmp_path, "oak", body) as oak,
        joined(workspace, tmp_path, "elm", body) as elm,
    ):
        for number in range(20):
            await say(oak.journal, "go", f"t{number}")
            if number % 5 == 0:
                with psycopg.connect(workspace, autocommit=True) as connection:
                    connection.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity"
                        " where application_name like 'soul:%:jobs'"
                    )
        await until(lambda: ended(elm) == 20 and count_jobs(workspace) == 0)
        assert not elm.journal.entries_of_kind(TurnResumed)


async def test_a_worker_that_works_alone_hears_at_once_what_a_standby_writes(
    workspace: str, tmp_path: Path
) -> None:
    async def body(ctx: Context) -> None:
        if said_to(ctx):
            await ctx.execution.stopping.wait()

    def opened(machine: str) -> SharedJournal:
        kinds = [Said, StopAsked]
        return SharedJournal(tmp_path / f"{machine}.db", FakeClock(), kinds, url=workspace, name=machine)

    share = AllTrees(follows=True)
    async with opened("oak") as works, opened("elm") as stands_by, AsyncExitStack() as stack:
        await stack.enter_async_context(Worker(works, FakeClock(), FunctionProgram(body), share=share))
        await say(stands_by, "go")  # the clock stands still: no sweep finds it
        await until(lambda: bool(stands_by.entries_of_kind(TurnBegan)))
        await stands_by.append("ann", StopAsked(), key="stop")
        await until(lambda: len(stands_by.entries_of_kind(TurnEnded)) >= 2)


async def test_a_daemon_that_is_asked_to_stop_hands_its_trees_over(workspace: str, tmp_path: Path) -> None:
    may_end = asyncio.Event()

    async def body(ctx: Context) -> None:
        await ctx.run("think", may_end.wait)

    async with AsyncExitStack() as stack:
        async with joined(workspace, tmp_path, "oak", body) as oak:
            await asyncio.gather(*(say(oak.journal, "go", f"t{n}") for n in range(20)))
            await until(lambda: len(lives_of_turns(oak)) == 20)
            elm = await stack.enter_async_context(joined(workspace, tmp_path, "elm", body))
        may_end.set()
        await until(lambda: ended(elm) == 20 and count_jobs(workspace) == 0)
        assert not elm.journal.entries_of_kind(WorkerDied)


class OutageProgram(Program):
    """Program whose service cannot be reached until `back` is set. A result shows that it is."""

    successes = (StepResult,)

    def __init__(self) -> None:
        self.back = False
        self.tries = 0
        self.strays = list[str]()
        """Threads that went on although nobody held their tree."""
        self.daemons = list[WorkingDaemon]()

    async def run(self, ctx: Context) -> None:
        thread = ctx.execution.thread

        async def reach() -> StepResult:
            self.tries += 1
            if self.daemons and not any(daemon.jobs.may_take(thread) for daemon in self.daemons):
                self.strays.append(thread)
            if not self.back:
                raise Unavailable("unreachable")
            return StepResult(value="answer")

        await ctx.step("answer", None, reach, StepResult)

    def subject_reached(self, entry: Entry[Any]) -> str | None:
        return ""

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        return 60.0


async def test_an_outage_keeps_no_job_and_goes_on_in_the_same_attempt(workspace: str, tmp_path: Path) -> None:
    """The daemon that waits for the service hears of messages to another daemon, and of another's success."""
    program = OutageProgram()
    async with joined(workspace, tmp_path, "oak", program) as oak:
        await asyncio.gather(*(say(oak.journal, "go", f"t{n}") for n in range(6)))
        await until(lambda: len(oak.journal.pending_entries(OutageBegan)) == 6)
        await until(lambda: count_jobs(workspace) == 0)
        async with joined(workspace, tmp_path, "elm", program) as elm:
            program.daemons = [oak, elm]
            for number in range(4):
                await say(elm.journal, "are you there?", f"t{number}")
            await until(lambda: program.tries >= 10 and count_jobs(workspace) == 0)
            assert not elm.journal.entries_of_kind(TurnResumed)
            program.back = True
            await elm.journal.append("other", StepResult(), key="other@1/reached#1")
            await until(lambda: ended(elm) >= 2)  # the others have just tried in vain
            for number in range(6):
                await say(elm.journal, "and now?", f"t{number}")
            await until(lambda: not elm.journal.busy_threads() and count_jobs(workspace) == 0)
            assert not elm.journal.entries_of_kind(TurnResumed)
            assert not program.strays
