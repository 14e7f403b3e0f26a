"""Dropped questions and children; dropped watches only by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.kinds import AnswerAwaited, CancelRequest, ThreadEnded, ThreadSpawned, WaitBegan
from tests.clock import FakeClock
from tests.engine.function_programs import said_to, say, working
from tests.engine.scenario import Said


async def test_a_question_ends_when_what_it_is_for_has_ended(tmp_path: Path) -> None:
    answers, clock = list[Entry[Any] | None](), FakeClock()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.end_thread("no longer needed")
        elif said_to(ctx) == ["begin"]:
            child = await ctx.spawn("child", Said(text="go"))
            answers.append(await ctx.ask("may I", AnswerAwaited(), until=[child.seq]))

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "begin")
        await worker.wait_until_idle()
        assert not journal.busy_threads()
        assert not journal.pending_entries(AnswerAwaited, WaitBegan)
    assert answers == [None]


async def test_all_that_goes_on_under_a_thread_is_stopped_whoever_began_it(tmp_path: Path) -> None:
    stopped, clock = list[Entry[ThreadSpawned]](), FakeClock()

    async def body(ctx: Context) -> None:
        if isinstance(ctx.execution.inputs[-1].event, CancelRequest):
            await ctx.end_thread(status="cancelled")
        elif ctx.execution.parent_thread:
            await ctx.sleep(86_400)
        elif said_to(ctx) == ["begin"]:
            await ctx.spawn("child", Said(text="go"))
            await ctx.watch(within=3_600.0, note="later")
            await ctx.ask("may I", AnswerAwaited())
        else:
            await ctx.withdraw()
            stopped.extend(await ctx.cancel_all())

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "begin")
        await worker.wait_until_idle()
        await say(journal, "stop all")
        await worker.wait_until_idle()
        [ended] = journal.entries_of_kind(ThreadEnded)
        assert not journal.pending_entries(AnswerAwaited, ThreadSpawned)
        assert [wait.event.note for wait in journal.pending_entries(WaitBegan)] == ["later"]
    assert [child.event.thread for child in stopped] == [ended.thread] == ["ann.child"]
