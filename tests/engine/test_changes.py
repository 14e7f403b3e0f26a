"""Code changes during a wait, late presses, and stops."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import (
    AnswerAwaited,
    CancelRequest,
    ExecutionRestarted,
    InputUndeliverable,
    Intent,
    Outcome,
    StepResult,
    ThreadSpawned,
)
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.function_programs import Body, FunctionProgram, pass_time, say, working
from tests.engine.scenario import Pressed, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class MayI(AnswerAwaited):
    """Approval of an action, of the hash `version`."""

    action: str
    version: str = "1"


class Buttons(FunctionProgram):
    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.voided = list[str]()

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        async def sorry() -> None:
            self.voided.extend(answer.key for answer in answers)

        await ctx.run("sorry", sorry)


def asks(done: list[str], *questions: MayI, first: str = "") -> Buttons:
    async def body(ctx: Context) -> None:
        if ctx.execution.has_stale_answer:
            done.append("no longer stands")
            return
        if first:
            await ctx.run(first, _nothing)
        for question in questions:
            answer = await ctx.ask("may-i", question)
            assert answer is not None
            assert isinstance(answer.event, Pressed)
            done.append(f"{answer.event.text} to {question.action}")

    return Buttons(body)


async def _nothing() -> None:
    pass


async def press(journal: Journal, asked: Entry[AnswerAwaited], number: int) -> None:
    event = Pressed(text="yes", answers=asked.key)
    await journal.append(asked.thread, event, key=f"press:{number}", author="ann")


DELETE = MayI(action="delete")


async def test_a_yes_is_void_when_what_the_action_does_has_changed(tmp_path: Path) -> None:
    done, clock = list[str](), FakeClock()
    async with working(tmp_path, clock, asks(done, DELETE), [MayI]) as (journal, worker):
        await say(journal, "tidy up")
        await worker.wait_until_idle()
        [old] = journal.pending_entries(AnswerAwaited)
    program = asks(done, MayI(action="delete", version="2"))
    async with working(tmp_path, clock, program, [MayI]) as (journal, worker):
        await press(journal, old, 1)
        await worker.wait_until_idle()
        assert (done, program.voided) == ([], ["press:1"])
        [new] = journal.pending_entries(AnswerAwaited)
        await press(journal, new, 2)
        await worker.wait_until_idle()
    assert (done, program.voided) == (["yes to delete"], ["press:1"])


async def test_an_old_button_counts_once_for_the_same_question_after_a_restart(tmp_path: Path) -> None:
    done, clock = list[str](), FakeClock()
    async with working(tmp_path, clock, asks(done, DELETE, first="look"), [MayI]) as (journal, worker):
        await say(journal, "tidy up")
        await worker.wait_until_idle()
        [old] = journal.pending_entries(AnswerAwaited)
    program = asks(done, DELETE, DELETE, first="look twice")
    async with working(tmp_path, clock, program, [MayI]) as (journal, worker):
        await press(journal, old, 1)
        await worker.wait_until_idle()
        assert len(journal.entries_of_kind(ExecutionRestarted)) == 1
        assert len(journal.pending_entries(AnswerAwaited)) == 1, (
            "the second question needs an answer of its own"
        )
        await press(journal, old, 2)
        await worker.wait_until_idle()
        assert not journal.pending_entries(AnswerAwaited)
    assert done[-2:] == ["yes to delete", "yes to delete"]
    assert program.voided == []


async def test_an_answer_that_was_used_before_a_restart_is_not_used_again(tmp_path: Path) -> None:
    done, clock = list[str](), FakeClock()
    other = MayI(action="send")
    async with working(tmp_path, clock, asks(done, DELETE, other), [MayI]) as (journal, worker):
        await say(journal, "tidy up")
        await worker.wait_until_idle()
        await press(journal, journal.pending_entries(AnswerAwaited)[0], 1)
        await worker.wait_until_idle()
        [waits] = journal.pending_entries(AnswerAwaited)
    async with working(tmp_path, clock, asks(done, DELETE, DELETE), [MayI]) as (journal, worker):
        await press(journal, waits, 2)
        await worker.wait_until_idle()
        assert len(journal.pending_entries(AnswerAwaited)) == 1
    assert done.count("yes to send") == 0


async def test_a_press_that_comes_too_late_gets_an_execution_of_its_own(tmp_path: Path) -> None:
    done, clock = list[str](), FakeClock()
    program = asks(done, DELETE)
    async with working(tmp_path, clock, program, [MayI]) as (journal, worker):
        await say(journal, "tidy up")
        await worker.wait_until_idle()
        [asked] = journal.pending_entries(AnswerAwaited)
        await press(journal, asked, 1)
        await worker.wait_until_idle()
        await press(journal, asked, 2)
        await worker.wait_until_idle()
    assert (done, program.voided) == (["yes to delete", "no longer stands"], [])


async def test_what_was_half_done_is_settled_before_the_log_is_read(tmp_path: Path) -> None:
    clock, logs = FakeClock(), list[list[str]]()

    async def send() -> Outcome:
        raise ConnectionResetError

    async def old(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.sleep(6000)
        await ctx.spawn("helper", Said(text="help"))
        await ctx.effect(Intent(name="send"), send, Outcome(unknown=True))

    async def new(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.sleep(6000)
            return
        logs.append([entry.kind for entry in ctx.execution.restart_log])
        await ctx.run("another way", _nothing)

    async with working(tmp_path, clock, old) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert journal.pending_entries(Intent)
    async with working(tmp_path, clock, new) as (journal, worker):
        await pass_time(clock, worker, 5)
        assert not journal.pending_entries(Intent)
        [spawned] = journal.entries_of_kind(ThreadSpawned)
        assert len(journal.thread_entries(spawned.event.thread, CancelRequest)) == 1, (
            "nobody waits for the child any more"
        )
    assert logs == [[], ["thread-spawned", "intent", "outcome"]]


# Stops


async def test_a_stop_reaches_what_is_in_flight(tmp_path: Path) -> None:
    clock, ended, begun = FakeClock(), list[str](), asyncio.Event()

    async def body(ctx: Context) -> None:
        async def think() -> StepResult:
            begun.set()
            await ctx.execution.stopping.wait()
            return StepResult(value="cancelled")

        thought = await ctx.step("think", None, think, StepResult)
        ctx.accept(await ctx.receive())
        ended.append(f"{thought.event.value} by {ctx.execution.inputs[-1].kind}")

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "think hard")
        worker.wake("ann")
        await begun.wait()
        await journal.append("ann", CancelRequest(), key="stop:1", author="ann")
        worker.wake("ann")
        await worker.wait_until_idle()
        assert not journal.busy_threads()
    assert ended == ["cancelled by cancel"]


class Polite(FunctionProgram):
    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        return isinstance(entry.event, Said) and entry.event.text == "please"


async def test_the_program_says_what_interrupts_also_at_the_begin_of_an_attempt(tmp_path: Path) -> None:
    clock, stopped = FakeClock(), list[bool]()

    async def body(ctx: Context) -> None:
        stopped.append(ctx.execution.stopping.is_set())
        await ctx.run("note", _nothing)
        if len(stopped) < 3:
            raise RuntimeError("fails at first")
        ctx.accept(await ctx.receive())

    async with working(tmp_path, clock, Polite(body)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await say(journal, "now")
        await worker.wait_until_idle()
        await say(journal, "please")
        await pass_time(clock, worker, 30)
        assert not journal.busy_threads()
    assert stopped == [False, False, True]


async def test_a_message_to_a_thread_that_has_ended_is_closed_visibly(tmp_path: Path) -> None:
    clock, delivered = FakeClock(), list[bool]()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.end_thread()
            return
        child = await ctx.spawn("a", Said(text="go"))
        await ctx.join([child])
        sent = await ctx.send("more", child.event.thread, Said(text="more"))
        delivered.append(sent.event.delivered)

    async with Journal(tmp_path / "journal.db", clock, [Said]) as journal:
        await say(journal, "go")
        async with Worker(journal, clock, FunctionProgram(body)) as worker:
            await worker.wait_until_idle()
            await say(journal, "late", "ann.a")
            await worker.wait_until_idle()
            assert not journal.busy_threads()
            assert len(journal.thread_entries("ann.a", InputUndeliverable)) == 1
    assert delivered == [False]
