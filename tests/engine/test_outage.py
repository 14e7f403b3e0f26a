"""Executions that wait for an outage to end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.exceptions import Unavailable
from daemon.engine.kinds import (
    CancelRequest,
    InputsReceived,
    OutageBegan,
    OutageEnded,
    StepGivenUp,
    StepResult,
)
from daemon.engine.outages import JITTER
from daemon.engine.worker import RETRIES_PER_SUCCESS
from tests.clock import FakeClock
from tests.engine.function_programs import Body, FunctionProgram, pass_time, said_to, say, working
from tests.engine.scenario import Said

PATIENCE = 60.0
LONG = PATIENCE * (1 + JITTER)
"""Seconds to the retry, with maximal jitter."""


class Service:
    def __init__(self, down: bool = True, subject: str = "") -> None:
        self.down = down
        self.subject = subject
        self.tries = 0

    async def call(self) -> str:
        self.tries += 1
        await asyncio.sleep(0)
        assert self.tries < 200, "it is tried for ever"
        if self.down:
            raise Unavailable("unreachable", self.subject)
        return "ok"


class Patient(FunctionProgram):
    """Program that waits a minute per retry, and tells about it once."""

    def __init__(self, body: Body, tries: int = 100) -> None:
        super().__init__(body)
        self.tries = tries
        self.told = list[str]()

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        return PATIENCE if tries < self.tries else None

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        await ctx.run("tell", self._tell)

    async def _tell(self) -> None:
        self.told.append("down")


def calls(service: Service, done: list[str]) -> Patient:
    async def body(ctx: Context) -> None:
        done.append(await ctx.run("call", service.call))

    return Patient(body)


async def test_a_step_waits_until_what_it_needs_can_be_reached(tmp_path: Path) -> None:
    service, done, clock = Service(), list[str](), FakeClock()
    program = calls(service, done)
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        [outage] = journal.pending_entries(OutageBegan)
        assert (outage.event.reason, outage.event.tries, outage.event.since) == ("unreachable", 0, 0)
        await pass_time(clock, worker, LONG)
        [again] = journal.pending_entries(OutageBegan)
        assert (again.event.tries, again.event.since) == (1, outage.seq)
        service.down = False
        await pass_time(clock, worker, LONG)
        assert not journal.pending_entries(OutageBegan)
        assert not journal.busy_threads()
    assert (done, program.told, service.tries) == (["ok"], ["down"], 3)


async def test_all_contexts_of_an_execution_sleep_on_one_wait(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()

    async def body(ctx: Context) -> None:
        async def one(inner: Context) -> object:
            return await inner.run("call", service.call)

        await ctx.gather(*((ctx.context_about(n), one) for n in range(30)))

    program = Patient(body)
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert len(journal.pending_entries(OutageBegan)) == 1
        tried = service.tries
        await pass_time(clock, worker, LONG)
        assert service.tries == tried + 1, "one probes for all"
        service.down = False
        worker.note_success()
        await worker.wait_until_idle()
        assert len(journal.thread_entries("ann", StepResult)) == 31, (
            "it is over for all, though its time has not come"
        )
        assert len(journal.thread_entries("ann", OutageEnded)) == 1
    assert program.told == ["down"]


async def test_not_all_try_again_at_the_same_moment(tmp_path: Path) -> None:
    clock = FakeClock()
    async with working(tmp_path, clock, calls(Service(), [])) as (journal, worker):
        for n in range(5):
            await say(journal, "go", f"t{n}")
        await worker.wait_until_idle()
        waits = {outage.event.due - clock.now() for outage in journal.pending_entries(OutageBegan)}
    assert len(waits) == 5
    assert all(PATIENCE <= wait <= LONG for wait in waits)


async def test_it_ends_when_another_execution_reaches_the_same(tmp_path: Path) -> None:
    service, done, clock = Service(subject="model"), list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        subject = "disk" if said_to(ctx) == ["disk"] else "model"
        call = Service(down=False).call if ctx.execution.thread == "bob" else service.call
        done.append(await ctx.run("call", call, subject=subject))

    async with working(tmp_path, clock, Patient(body)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        service.down = False
        await say(journal, "disk", "bob")
        await worker.wait_until_idle()
        assert journal.pending_entries(OutageBegan), "another subject tells nothing of this one"
        await say(journal, "again", "bob")
        await worker.wait_until_idle()
        assert not journal.pending_entries(OutageBegan)
    assert done == ["ok", "ok", "ok"]


async def test_a_try_before_its_time_that_fails_is_followed_by_a_whole_wait(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()
    async with working(tmp_path, clock, calls(service, [])) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        for _ in range(3):
            worker.note_success()
            await worker.wait_until_idle()
        assert service.tries == 2
        assert len(journal.thread_entries("ann", OutageBegan)) == 1


async def test_a_few_try_first_and_wake_the_others_when_they_succeed(tmp_path: Path) -> None:
    service, done, clock = Service(), list[str](), FakeClock()
    async with working(tmp_path, clock, calls(service, done)) as (journal, worker):
        for n in range(20):
            await say(journal, "go", f"t{n}")
        await worker.wait_until_idle()
        tried = service.tries
        worker.note_success()
        await worker.wait_until_idle()
        assert service.tries == tried + RETRIES_PER_SUCCESS
        service.down = False
        worker.note_success()
        await worker.wait_until_idle()
        assert len(done) == 20 - RETRIES_PER_SUCCESS, "those whose early try failed wait for their time"
        await pass_time(clock, worker, LONG)
        assert len(done) == 20


def listens(service: Service, asked: list[list[str]]) -> Body:
    async def body(ctx: Context) -> None:
        async def call() -> StepResult:
            asked.append(said_to(ctx))
            return StepResult(value=await service.call())

        answer: Entry[StepResult] | Entry[InputsReceived] | None = None
        while answer is None or isinstance(answer.event, InputsReceived):
            answer = await ctx.step("answer", said_to(ctx), call, StepResult, interruptible=True)
            if isinstance(answer.event, InputsReceived):
                ctx.accept(ctx.execution.mark_received(answer.event.inputs))

    return body


async def test_a_message_is_accepted_while_it_waits_and_it_is_tried_at_once(tmp_path: Path) -> None:
    service, asked, clock = Service(), list[list[str]](), FakeClock()
    async with working(tmp_path, clock, Patient(listens(service, asked))) as (journal, worker):
        await say(journal, "one")
        await worker.wait_until_idle()
        await say(journal, "two")
        worker.wake("ann")
        await worker.wait_until_idle()
        assert asked == [["one"], ["one", "two"]]
    async with working(tmp_path, clock, Patient(listens(service, asked))) as (journal, worker):
        await worker.wait_until_idle()
        await say(journal, "three")
        service.down = False
        await worker.wait_until_idle()
        assert asked[2:] == [["one", "two"], ["one", "two", "three"]], "a start begins with a probe"
        assert len(journal.thread_entries("ann", OutageBegan)) == 1
        assert not journal.busy_threads()


class Speechless(Patient):
    """Program whose first notice of the outage fails."""

    def __init__(self, body: Body, asked: list[list[str]]) -> None:
        super().__init__(body)
        self.asked = asked
        self.asked_before = list[int]()

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        self.asked_before.append(len(self.asked))
        if len(self.asked_before) == 1:
            raise RuntimeError("it cannot be told now")


async def test_that_it_waits_is_told_before_what_is_said_meanwhile_is_heard(tmp_path: Path) -> None:
    service, asked, clock = Service(), list[list[str]](), FakeClock()
    program = Speechless(listens(service, asked), asked)
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "one")
        await worker.wait_until_idle()
        await say(journal, "two")
        service.down = False
        await pass_time(clock, worker, 10)
        assert asked == [["one"], ["one", "two"]]
        assert program.asked_before == [1, 1]
        assert not journal.busy_threads()


async def test_a_message_that_cannot_be_accepted_ends_the_wait_once(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()

    async def body(ctx: Context) -> None:
        async def one(inner: Context) -> object:
            return await inner.run("call", service.call)

        await ctx.gather((ctx.child_context("a"), one))

    async with working(tmp_path, clock, Patient(body)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await say(journal, "and?")
        for _ in range(3):
            worker.wake("ann")
            await worker.wait_until_idle()
        assert service.tries == 2


async def test_a_stop_ends_it(tmp_path: Path) -> None:
    service, clock, ends = Service(), FakeClock(), list[str]()

    async def body(ctx: Context) -> None:
        try:
            await ctx.run("call", service.call)
        except Unavailable:
            ctx.accept(await ctx.receive())
            ends.append(ctx.execution.inputs[-1].kind)

    async with working(tmp_path, clock, Patient(body)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await journal.append("ann", CancelRequest(), key="stop:1", author="ann")
        await worker.wait_until_idle()
        assert ends == ["cancel"]
        assert service.tries == 2
        assert not journal.busy_threads()


async def test_what_was_given_up_is_not_tried_again(tmp_path: Path) -> None:
    service, clock, told = Service(), FakeClock(), list[str]()

    async def body(ctx: Context) -> None:
        try:
            await ctx.run("call", service.call)
        except Unavailable as error:
            told.append(error.reason)
            await ctx.sleep(60)

    async with working(tmp_path, clock, Patient(body, tries=2)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        for _ in range(3):
            await pass_time(clock, worker, LONG)
        assert [entry.event.reason for entry in journal.thread_entries("ann", StepGivenUp)] == ["unreachable"]
        assert [entry.event.gave_up for entry in journal.thread_entries("ann", OutageEnded)] == [True]
        assert not journal.busy_threads()
    assert service.tries == 3
    assert told == ["unreachable", "unreachable"], "the second time it is read back"


async def test_contexts_that_slept_together_are_given_up_together(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()

    async def body(ctx: Context) -> None:
        async def one(inner: Context) -> str:
            try:
                return str(await inner.run("call", service.call))
            except Unavailable:
                return "given up"

        assert await ctx.gather(*((ctx.context_about(n), one) for n in range(5))) == ["given up"] * 5

    async with working(tmp_path, clock, Patient(body, tries=1)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await pass_time(clock, worker, LONG)
        assert len(journal.thread_entries("ann", OutageBegan)) == 1
        assert not journal.busy_threads()


async def test_what_nobody_handles_ends_the_turn_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with working(tmp_path, clock, Patient(calls(Service(), [])._body, tries=0)) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        assert not journal.busy_threads()
        assert not journal.thread_entries("ann", OutageBegan)


async def test_it_is_told_once_though_each_start_takes_it_up(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()
    program = calls(service, [])
    for _ in range(3):
        async with working(tmp_path, clock, program) as (journal, worker):
            if not journal.thread_entries("ann", Said):
                await say(journal, "go")
            await worker.wait_until_idle()
            assert len(journal.thread_entries("ann", OutageBegan)) == 1
    assert (program.told, service.tries) == (["down"], 3)


async def test_a_wait_after_the_first_one_is_not_told_after_another_start(tmp_path: Path) -> None:
    service, clock = Service(), FakeClock()
    program = calls(service, [])
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await pass_time(clock, worker, LONG)
        assert len(journal.thread_entries("ann", OutageBegan)) == 2
    async with working(tmp_path, clock, program) as (journal, worker):
        await worker.wait_until_idle()
        await pass_time(clock, worker, LONG)
        assert len(journal.thread_entries("ann", OutageBegan)) > 2, "it lasts"
    assert program.told == ["down"]


async def test_an_execution_that_was_killed_while_it_waited_may_wait_again_in_a_later_turn(
    tmp_path: Path,
) -> None:
    service, done, clock = Service(), list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        done.append(await ctx.run("call", service.call))
        await ctx.sleep(600)
        done.append(await ctx.run("call", service.call))

    program = Patient(body)
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
    async with working(tmp_path, clock, program) as (journal, worker):
        await pass_time(clock, worker, LONG)
        service.down = False
        await pass_time(clock, worker, LONG)
        assert done == ["ok"]
        service.down = True
        await pass_time(clock, worker, 600)
        assert journal.pending_entries(OutageBegan)
        service.down = False
        await pass_time(clock, worker, LONG)
        assert not journal.busy_threads()
    assert done == ["ok", "ok", "ok"], "the first of them is read back once"
