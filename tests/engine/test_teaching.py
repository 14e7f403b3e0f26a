"""The engine in small programs: read these to learn it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.exceptions import Unavailable
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import (
    AnswerAwaited,
    CancelRequest,
    EntryMatch,
    Intent,
    OutageBegan,
    Outcome,
    StepResult,
    ThreadEnded,
    WaitReminder,
)
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.function_programs import FunctionProgram, pass_time, said_to, say, working
from tests.engine.scenario import Pressed, Said


async def test_a_step_that_is_recorded_is_not_done_again(tmp_path: Path) -> None:
    rolled, runs = list[int](), list[int]()

    async def roll() -> int:
        rolled.append(4)
        return 4

    async def body(ctx: Context) -> None:
        dice = await ctx.run("roll", roll)
        runs.append(dice)
        if len(runs) == 1:
            raise RuntimeError("the first attempt fails here")

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "roll the dice")
        await worker.wait_until_idle()
        await clock.advance(5)  # a failed turn pauses
        await worker.wait_until_idle()
    assert (rolled, runs) == ([4], [4, 4])


async def test_a_question_waits_for_days_and_holds_nothing(tmp_path: Path) -> None:
    answers = list[str]()

    async def body(ctx: Context) -> None:
        answer = await ctx.ask("tea or coffee", AnswerAwaited())
        assert answer is not None
        assert isinstance(answer.event, Pressed)
        answers.append(answer.event.text)

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "I am thirsty")
        await worker.wait_until_idle()
    await clock.advance(86_400)
    async with working(tmp_path, clock, body) as (journal, worker):  # the next start
        [asked] = journal.pending_entries(AnswerAwaited)
        await journal.append("ann", Pressed(text="tea", answers=asked.key), key="press:1", author="ann")
        await worker.wait_until_idle()
    assert answers == ["tea"]


async def test_a_sleep_ends_when_its_time_has_come(tmp_path: Path) -> None:
    woken = list[float]()
    clock = FakeClock()

    async def body(ctx: Context) -> None:
        await ctx.sleep(600)
        woken.append(clock.now())

    began = clock.now()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "wake me in ten minutes")
        await worker.wait_until_idle()
        await clock.advance(599)
        await worker.wait_until_idle()
        assert woken == []
        await clock.advance(1)
        await worker.wait_until_idle()
    assert woken == [began + 600]


async def test_what_came_meanwhile_can_be_received_and_answered_too(tmp_path: Path) -> None:
    heard = list[list[str]]()

    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: interrupt(journal))
        ctx.accept(await ctx.receive())
        heard.append([entry.event.text for entry in ctx.execution.inputs if isinstance(entry.event, Said)])

    async def interrupt(journal: Journal) -> None:
        await say(journal, "and with milk")

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "tea, please")
        await worker.wait_until_idle()
    assert heard == [["tea, please", "and with milk"]]


async def test_children_work_beside_each_other_and_are_joined(tmp_path: Path) -> None:
    sums = list[list[int]]()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            number = int(ctx.execution.thread.rpartition(".")[2].removeprefix("n"))
            await ctx.end_thread(number * number)
            return
        children = [await ctx.spawn(f"n{number}", Said(text="square")) for number in (2, 3)]
        sums.append([one.result for one in await ctx.join(children)])

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "the squares, please")
        await worker.wait_until_idle()
    assert sums == [[4, 9]]


async def test_a_stop_is_taken_with_all_that_waits(tmp_path: Path) -> None:
    took = list[list[str]]()

    async def body(ctx: Context) -> None:
        took.append([entry.kind for entry in ctx.execution.inputs])

    async with Journal(tmp_path / "journal.db", FakeClock(), [Said, Pressed]) as journal:
        await say(journal, "one thing")
        await journal.append("ann", CancelRequest(), key="stop:1", author="ann")
        async with Worker(journal, FakeClock(), FunctionProgram(body)) as worker:
            await worker.wait_until_idle()
    assert took == [["said", "cancel"]]


async def test_a_program_that_always_fails_is_given_up(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        raise RuntimeError("always")

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "poison")
        for _ in range(6):
            await worker.wait_until_idle()
            await pass_time(clock, worker, 40)
        assert journal.busy_threads() == []


async def test_what_a_step_returns_can_be_an_event_of_its_own(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        async def toss() -> StepResult:
            return StepResult(value="heads")

        tossed = await ctx.step("toss", {"coin": 1}, toss, StepResult)
        assert tossed.event.value == "heads"

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "toss a coin")
        await worker.wait_until_idle()
        assert [entry.event.value for entry in journal.entries_of_kind(StepResult)] == ["heads"]


async def test_of_an_effect_that_a_crash_cut_off_nobody_knows_whether_it_was_done(tmp_path: Path) -> None:
    outcomes = list[bool]()

    async def pay() -> Outcome:
        raise ConnectionResetError("the line was cut: was it paid, or not?")

    async def body(ctx: Context) -> None:
        paid = await ctx.effect(Intent(name="pay"), pay, Outcome(unknown=True))
        outcomes.append(paid.event.unknown)

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "pay the bill")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 5)
    assert outcomes == [True], "it is not done again"


async def test_what_runs_in_parallel_has_contexts_of_its_own(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        async def weigh(inner: Context) -> int:
            return int(await inner.run("weigh", lambda: weight(inner.path)))

        async def weight(path: str) -> int:
            return len(path)

        await ctx.gather((ctx.child_context("left"), weigh), (ctx.child_context("right"), weigh))

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "weigh them")
        await worker.wait_until_idle()
        keys = {entry.key.partition("/")[2] for entry in journal.entries_of_kind(StepResult)}
    assert keys == {"left#1/weigh#1", "right#1/weigh#1"}


async def test_what_has_no_order_is_named_by_its_content(tmp_path: Path) -> None:
    asked = list[str]()

    async def body(ctx: Context) -> None:
        words = ["b", "a"] if asked else ["a", "b"]

        async def look_up(word: str) -> str:
            asked.append(word)
            return word.upper()

        for word in words:
            await ctx.context_about(word).run("look up", partial(look_up, word))
        if len(asked) == 2 and words == ["a", "b"]:
            raise RuntimeError("fails, and comes back in another order")

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "look them up")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 5)
    assert asked == ["a", "b"]


async def test_threads_write_to_each_other(tmp_path: Path) -> None:
    heard = list[str]()

    async def body(ctx: Context) -> None:
        if ctx.execution.thread == "ann":
            await ctx.send("greeting", "bob", Said(text="hello from ann"))
        else:
            heard.extend(said_to(ctx))

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "write to bob")
        await worker.wait_until_idle()
    assert heard == ["hello from ann"]


async def test_a_watch_does_not_suspend_and_becomes_an_input(tmp_path: Path) -> None:
    notes, clock = list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        first = ctx.execution.inputs[0].event
        if isinstance(first, WaitReminder):
            notes.append(first.note)
        else:
            await ctx.watch(within=60, note="the tea is ready")

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "remind me")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
    assert notes == ["the tea is ready"]


async def test_a_question_may_have_a_deadline(tmp_path: Path) -> None:
    answers, clock = list[object](), FakeClock()

    async def body(ctx: Context) -> None:
        answers.append(await ctx.ask("anybody there", AnswerAwaited(), within=60))

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "ask around")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        assert not journal.pending_entries(AnswerAwaited)
    assert answers == [None]


async def test_a_wait_can_be_for_an_entry_that_matches(tmp_path: Path) -> None:
    went_on, clock = list[bool](), FakeClock()

    async def body(ctx: Context) -> None:
        if ctx.execution.thread == "ann":
            await ctx.wait(matching=EntryMatch(kinds=("said",), thread="bob", fields={"text": "ready"}))
            went_on.append(True)

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "wait for bob")
        await worker.wait_until_idle()
        await say(journal, "not yet", thread="bob")
        await worker.wait_until_idle()
        assert went_on == []
        await say(journal, "ready", thread="bob")
        await worker.wait_until_idle()
    assert went_on == [True]


async def test_a_join_may_go_on_without_a_child_that_is_missing(tmp_path: Path) -> None:
    came, clock = list[str](), FakeClock()

    async def body(ctx: Context) -> None:
        if isinstance(ctx.execution.inputs[-1].event, CancelRequest):
            await ctx.end_thread(status="cancelled")
        elif ctx.execution.thread.endswith("slow"):
            await ctx.sleep(86_400)
        elif ctx.execution.parent_thread:
            await ctx.end_thread("here I am")
        else:
            children = [await ctx.spawn(label, Said(text="go")) for label in ("quick", "slow")]
            came.extend(child.status for child in await ctx.join(children, within=60))
            await ctx.cancel()

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "begin")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        ends = {entry.thread: entry.event.status for entry in journal.entries_of_kind(ThreadEnded)}
    assert came == ["completed", "missing"]
    assert ends == {"ann.quick": "completed", "ann.slow": "cancelled"}


async def test_what_cannot_be_reached_is_waited_for_in_the_turn(tmp_path: Path) -> None:
    tries, clock = list[float](), FakeClock()

    async def body(ctx: Context) -> None:
        async def look_up() -> str:
            tries.append(clock.now())
            if len(tries) < 3:
                raise Unavailable("no line")
            return "found"

        assert await ctx.run("look up", look_up) == "found"

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "look it up")
        await worker.wait_until_idle()
        assert len(journal.pending_entries(OutageBegan)) == 1
        await pass_time(clock, worker, 500)
        assert not journal.busy_threads()
    assert len(tries) == 3


async def test_code_that_no_longer_fits_begins_again_with_its_log(tmp_path: Path) -> None:
    logs, clock = list[list[str]](), FakeClock()

    async def work() -> str:
        return "done"

    async def old(ctx: Context) -> None:
        await ctx.run("draft", work)
        await ctx.ask("shall I", AnswerAwaited())

    async def new(ctx: Context) -> None:
        logs.append([entry.key.rpartition("/")[2] for entry in ctx.execution.restart_log])
        await ctx.run("outline", work)
        await ctx.ask("shall I", AnswerAwaited())

    async with working(tmp_path, clock, old) as (journal, worker):
        await say(journal, "write a letter")
        await worker.wait_until_idle()
        [asked] = journal.pending_entries(AnswerAwaited)
    async with working(tmp_path, clock, new) as (journal, worker):
        await journal.append("ann", Pressed(text="yes", answers=asked.key), key="press:1", author="ann")
        await worker.wait_until_idle()
        assert not journal.pending_entries(AnswerAwaited), "the answer to the same question counts"
    assert logs == [[], ["draft#1", "shall I#1"]]


async def test_an_event_can_be_recorded_as_it_is(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        await ctx.record(StepResult(value="a thought"))
        await ctx.record(StepResult(value="another one"))

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "think")
        await worker.wait_until_idle()
        found = [(entry.key, entry.event.value) for entry in journal.entries_of_kind(StepResult)]
    assert found == [("ann@2/result#1", "a thought"), ("ann@2/result#2", "another one")]


async def test_messages_that_wait_are_taken_together_and_answers_first(tmp_path: Path) -> None:
    took, clock = list[list[str]](), FakeClock()

    async def body(ctx: Context) -> None:
        took.append([entry.kind for entry in ctx.execution.inputs])
        if said_to(ctx) == ["one"]:
            await ctx.ask("sure", AnswerAwaited())

    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "one")
        await worker.wait_until_idle()
        [asked] = journal.pending_entries(AnswerAwaited)
    async with Journal(tmp_path / "journal.db", clock, [Said, Pressed]) as journal:
        await say(journal, "two")
        await say(journal, "three")
        await journal.append("ann", Pressed(text="yes", answers=asked.key), key="press:1", author="ann")
        async with Worker(journal, clock, FunctionProgram(body)) as worker:
            await worker.wait_until_idle()
    assert took == [["said"], ["said", "pressed"], ["said", "said"]]
