"""Programs run and supervised over a real journal."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.inner_life.programs.placement import ProgramPlacement
from daemon.inner_life.programs.program_folder import program_folder_of
from daemon.inner_life.programs.supervisor import ProgramLimits, ProgramSupervisor
from daemon.kinds import INNER, SOUL_KINDS, ProgramEnded, ProgramStarted, ProgramStopRequested
from daemon.settings.limits import AllowedProgram
from tests.clock import FakeClock

PATIENCE = 20.0
BOUNDS = ProgramLimits(seconds=30.0)
SHELL = "/bin/sh"


def python(code: str, *more: str) -> AllowedProgram:
    return AllowedProgram(argv=(sys.executable, "-I", "-S", "-c", code, *more))


def shell(script: str, *more: str) -> AllowedProgram:
    """Return a program of this script with arguments $1, $2, …."""
    return AllowedProgram(argv=(SHELL, "-c", script, "sh", *more))


def quoted(recipe: AllowedProgram) -> str:
    return shlex.join(recipe.argv)


@dataclass(kw_only=True)
class Workshop:
    journal: Journal
    clock: FakeClock
    home: Path
    woken: list[str] = field(default_factory=list)

    async def start(self, name: str, /, **slots: str) -> Entry[ProgramStarted]:
        key = f"{INNER}@{self.journal.last_seq_of_all() + 1}/process-started#1"
        event = ProgramStarted(name=name, slots=slots)
        return (await self.journal.append(INNER, event, key=key, author="soul"))[0]

    async def stop(self, started: Entry[ProgramStarted]) -> None:
        key = f"{INNER}@{self.journal.last_seq_of_all() + 1}/process-stop#1"
        await self.journal.append(INNER, ProgramStopRequested(process=started.seq), key=key, author="soul")

    def folder(self, started: Entry[ProgramStarted]) -> Path:
        return program_folder_of(self.home, started)

    async def end(self, started: Entry[ProgramStarted]) -> ProgramEnded:
        """Await the end, recorded exactly once."""
        async with asyncio.timeout(PATIENCE):
            async for entries in self.journal.follow_entries(started.seq):
                if entries and not self.journal.is_pending(started.seq):
                    break
        [ended] = [
            entry
            for entry in self.journal.thread_entries(INNER, ProgramEnded)
            if entry.event.process == started.seq
        ]
        assert (ended.key, ended.cause) == (f"{started.key}!ended", started.seq)
        assert ended.closes == (started.seq,)
        return ended.event

    @asynccontextmanager
    async def supervised(
        self,
        recipes: Mapping[str, AllowedProgram],
        secrets: Collection[str] = (),
        bounds: ProgramLimits = BOUNDS,
        placement: ProgramPlacement | None = None,
    ) -> AsyncIterator[ProgramSupervisor]:
        async with ProgramSupervisor(
            self.journal,
            self.clock,
            recipes,
            self.home,
            secrets,
            self.woken.append,
            bounds=bounds,
            placement=placement,
        ) as supervisor:
            yield supervisor

    async def run(
        self,
        recipe: AllowedProgram,
        secrets: Collection[str] = (),
        bounds: ProgramLimits = BOUNDS,
        **slots: str,
    ) -> ProgramEnded:
        async with self.supervised({"it": recipe}, secrets, bounds):
            return await self.end(await self.start("it", **slots))


@asynccontextmanager
async def opened(place: Path) -> AsyncIterator[Workshop]:
    clock = FakeClock()
    async with Journal(place / "journal.db", clock, SOUL_KINDS) as journal:
        yield Workshop(journal=journal, clock=clock, home=place / "processes")


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - another process has no event
            await asyncio.sleep(0.01)
