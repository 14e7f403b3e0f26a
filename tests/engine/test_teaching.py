"""What the engine does, told in small programs: read these to learn it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.journal import Journal
from daemon.engine.kinds import Asked, Result, Stop
from daemon.engine.verify import verify
from daemon.engine.worker import Program, Worker
from tests.clock import FakeClock
from tests.engine.harness import Pressed, Said

Body = Callable[[Context], Awaitable[object]]


class Small(Program):
    """A program that is one function."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def run(self, ctx: Context) -> object:
        return await self._body(ctx)


@asynccontextmanager
async def working(path: Path, clock: FakeClock, body: Body) -> AsyncIterator[tuple[Journal, Worker]]:
    """A worker that runs this over the journal in this folder."""
    async with Journal(path / "journal.db", clock, [Said, Pressed]) as journal:
        async with Worker(journal, clock, Small(body)) as worker:
            yield journal, worker
        assert verify(journal) == []


async def say(journal: Journal, text: str, thread: str = "ann") -> None:
    """Somebody says something, once."""
    await journal.append(thread, Said(text=text), key=f"said:{thread}:{text}", author="ann")


async def test_a_step_that_is_recorded_is_not_done_again(tmp_path: Path) -> None:
    rolled, lives = list[int](), list[int]()

    async def roll() -> int:
        rolled.append(4)
        return 4

    async def body(ctx: Context) -> None:
        dice = await ctx.run("roll", roll)
        lives.append(dice)
        if len(lives) == 1:
            raise RuntimeError("the first attempt fails here")

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "roll the dice")
        await worker.idle()
        await clock.advance(5)  # a turn that failed rests for a while, and holds nothing meanwhile
        await worker.idle()
    assert (rolled, lives) == ([4], [4, 4])


async def test_a_question_waits_for_days_and_holds_nothing(tmp_path: Path) -> None:
    answers = list[str]()

    async def body(ctx: Context) -> None:
        answer = await ctx.ask("tea or coffee", Asked())
        assert answer is not None
        assert isinstance(answer.event, Pressed)
        answers.append(answer.event.text)

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "I am thirsty")
        await worker.idle()
    await clock.advance(86_400)
    async with working(tmp_path, clock, body) as (journal, worker):  # another life of the program
        [asked] = journal.pending(Asked)
        await journal.append("ann", Pressed(text="tea", answers=asked.key), key="press:1", author="ann")
        await worker.idle()
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
        await worker.idle()
        await clock.advance(599)
        await worker.idle()
        assert woken == []
        await clock.advance(1)
        await worker.idle()
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
        await worker.idle()
    assert heard == [["tea, please", "and with milk"]]


async def test_children_work_beside_each_other_and_are_joined(tmp_path: Path) -> None:
    sums = list[list[int]]()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent:
            number = int(ctx.execution.thread.rpartition(".")[2].removeprefix("n"))
            await ctx.end_thread(number * number)
            return
        children = [await ctx.spawn(f"n{number}", Said(text="square")) for number in (2, 3)]
        sums.append([one.result for one in await ctx.join(children)])

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "the squares, please")
        await worker.idle()
    assert sums == [[4, 9]]


async def test_a_stop_is_taken_with_all_that_waits(tmp_path: Path) -> None:
    took = list[list[str]]()

    async def body(ctx: Context) -> None:
        took.append([entry.kind for entry in ctx.execution.inputs])

    async with Journal(tmp_path / "journal.db", FakeClock(), [Said, Pressed]) as journal:
        await say(journal, "one thing")
        await journal.append("ann", Stop(), key="stop:1", author="ann")
        async with Worker(journal, FakeClock(), Small(body)) as worker:
            await worker.idle()
    assert took == [["said", "stop"]]


async def test_a_program_that_always_fails_is_given_up(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        raise RuntimeError("always")

    clock = FakeClock()
    async with working(tmp_path, clock, body) as (journal, worker):
        await say(journal, "poison")
        for _ in range(6):
            await worker.idle()
            await clock.advance(300)
        assert journal.busy_threads() == []


async def test_what_a_step_returns_can_be_an_event_of_its_own(tmp_path: Path) -> None:
    async def body(ctx: Context) -> None:
        async def toss() -> Result:
            return Result(value="heads")

        tossed = await ctx.step("toss", {"coin": 1}, toss, Result)
        assert tossed.event.value == "heads"

    async with working(tmp_path, FakeClock(), body) as (journal, worker):
        await say(journal, "toss a coin")
        await worker.idle()
        assert [entry.event.value for entry in journal.kind(Result)] == ["heads"]
