"""Waits for closed entries, matching entries and times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.context import Context
from daemon.engine.event import Entry, Event, Input
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import (
    ClockCorrected,
    EntryMatch,
    QuestionWithdrawn,
    WaitBegan,
    WaitEnded,
    WaitReminder,
)
from daemon.engine.waits import MOST_STALE_DUES, WaitScheduler
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.function_programs import Body, FunctionProgram, pass_time, said_to, say, working
from tests.engine.scenario import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Event):
    kind = "note"
    about: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer(Input):
    kind = "timer"
    text: str


def _reminder(waiting: Entry[WaitBegan], _: WaitEnded) -> Input:
    return WaitReminder(answers=waiting.key)


async def note(journal: Journal, about: str, thread: str = "ann", n: int = 0) -> int:
    written, _ = await journal.append(
        thread, Note(about=about, tags=("x",)), key=f"note:{thread}:{about}:{n}"
    )
    return written.seq


def waits(matching: EntryMatch, woken: list[WaitEnded], times: int = 1) -> Body:
    async def body(ctx: Context) -> None:
        for _ in range(times):
            woke = await ctx.wait(matching=matching)
            woken.append(woke.event)

    return body


async def test_a_wait_ends_with_an_entry_that_matches(tmp_path: Path) -> None:
    woken, clock = list[WaitEnded](), FakeClock()
    matching = EntryMatch(kinds=("note",), fields={"about": "tea", "tags": ["x"]})
    async with working(tmp_path, clock, waits(matching, woken), [Note]) as (journal, worker):
        await say(journal, "tell me of tea")
        await worker.wait_until_idle()
        await note(journal, "coffee")
        await note(journal, "tea", thread="bob")
        await worker.wait_until_idle()
        assert woken == []
        seq = await note(journal, "tea")
        await worker.wait_until_idle()
        assert [one.matched for one in woken] == [(seq,)]


async def test_it_counts_what_came_after_what_was_received_and_not_after_the_wait(tmp_path: Path) -> None:
    woken, clock = list[WaitEnded](), FakeClock()

    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: note(journal, "tea"))
        woken.append((await ctx.wait(matching=EntryMatch(kinds=("note",)))).event)

    async with working(tmp_path, clock, body, [Note]) as (journal, worker):
        await note(journal, "old")
        await say(journal, "go")
        await worker.wait_until_idle()
        assert [len(one.matched) for one in woken] == [1], "the one from before the message does not count"


async def test_two_waits_in_a_row_miss_nothing_and_see_nothing_twice(tmp_path: Path) -> None:
    woken, clock = list[WaitEnded](), FakeClock()
    matching = EntryMatch(kinds=("note",), tree=True)
    async with working(tmp_path, clock, waits(matching, woken, times=3), [Note]) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        seqs = list[int]()
        for n in range(3):
            seqs.append(await note(journal, "tea", thread="ann.child", n=n))
            await worker.wait_until_idle()
        assert [one.matched for one in woken[-3:]] == [(seq,) for seq in seqs]


async def test_one_of_several_conditions_is_enough_where_any_is_wanted(tmp_path: Path) -> None:
    ends, clock = list[tuple[int, ...]](), FakeClock()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.sleep(600)
            await ctx.end_thread()
            return
        child = await ctx.spawn("slow", Said(text="go"))
        woke = await ctx.wait(closed=[child.seq], matching=EntryMatch(kinds=("note",)), want="any")
        ends.append(woke.event.missing)

    async with working(tmp_path, clock, body, [Note]) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await note(journal, "tea")
        await worker.wait_until_idle()
        assert [len(missing) for missing in ends] == [1]


async def test_a_watch_becomes_what_the_program_makes_of_it(tmp_path: Path) -> None:
    heard, clock = list[str](), FakeClock()

    class Reminds(FunctionProgram):
        def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
            return Timer(text=f"time for {waiting.event.note}")

    async def body(ctx: Context) -> None:
        first = ctx.execution.inputs[0].event
        if isinstance(first, Timer):
            heard.append(first.text)
            return
        await ctx.watch(within=60, note="tea")

    async with working(tmp_path, clock, Reminds(body), [Timer]) as (journal, worker):
        await say(journal, "remind me")
        await worker.wait_until_idle()
        await pass_time(clock, worker, 60)
        assert heard == ["time for tea"]
        assert not journal.pending_entries(WaitBegan)


async def test_a_watch_without_a_time_stands_in_nobodys_way(tmp_path: Path) -> None:
    clock, heard = FakeClock(), list[list[str]]()

    async def body(ctx: Context) -> None:
        if said_to(ctx) == ["one"]:
            await ctx.watch(matching=EntryMatch(kinds=("note",)))
        heard.append(said_to(ctx))

    async with working(tmp_path, clock, body, [Note]) as (journal, worker):
        await say(journal, "one")
        await worker.wait_until_idle()
        await clock.advance(60)
        await say(journal, "two")
        await worker.wait_until_idle()
        assert len(journal.pending_entries(WaitBegan)) == 1
        await note(journal, "tea")
        await worker.wait_until_idle()
        assert len(journal.thread_entries("ann", WaitReminder)) == 1
    assert heard == [["one"], ["two"], []]


async def sleeps_a_minute(ctx: Context) -> None:
    await ctx.sleep(60)


async def test_a_wait_lasts_as_long_as_it_was_to_though_the_clock_was_ahead(tmp_path: Path) -> None:
    clock = FakeClock()
    clock.set_ahead(86_400)
    async with working(tmp_path, clock, sleeps_a_minute) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        clock.set_ahead(0)
        await pass_time(clock, worker, 30)
        assert len(journal.entries_of_kind(ClockCorrected)) == 1
        assert not journal.entries_of_kind(WaitEnded)
    async with working(tmp_path, clock, sleeps_a_minute) as (journal, worker):
        await pass_time(clock, worker, 61)
        assert len(journal.entries_of_kind(WaitEnded)) == 1


class Counting(Journal):
    """Journal that counts its queries about waits."""

    asked = 0
    most = 0

    def is_pending(self, seq: int) -> bool:
        self.asked += 1
        return super().is_pending(seq)

    def still_pending(self, seqs: Sequence[int]) -> list[int]:
        self.asked += 1
        return super().still_pending(seqs)

    def pending_seqs(self, *kinds: type[Event]) -> list[int]:
        self.asked += 1
        return super().pending_seqs(*kinds)

    def thread_entries(
        self, thread: str, *kinds: type[Any], since: int = 0, most: int | None = None
    ) -> list[Entry[Any]]:
        self.asked += 1
        return super().thread_entries(thread, *kinds, since=since, most=most)

    def readable_entries(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        self.most = max(self.most, len(seqs))
        return super().readable_entries(seqs)


MANY = 1000


@asynccontextmanager
async def many_that_wait(path: Path, clock: FakeClock) -> AsyncIterator[tuple[Counting, WaitScheduler]]:
    async with Counting(path / "journal.db", clock, [Said, Note]) as journal:
        appends = []
        for n in range(MANY):
            match = EntryMatch(kinds=("note",), thread=f"t{n}", fields={"about": "tea"})
            event = WaitBegan(due=clock.now() + MANY + n, matching=match, want="any", execution=f"t{n}@1")
            appends.append(journal.append(f"t{n}", event, key=f"t{n}@1/sleep#1"))
        await asyncio.gather(*appends)
        yield journal, WaitScheduler(journal, clock, _reminder, lambda *_: True)


async def test_a_thousand_that_wait_cost_a_sweep_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with many_that_wait(tmp_path, clock) as (journal, all_that_wait):
        await all_that_wait.end_finished_waits()
        journal.asked = 0
        for _ in range(100):
            await all_that_wait.end_finished_waits()
        await say(journal, "hello", thread="t1")
        assert await all_that_wait.end_finished_waits() == ["t1"]
        assert journal.asked == 0
        await note(journal, "coffee", thread="t1")
        assert await all_that_wait.end_finished_waits() == []
        assert journal.asked == 1, "only one of them may have ended"
        await clock.advance(MANY)
        assert await all_that_wait.end_finished_waits() == ["t0"]


async def test_a_clock_that_is_set_back_costs_a_sweep_nothing_and_nobody_their_time(tmp_path: Path) -> None:
    clock = FakeClock()
    async with many_that_wait(tmp_path, clock) as (journal, all_that_wait):
        await all_that_wait.end_finished_waits()
        await clock.advance(10)
        assert await all_that_wait.end_finished_waits() == []
        journal.asked = 0
        clock.set_ahead(-5)
        assert await all_that_wait.end_finished_waits() == []
        await clock.advance(MANY - 10)
        assert await all_that_wait.end_finished_waits() == []
        assert journal.asked == 0
        await clock.advance(5)
        assert await all_that_wait.end_finished_waits() == ["t0"]


async def test_what_was_set_while_the_clock_was_ahead_is_set_right_when_it_is(tmp_path: Path) -> None:
    clock = FakeClock()
    async with many_that_wait(tmp_path, clock) as (journal, all_that_wait):
        await all_that_wait.end_finished_waits()
        await clock.advance(10)
        clock.set_ahead(86_400)
        event = WaitBegan(due=clock.now() + 60, execution="late@1")
        await journal.append("late", event, key="late@1/sleep#1")
        clock.set_ahead(-1)
        assert await all_that_wait.end_finished_waits() == []
        assert [entry.thread for entry in journal.entries_of_kind(ClockCorrected)] == ["late"]
        await clock.advance(59)
        assert await all_that_wait.end_finished_waits() == []
        await clock.advance(1)
        assert await all_that_wait.end_finished_waits() == ["late"]


@pytest.mark.parametrize(("ahead", "corrected"), [(0.5, []), (60.0, ["late"])])
async def test_clocks_of_workers_that_share_a_journal_may_differ_a_little(
    tmp_path: Path, ahead: float, corrected: list[str]
) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, [Said, Note]) as journal:
        clock.set_ahead(ahead)
        event = WaitBegan(due=clock.now() + 60, execution="late@1")
        await journal.append("late", event, key="late@1/sleep#1")
        clock.set_ahead(0)
        waits = WaitScheduler(journal, clock, _reminder, lambda *_: True, follows=True)
        assert await waits.end_finished_waits() == []
        assert [entry.thread for entry in journal.entries_of_kind(ClockCorrected)] == corrected


async def test_that_it_was_set_right_holds_after_another_start_too(tmp_path: Path) -> None:
    clock, day = FakeClock(), 86_400
    clock.set_ahead(day)
    async with many_that_wait(tmp_path, clock) as (journal, _):
        event = WaitBegan(due=clock.now() + 2 * day, execution="late@1")
        await journal.append("late", event, key="late@1/sleep#1")
        clock.set_ahead(0)
        await WaitScheduler(journal, clock, _reminder, lambda *_: True).end_finished_waits()
        await clock.advance(2 * day)  # a slow clock would lag by now
        assert "late" in await WaitScheduler(journal, clock, _reminder, lambda *_: True).end_finished_waits()


async def test_nothing_is_kept_of_those_that_are_over(tmp_path: Path) -> None:
    clock = FakeClock()
    async with many_that_wait(tmp_path, clock) as (journal, all_that_wait):
        event = WaitBegan(due=clock.now() + 9 * MANY, execution="x@1")
        await asyncio.gather(
            *(journal.append("x", event, key=f"x@1/sleep#{n}") for n in range(MOST_STALE_DUES))
        )
        await all_that_wait.end_finished_waits()
        for entry in journal.pending_entries(WaitBegan):
            await journal.append(
                entry.thread, QuestionWithdrawn(), key=f"{entry.key}!over", closes=[entry.seq]
            )
        await all_that_wait.end_finished_waits()
        assert not all_that_wait._known
        assert not all_that_wait._places
        assert len(all_that_wait._dues) <= MOST_STALE_DUES


async def test_the_first_look_after_a_start_holds_up_nobody_and_misses_nothing(tmp_path: Path) -> None:
    clock, passes, fitted = FakeClock(), 0, 0
    async with many_that_wait(tmp_path, clock) as (journal, all_that_wait):
        await note(journal, "tea", thread="t7")

        async def goes_on() -> None:
            nonlocal passes, fitted
            while True:
                passes += 1
                if passes == 5:
                    fitted = await note(journal, "tea", thread="t3")
                await asyncio.sleep(0)

        other = asyncio.create_task(goes_on())
        came = await all_that_wait.end_finished_waits()
        other.cancel()
        assert passes >= MANY / journal.most > 10
        assert {"t7"} <= {*came} <= {"t7", "t3"}
        assert {*came, *await all_that_wait.end_finished_waits()} == {"t7", "t3"}
        woken = {entry.thread: entry.event.matched for entry in journal.entries_of_kind(WaitEnded)}
        assert woken["t3"] == (fitted,)
        await clock.advance(2 * MANY)
        assert len(await all_that_wait.end_finished_waits()) == MANY - 2
        assert len(journal.entries_of_kind(WaitEnded)) == MANY, "each once"


async def test_a_join_ends_at_once_and_not_at_the_next_sweep(tmp_path: Path) -> None:
    clock, joined = FakeClock(), list[str]()

    async def body(ctx: Context) -> None:
        if ctx.execution.parent_thread:
            await ctx.end_thread("done")
            return
        [child] = await ctx.join([await ctx.spawn("a", Said(text="go"))])
        joined.append(child.result)

    async with Journal(tmp_path / "journal.db", clock, [Said]) as journal:
        await say(journal, "go")
        async with Worker(journal, clock, FunctionProgram(body)) as worker:
            worker.wake("ann")
            await worker.wait_until_idle()
    assert joined == ["done"]


async def test_what_comes_in_any_thread_ends_a_wait_if_the_program_says_that_it_fits(tmp_path: Path) -> None:
    woken, clock = list[WaitEnded](), FakeClock()

    class Choosy(FunctionProgram):
        def fits(self, about: Any, entry: Entry[Any]) -> bool:
            return bool(entry.event.about.endswith(about))

    matching = EntryMatch(kinds=("note",), anywhere=True, about="tea")
    async with working(tmp_path, clock, Choosy(waits(matching, woken)), [Note]) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await note(journal, "coffee", thread="bob")
        await worker.wait_until_idle()
        assert not woken
        fits = await note(journal, "green tea", thread="bob", n=1)
        await worker.wait_until_idle()
        assert [woke.matched for woke in woken] == [(fits,)]
