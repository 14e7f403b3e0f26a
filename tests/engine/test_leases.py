"""Two workers on one journal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.exceptions import FencedError
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan, StepResult, TurnBegan, TurnEnded, TurnResumed
from daemon.engine.outages import ExecutionServices
from daemon.engine.tree_share import AllTrees
from daemon.engine.worker import TurnRunner, Worker
from tests.clock import FakeClock
from tests.engine.function_programs import FunctionProgram, say
from tests.engine.scenario import Said


class Late(Journal):
    """Journal that another worker writes to before entries of this kind."""

    before: type[TurnBegan | TurnResumed] = TurnResumed
    others: Sequence[tuple[Any, str, Sequence[int]]] = ()

    async def append(self, thread: str, event: Any, **more: Any) -> tuple[Entry[Any], bool]:
        if isinstance(event, self.before):
            others, self.others = self.others, ()
            for other, key, closes in others:
                await super().append(thread, other, key=key, cause=1, closes=closes)
        return await super().append(thread, event, **more)


def turns(journal: Journal, ran: list[str]) -> TurnRunner:
    async def body(ctx: Context) -> None:
        ran.append(ctx.path)

    return TurnRunner(
        journal,
        FakeClock(),
        FunctionProgram(body),
        life=0,
        succeeded=lambda _: None,
        changed=lambda: None,
        replays_always=False,
    )


async def test_a_turn_that_another_worker_has_ended_is_not_resumed(tmp_path: Path) -> None:
    ran = list[str]()
    async with Late(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        await say(journal, "go")
        await journal.append("ann", TurnBegan(execution="ann@1", inputs=(1,)), key="ann@1/began", cause=1)
        journal.others = [(TurnEnded(outcome="completed"), "ann@1/ended", [1, 2])]
        with pytest.raises(FencedError):
            await turns(journal, ran).take_turn("ann")
        assert not journal.entries_of_kind(TurnResumed)
    assert ran == []


async def test_a_turn_is_not_begun_beside_that_of_another_worker(tmp_path: Path) -> None:
    ran = list[str]()
    async with Late(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        journal.before = TurnBegan
        await say(journal, "one")
        await say(journal, "two")
        journal.others = [(TurnBegan(execution="ann@2", inputs=(2,)), "ann@2/began", [])]
        with pytest.raises(FencedError):
            await turns(journal, ran).take_turn("ann")
        assert [entry.key for entry in journal.entries_of_kind(TurnBegan)] == ["ann@2/began"]
    assert ran == []


async def test_a_worker_that_may_count_as_dead_begins_no_attempt(tmp_path: Path) -> None:
    sure = False

    async def body(ctx: Context) -> None:
        await ctx.run("think", lambda: asyncio.sleep(0, "thought"))

    async with Journal(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        share = AllTrees(lambda: sure)
        async with Worker(journal, FakeClock(), FunctionProgram(body), share=share) as worker:
            await say(journal, "go")
            worker.wake("ann")
            await worker.wait_until_idle()
            assert not journal.entries_of_kind(TurnBegan)
            sure = True
            await worker.wait_until_idle()
            assert len(journal.entries_of_kind(TurnEnded)) == 1


async def overtaken(journal: Journal) -> Execution:
    async def tell(thread: str, outage: Entry[OutageBegan]) -> None:
        raise NotImplementedError

    await say(journal, "go")
    event = TurnBegan(execution="ann@1", inputs=(1,))
    began, _ = await journal.append("ann", event, key="ann@1/began", cause=1)
    await journal.append("ann", TurnResumed(attempt=2), key="ann@1!attempt#2", cause=began.seq)
    around = ExecutionServices(
        journal=journal,
        clock=FakeClock(),
        author="test",
        patience=lambda _reason, _subject, _tries: None,
        went_down=tell,
        succeeded=lambda _: None,
        changed=lambda: None,
    )
    return Execution(around, began, began.seq)


async def test_an_attempt_that_was_overtaken_writes_nothing(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        execution = await overtaken(journal)
        with pytest.raises(FencedError):
            await execution.append(StepResult(), "ann@1/late#1")
        assert journal.get("ann@1/late#1") is None


async def test_an_attempt_that_was_overtaken_does_nothing_in_the_world(tmp_path: Path) -> None:
    done = list[str]()

    async def pay() -> None:
        done.append("paid")

    async with Journal(tmp_path / "journal.db", FakeClock(), [Said]) as journal:
        execution = await overtaken(journal)
        with pytest.raises(FencedError):
            await Context(execution, execution.path).run("pay", pay)
    assert done == []
