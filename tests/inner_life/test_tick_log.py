"""The process log and its commands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from daemon.engine.context import Context
from daemon.engine.event import StepEvent
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import ThreadEnded, ThreadSpawned
from daemon.engine.program import Program
from daemon.engine.worker import Worker
from daemon.inner_life.commands.command import CommandResult
from daemon.inner_life.commands.cycle_commands import cycle_commands
from daemon.inner_life.commands.program_commands import program_commands
from daemon.inner_life.programs.supervisor import ProgramSupervisor
from daemon.inner_life.tick_log import ProgramLog, ProgramRun
from daemon.ism import ActionRefused
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    CommandRan,
    InnerLifeStarted,
    ProgramEnded,
    ProgramStarted,
    ProgramStopRequested,
)
from daemon.knowledge.visibility import KnownChannels, Visibility
from daemon.process import Turn
from daemon.settings.limits import AllowedProgram
from tests.clock import FakeClock
from tests.engine.function_programs import working
from tests.inner_life.programs.workshop import Workshop, shell, until
from tests.knowledge.office import Office

RECIPES = {"date": shell("date"), "find": shell('ls "$1"', "{place}")}


class Hand:
    def __init__(self, workshop: Workshop) -> None:
        self._journal = workshop.journal

    async def record(self, event: StepEvent, name: str = "") -> Any:
        key = f"{INNER}@{self._journal.last_seq_of_all() + 1}/{name or event.kind}#1"
        return (await self._journal.append(INNER, event, key=key, author="soul"))[0]


@dataclass(kw_only=True)
class OneTick:
    turn: Turn
    id: int
    views: Visibility
    view: str = ""
    now: float = 0.0


class Life:
    def __init__(self, workshop: Workshop, recipes: Mapping[str, AllowedProgram] = RECIPES) -> None:
        self.workshop = workshop
        self.log = ProgramLog(workshop.journal)
        commands = [*program_commands(self.log, recipes), *cycle_commands(60, self.log)]
        self.commands = {one.name: one for one in commands}
        self.views = Visibility(KnownChannels(workshop.journal))
        self.office = Office(workshop.journal)

    async def do(self, name: str, view: str = "", /, **args: Any) -> str:
        journal = self.workshop.journal
        turn = cast(Turn, Hand(self.workshop))
        tick = OneTick(turn=turn, id=journal.last_seq_of_all() + 1, views=self.views, view=view)
        command = self.commands[name]
        assert command.inner
        assert command.args
        checked = command.args.model_validate(args)
        try:
            done: CommandResult = await command.perform(tick, checked)
            text, ok = done.text, True
        except ActionRefused as refused:
            text, ok = str(refused), False
        ran = CommandRan(tick=tick.id, cmd_id="c", name=name, args=args, ok=ok, text=text, view=view)
        await tick.turn.record(ran)
        return text

    async def end(self, id: int, result: str = "done") -> None:
        ended = ProgramEnded(process=id, name="date", status="ok", result=result)
        await self.workshop.journal.append(INNER, ended, key=f"ended:{id}", closes=[id])

    async def seen(self, view: str = "") -> list[tuple[int, str, str]]:
        await self.log.update()
        here = self.log.processes(self.views.make_check(view))
        return [(one.id, one.name, one.status) for one in here]


@pytest.fixture
def life(workshop: Workshop) -> Life:
    return Life(workshop)


def id_in(text: str) -> int:
    return int(text.removeprefix("Process ").split()[0])


async def test_a_process_from_its_start_until_it_is_cleaned_up(life: Life) -> None:
    said = await life.do("process.start", name="find", slots={"place": "/"})
    id = id_in(said)
    assert said == f"Process {id} (find) is started. You hear of it when it has ended."
    assert await life.seen() == [(id, "find", "in_progress")]
    assert await life.do("process.mark", id=id) == f"Process {id} has not ended. process.stop would end it."
    await life.end(id, "stdout:\nfour files")
    assert await life.seen() == [(id, "find", "ok")]
    listed = await life.do("process.list")
    assert listed == (
        f"{id} find: ok, stdout: four files\nPrograms: date without slots; find with the slots place."
    )
    assert await life.do("process.mark", id=id) == f"Process {id} is dealt with, and out of sight."
    assert await life.seen() == []
    closed = life.log.get(id)
    assert closed
    assert (closed.status, closed.result, dict(closed.slots)) == (
        "close",
        "stdout:\nfour files",
        {"place": "/"},
    )
    said = await life.do("cleanup.process_log")
    assert said == "1 processes that were dealt with are dropped from the log."
    await life.log.update()
    assert life.log.get(id) is None


async def test_what_is_not_dealt_with_stays(life: Life) -> None:
    runs = id_in(await life.do("process.start", name="date"))
    ended = id_in(await life.do("process.start", name="date"))
    await life.end(ended)
    await life.do("process.mark", id=runs)
    await life.do("cleanup.process_log")
    assert await life.seen() == [(runs, "date", "in_progress"), (ended, "date", "ok")]


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("process.start", {"name": "rm"}, "There is no program 'rm'. There are: date without slots; find"),
        ("process.start", {"name": "find"}, "place needs a value; slots: place. Write it as find with the"),
        ("process.start", {"name": "find", "slots": {"place": "-x"}}, "place may not begin with -"),
        ("process.stop", {"id": 99}, "There is no program of the id 99."),
        ("process.mark", {"id": 99}, "There is no process 99 in sight."),
    ],
)
async def test_what_cannot_be_done_is_refused(life: Life, name: str, args: dict[str, Any], said: str) -> None:
    assert (await life.do(name, **args)).startswith(said)
    assert life.workshop.journal.entries_of_kind(ProgramStarted, ProgramStopRequested) == []


@pytest.mark.parametrize("args", [{}, {"id": "1"}, {"id": None}, {"id": [1]}, {"id": 99}, {"id": 1}])
async def test_a_mark_that_names_nothing_that_has_ended_changes_nothing(
    life: Life, args: dict[str, Any]
) -> None:
    id = id_in(await life.do("process.start", name="date"))
    assert id == 1
    ran = CommandRan(tick=2, cmd_id="c", name="process.mark", args=args)
    await life.workshop.journal.append(INNER, ran, key=f"{INNER}@9/command#1", author="soul")
    assert await life.seen() == [(id, "date", "in_progress")]


async def test_so_many_programs_at_once_and_no_more(life: Life) -> None:
    for _ in range(16):
        await life.do("process.start", name="date")
    assert (await life.do("process.start", name="date")).startswith("16 programs run already.")


async def test_so_many_are_kept_until_they_are_dealt_with_and_cleaned_up(life: Life) -> None:
    for _ in range(100):
        last = id_in(await life.do("process.start", name="date"))
        await life.end(last)
    assert (await life.do("process.start", name="date")).startswith("100 programs are in the log.")
    await life.do("process.mark", id=last)
    await life.do("cleanup.process_log")
    assert id_in(await life.do("process.start", name="date")) > last


async def test_one_is_asked_to_end_once_and_not_when_it_has(life: Life) -> None:
    id = id_in(await life.do("process.start", name="date"))
    assert (
        await life.do("process.stop", id=id) == f"Process {id} is asked to end. You hear of it when it has."
    )
    assert "in_progress, asked to end" in await life.do("process.list")
    await life.end(id)
    assert (await life.do("process.stop", id=id)).startswith(f"Process {id} has ended.")


async def test_what_was_started_in_sight_of_a_conversation_is_seen_there_alone(life: Life) -> None:
    dm, channel = await life.office.open("D1", "dm"), await life.office.open("C1", "public")
    id = id_in(await life.do("process.start", dm, name="date"))
    await life.end(id, "the secret of the DM")
    assert await life.seen(dm) == [(id, "date", "ok")]
    for view in ("", channel):
        assert await life.seen(view) == []
        assert (await life.do("process.list", view)).splitlines()[:2] == [
            "No process runs, and none waits to be dealt with.",
            "1 more were started elsewhere.",
        ]
        assert "secret" not in await life.do("process.list", view)
        assert "no process" in await life.do("process.mark", view, id=id)
        assert "elsewhere" in await life.do("process.stop", view, id=id)
    public = id_in(await life.do("process.start", channel, name="date"))
    assert [seen for seen, *_ in await life.seen(dm)] == [id, public]


async def test_what_was_started_before_outsiders_came_is_not_known_among_them(life: Life) -> None:
    channel = await life.office.open("C1", "private")
    ended, runs = [id_in(await life.do("process.start", channel, name="date")) for _ in range(2)]
    await life.end(ended)
    await life.office.turn("C1", "shared")
    assert await life.seen(channel) == []
    assert "no process" in await life.do("process.mark", channel, id=ended)
    assert "elsewhere" in await life.do("process.stop", channel, id=runs)
    assert "no process" in await life.do("cycle.idle", channel, processes=[runs])
    await life.office.turn("C1", "private")
    assert await life.seen(channel) == [(ended, "date", "ok"), (runs, "date", "in_progress")]
    assert await life.do("cycle.idle", channel, processes=[runs]) == "You slept."


async def test_a_branch_is_a_process_seen_where_it_was_begun(life: Life) -> None:
    journal, dm = life.workshop.journal, await life.office.open("D1", "dm")
    branch = ThreadSpawned(thread=f"{INNER}.look-it-up")
    spawned, _ = await journal.append(INNER, branch, key=f"{INNER}@5/thread-spawned#1", author="soul")
    other = ThreadSpawned(thread=f"{branch.thread}.deeper")
    key = f"{branch.thread}@9/thread-spawned#1"
    deeper, _ = await journal.append(branch.thread, other, key=key, author="soul")
    assert await life.seen() == await life.seen(dm) == []
    ran = CommandRan(tick=5, cmd_id="c", name="any.command", view=dm)
    await journal.append(INNER, ran, key=f"{INNER}@5~1/command#1", author="soul")
    assert await life.seen(dm) == [(spawned.seq, "look-it-up", "in_progress")]
    ended = ThreadEnded(result="found")
    key = f"{branch.thread}@9/thread-ended#1"
    await journal.append(branch.thread, ended, key=key, author="soul", closes=[spawned.seq])
    await life.log.update()
    one = life.log.get(spawned.seq)
    assert one
    assert (one.status, one.result, one.branch) == ("ok", "found", True)
    assert life.log.get(deeper.seq) is None
    assert await life.seen() == []


async def test_a_branch_that_is_forgotten_is_in_the_log_no_more(life: Life) -> None:
    journal, branch = life.workshop.journal, ThreadSpawned(thread=f"{INNER}.look-it-up")
    spawned, _ = await journal.append(INNER, branch, key=f"{INNER}@5/thread-spawned#1", author="soul")
    ran = CommandRan(tick=5, cmd_id="c", name="any.command")
    await journal.append(INNER, ran, key=f"{INNER}@5/command#1", author="soul")
    assert await life.seen() == [(spawned.seq, "look-it-up", "in_progress")]
    await journal.forget([spawned.seq], thread="soul", key="f", why="w", lets_go=[spawned.seq])
    assert await life.seen() == []
    assert life.log.all() == []


async def test_it_is_what_it_was_whenever_that_is_asked(life: Life) -> None:
    ids = [id_in(await life.do("process.start", name="date")) for _ in range(3)]
    before = life.workshop.journal.last_seq_of_all() + 1
    await life.end(ids[0])
    await life.do("process.mark", id=ids[0])
    await life.do("process.stop", id=ids[1])
    await life.log.update()
    now: list[ProgramRun] = [*life.log.all()]
    await life.log.update(before)
    assert [one.status for one in life.log.all()] == ["in_progress"] * 3
    await life.log.update()
    assert [*life.log.all()] == now


async def test_a_folder_goes_when_its_process_is_cleaned_up(workshop: Workshop) -> None:
    life = Life(workshop)
    async with workshop.supervised(RECIPES):
        kept = id_in(await life.do("process.start", name="date"))
        gone = id_in(await life.do("process.start", name="date"))
        folders = []
        for id in (kept, gone):
            started = workshop.journal.entry(id)
            await workshop.end(started)
            folders.append(workshop.folder(started))
        await life.do("process.mark", id=gone)
        await life.do("cleanup.process_log")
        await until(lambda: workshop.clock.sleepers)
        assert all(folder.exists() for folder in folders)  # a late wrapper may exist
        for folder in folders:
            os.utime(folder / "wrapper", (0, 0))
        await workshop.clock.advance(60)
        await until(lambda: not folders[1].exists())
        assert folders[0].exists()


async def test_what_was_cleaned_up_while_nobody_was_there_goes_at_the_start(workshop: Workshop) -> None:
    stray = workshop.home / ("0" * 32)
    other = workshop.home / "of-the-owner"
    for folder in (stray, other):
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
    async with workshop.supervised(RECIPES):
        await until(lambda: not stray.exists())
    assert other.exists()


class Ticks(Program):
    def __init__(self) -> None:
        self.heard: list[ProgramEnded] = []

    async def run(self, ctx: Context) -> None:
        ends = [entry.event for entry in ctx.execution.inputs if isinstance(entry.event, ProgramEnded)]
        self.heard += ends
        if not ends:
            await ctx.record(ProgramStarted(name="date"))


async def test_an_end_is_an_input_of_the_next_turn_and_the_journal_keeps_its_rules(tmp_path: Path) -> None:
    ticks, clock = Ticks(), FakeClock()
    async with working(tmp_path, clock, ticks, SOUL_KINDS) as (journal, worker):
        home = tmp_path / "processes"
        async with ProgramSupervisor(journal, clock, RECIPES, home, (), wake_of(worker)):
            await journal.append(INNER, InnerLifeStarted(), key="began", author="core")
            worker.wake(INNER)
            await until(lambda: ticks.heard and not journal.busy_threads())
        assert verify(journal).violations == []
    assert [(one.name, one.status) for one in ticks.heard] == [("date", "ok")]


def wake_of(worker: Worker) -> Any:
    return worker.wake
