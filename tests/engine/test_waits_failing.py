"""Waits that fail, without delaying others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import EntryMatch, WaitBegan, WaitEnded, WaitReminder
from daemon.engine.waits import WaitScheduler
from tests.clock import FakeClock
from tests.engine.function_programs import FunctionProgram, pass_time, say, working
from tests.engine.scenario import Said


async def test_one_that_cannot_be_ended_is_tried_again_and_no_other_waits_for_it(tmp_path: Path) -> None:
    clock, broken = FakeClock(), True

    def reminder(waiting: Entry[WaitBegan], _: WaitEnded) -> Input:
        if broken and waiting.thread == "t1":
            raise JournalError("the disk is full")
        return WaitReminder(answers=waiting.key)

    async with Journal(tmp_path / "journal.db", clock, [Said]) as journal:
        for n in range(3):
            event = WaitBegan(due=clock.now() + 60, resumes=False)
            await journal.append(f"t{n}", event, key=f"t{n}@1/watch#1")
        all_that_wait = WaitScheduler(journal, clock, reminder, lambda *_: True)
        await clock.advance(60)
        with pytest.raises(JournalError, match="the disk is full"):
            await all_that_wait.end_finished_waits()
        assert await all_that_wait.end_finished_waits() == ["t0", "t2"]
        broken = False
        await clock.advance(10)
        assert await all_that_wait.end_finished_waits() == ["t1"]


async def test_a_program_that_cannot_say_what_fits_holds_up_no_other_and_not_its_time(tmp_path: Path) -> None:
    clock, broken = FakeClock(), True

    def reminder(waiting: Entry[WaitBegan], _: WaitEnded) -> Input:
        return WaitReminder(answers=waiting.key)

    def fits(about: Any, _: Entry[Any]) -> bool:
        if broken and about == "odd":
            raise ValueError("what is that?")
        return True

    async with Journal(tmp_path / "journal.db", clock, [Said]) as journal:
        for thread, about, due in (("a", "odd", 60), ("b", "tea", 600), ("c", "odd", 600)):
            match = EntryMatch(kinds=("said",), anywhere=True, about=about)
            event = WaitBegan(due=clock.now() + due, matching=match, want="any", resumes=False)
            await journal.append(thread, event, key=f"{thread}@1/watch#1")
        all_that_wait = WaitScheduler(journal, clock, reminder, fits)
        await say(journal, "tea")
        for ended in ("b", "ba"):  # immediately, and at its time
            await all_that_wait.end_finished_waits()
            assert [entry.thread for entry in journal.entries_of_kind(WaitReminder)] == [*ended]
            await clock.advance(60)
        broken = False
        await all_that_wait.end_finished_waits()
        assert [entry.thread for entry in journal.entries_of_kind(WaitReminder)] == ["b", "a", "c"], (
            "it is asked again"
        )


class Unsure(FunctionProgram):
    sure = False

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        if not self.sure:
            raise ValueError("is that tea?")
        return True


async def test_what_nobody_could_say_to_fit_is_not_missed_by_the_next_wait(tmp_path: Path) -> None:
    clock, matched = FakeClock(), list[int]()

    async def body(ctx: Context) -> None:
        if ctx.execution.thread == "bob":
            return
        for _ in range(2):
            match = EntryMatch(kinds=("said",), thread="bob", about="tea")
            woke = await ctx.wait(matching=match, within=60, want="any")
            matched.append(len(woke.event.matched))

    program = Unsure(body)
    async with working(tmp_path, clock, program) as (journal, worker):
        await say(journal, "go")
        await worker.wait_until_idle()
        await say(journal, "tea", "bob")
        await pass_time(clock, worker, 65)
        program.sure = True
        await pass_time(clock, worker, 65)
    assert matched == [0, 0, 1], "the first one is read back once"
