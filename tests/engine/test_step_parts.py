"""Parts of a step, replayed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, part_key
from daemon.engine.kinds import AnswerAwaited, AnswerReceived, ExecutionRestarted, Intent, Outcome, StepResult
from tests.clock import FakeClock
from tests.engine.function_programs import Body, said_to, say, working
from tests.engine.scenario import Pressed


async def _answered(_asked: Entry[AnswerAwaited], given: Entry[Input]) -> AnswerReceived:
    return AnswerReceived(input=given.seq)


async def question(ctx: Context) -> None:
    async def first(key: str) -> AnswerAwaited:
        said = part_key(key, "say")
        if ctx.read_back(said) is None:
            await ctx.execution.append(StepResult(value="which one?"), said)
        return AnswerAwaited()

    await ctx.ask_for("ask", AnswerAwaited(), answered=_answered, kind=AnswerReceived, first=first)


def listens(heard: list[list[str]], *, fails: int = 0) -> Body:
    runs = list[int]()

    async def body(ctx: Context) -> None:
        async def call() -> str:
            await ctx.append_note(StepResult(value="no answer"), "tried")
            runs.append(1)
            if len(runs) <= fails:
                raise RuntimeError("the first attempts fail here")
            return "done"

        await ctx.run("call", call)
        await question(ctx)
        ctx.accept(await ctx.receive())
        heard.append(said_to(ctx))

    return body


async def test_what_came_is_heard_after_an_answer(tmp_path: Path) -> None:
    heard, clock = list[list[str]](), FakeClock()
    async with working(tmp_path, clock, listens(heard, fails=1)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await clock.advance(5)
        await worker.wait_until_idle()
    async with working(tmp_path, clock, listens(heard)) as (journal, worker):
        [asked] = journal.pending_entries(AnswerAwaited)
        await journal.append("ann", Pressed(text="yes", answers=asked.key), key="press:1", author="ann")
        await say(journal, "and one more thing")
        await worker.wait_until_idle()
        assert not journal.entries_of_kind(ExecutionRestarted)
        assert [entry.event.value for entry in journal.entries_of_kind(StepResult)].count("which one?") == 1
    assert heard == [["go", "and one more thing"]]


@pytest.mark.parametrize("soon", [False, True], ids=["awaited", "soon"])
async def test_a_repeated_effect_need_not_do_what_a_broken_attempt_did_within_it(
    tmp_path: Path, soon: bool
) -> None:
    clock, runs = FakeClock(), list[str]()

    async def body(ctx: Context) -> None:
        async def look() -> Outcome:
            runs.append(ctx.current_key)
            if len(runs) == 1:
                await ctx.context_in_step(ctx.current_key).record(StepResult(value="asked"))
                raise RuntimeError("the first attempt fails here")
            return Outcome()

        if soon:
            await ctx.effect_soon(Intent(name="look"), look)
        else:
            await ctx.effect(Intent(name="look"), look, Outcome(), repeatable=True)
        await ctx.record(StepResult(value="after it"))

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await clock.advance(5)
        await worker.wait_until_idle()
        assert not journal.entries_of_kind(ExecutionRestarted)
        found = [entry.event.value for entry in journal.entries_of_kind(StepResult)]
    assert found == ["asked", "after it"]
    assert len(runs) == 2


async def test_a_part_of_a_step_that_nobody_comes_to_is_missed(tmp_path: Path) -> None:
    clock = FakeClock()

    async def half(ctx: Context) -> None:
        await ctx.execution.append(StepResult(value="half said"), part_key(ctx.next_key("ask"), "say"))
        raise RuntimeError("it fails here")

    async def nothing(_ctx: Context) -> None:
        return

    async with working(tmp_path, clock, half) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
    async with working(tmp_path, clock, nothing) as (journal, worker):
        await clock.advance(5)
        await worker.wait_until_idle()
        assert len(journal.entries_of_kind(ExecutionRestarted)) == 1
