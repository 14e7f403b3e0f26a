"""Programs of the inner life with several daemons: each is placed in the journal, then started once."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.cluster.program_placement import PlacingDaemon, SharedPlacement
from daemon.inner_life.programs.program_folder import wrapper_pid
from daemon.kinds import ProgramPlaced, ProgramStarted
from daemon.settings.limits import AllowedProgram
from tests.crashes.worker_runs import fork
from tests.inner_life.programs.workshop import Workshop, opened, shell, until


class Daemons:
    """Daemons that share a journal; the one named `holder` has the role."""

    def __init__(self, workshop: Workshop, folder: Path) -> None:
        self.workshop, self._folder = workshop, folder
        self.holder = 1
        self.alive = {1, 2}
        self.sure = asyncio.Event()
        self.sure.set()

    def home(self, worker: int) -> Workshop:
        """Return the workshop with the folders of the machine of a worker."""
        return replace(self.workshop, home=self._folder / f"machine-{worker}")

    async def confirm(self) -> None:
        await self.sure.wait()

    def placement(self, worker: int, machine: str = "") -> SharedPlacement:
        return SharedPlacement(
            self.workshop.journal,
            PlacingDaemon(
                machine=machine or f"machine-{worker}",
                worker_id=worker,
                has_role=lambda: self.holder == worker,
                is_alive=lambda asked: asked in self.alive,
                confirm=self.confirm,
            ),
        )

    def placed(self) -> list[tuple[str, int]]:
        found = self.workshop.journal.entries_of_kind(ProgramPlaced)
        return [(one.event.machine, one.event.daemon) for one in found]


@pytest.fixture
async def daemons(tmp_path: Path) -> AsyncIterator[Daemons]:
    async with opened(tmp_path) as workshop:
        yield Daemons(workshop, tmp_path)


def counted(folder: Path, then: str = "echo done") -> AllowedProgram:
    return shell(f'echo started >> "$1"; {then}', str(folder / "tally"))


def starts(folder: Path) -> int:
    tally = folder / "tally"
    return len(tally.read_text().splitlines()) if tally.exists() else 0


async def test_of_three_daemons_one_places_and_starts_a_program(daemons: Daemons, tmp_path: Path) -> None:
    recipes = {"it": counted(tmp_path)}
    async with AsyncExitStack() as stack:
        for worker in (1, 2, 3):
            home, placement = daemons.home(worker), daemons.placement(worker)
            await stack.enter_async_context(home.supervised(recipes, placement=placement))
        programs = [await daemons.workshop.start("it") for _ in range(3)]
        ends = [await daemons.workshop.end(one) for one in programs]
    assert [end.status for end in ends] == ["ok"] * 3
    assert starts(tmp_path) == 3
    assert daemons.placed() == [("machine-1", 1)] * 3


async def test_two_that_think_to_have_the_role_start_a_program_once(daemons: Daemons, tmp_path: Path) -> None:
    recipes = {"it": counted(tmp_path)}
    one, other = daemons.placement(1), daemons.placement(1, "machine-2")
    other._daemon = replace(other._daemon, worker_id=2)
    async with (
        daemons.home(1).supervised(recipes, placement=one),
        daemons.home(2).supervised(recipes, placement=other),
    ):
        end = await daemons.workshop.end(await daemons.workshop.start("it"))
    assert (end.status, starts(tmp_path), len(daemons.placed())) == ("ok", 1, 1)


async def test_a_program_of_a_machine_whose_daemon_died_is_offline_and_not_started_again(
    daemons: Daemons, tmp_path: Path
) -> None:
    recipes = {"it": counted(tmp_path, "exec sleep 100")}
    async with daemons.home(1).supervised(recipes, placement=daemons.placement(1)):
        started = await daemons.workshop.start("it")
        await until(lambda: starts(tmp_path))
        async with daemons.home(2).supervised(recipes, placement=daemons.placement(2)):
            daemons.holder = 2
            await daemons.workshop.clock.advance(1)
            assert daemons.workshop.journal.is_pending(started.seq), "its daemon is alive"
            daemons.alive = {2}
            end = await daemons.workshop.end(started)
        assert (end.status, starts(tmp_path)) == ("offline", 1)
        await until(lambda: wrapper_pid(daemons.home(1).folder(started)) is None)


async def test_what_was_placed_but_never_started_is_not_started_by_the_next_daemon(
    daemons: Daemons, tmp_path: Path
) -> None:
    recipes = {"it": counted(tmp_path)}
    daemons.sure.clear()
    async with daemons.home(1).supervised(recipes, placement=daemons.placement(1)):
        started = await daemons.workshop.start("it")
        await until(daemons.placed)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await until(lambda: starts(tmp_path))  # it is not sure to be alive
    daemons.sure.set()
    daemons.alive, daemons.holder = {2}, 2
    async with daemons.home(2).supervised(recipes, placement=daemons.placement(2, "machine-1")):
        end = await daemons.workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("offline", 0)


async def test_the_next_daemon_on_a_machine_finds_how_a_program_ended(
    daemons: Daemons, tmp_path: Path
) -> None:
    recipes = {"it": counted(tmp_path, "while [ ! -e go ]; do sleep 0.02; done; echo done")}
    home = daemons.home(1)
    async with home.supervised(recipes, placement=daemons.placement(1)):
        started = await daemons.workshop.start("it")
        await until(lambda: starts(tmp_path))
    (home.folder(started) / "work" / "go").touch()
    await until((home.folder(started) / "status").exists)
    daemons.holder, daemons.alive = 3, {2, 3}
    async with home.supervised(recipes, placement=daemons.placement(3, "machine-1")):
        end = await daemons.workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("ok", 1)


async def run_and_wait(folder: Path) -> None:
    """Place and start a program as a daemon of its own would, until killed."""
    async with opened(folder) as workshop:
        daemons = Daemons(workshop, folder)
        recipes = {"it": counted(folder, "exec sleep 100")}
        async with daemons.home(1).supervised(recipes, placement=daemons.placement(1)):
            await workshop.end(await workshop.start("it"))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_a_program_ends_with_the_daemon_that_is_killed(tmp_path: Path) -> None:
    daemon = fork(lambda: run_and_wait(tmp_path))
    await until(lambda: starts(tmp_path))
    assert daemon.kill() == -signal.SIGKILL
    async with opened(tmp_path) as workshop:
        daemons = Daemons(workshop, tmp_path)
        home = daemons.home(1)
        [started] = workshop.journal.pending_entries(ProgramStarted)
        daemons.holder, daemons.alive = 2, {2}
        async with home.supervised({}, placement=daemons.placement(2, "machine-1")):
            end = await workshop.end(started)
    assert (end.status, starts(tmp_path)) == ("offline", 1)
    assert end.result.startswith("It was ended with the daemon that ran it.")
