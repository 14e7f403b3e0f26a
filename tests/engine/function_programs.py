"""One-function programs for tests, over a journal and a fake clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.verify import verify
from daemon.engine.journal.writer import JournalWriter
from daemon.engine.program import Program
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.scenario import Pressed, Said

Body = Callable[[Context], Awaitable[object]]


class FunctionProgram(Program):
    def __init__(self, body: Body) -> None:
        self._body = body

    async def run(self, ctx: Context) -> object:
        return await self._body(ctx)


@asynccontextmanager
async def working(
    path: Path,
    clock: FakeClock,
    program: Program | Body,
    kinds: Sequence[type[Event]] = (),
    writer: type[JournalWriter] = JournalWriter,
) -> AsyncIterator[tuple[Journal, Worker]]:
    """Run a worker of this program over the journal in this folder."""
    if not isinstance(program, Program):
        program = FunctionProgram(program)
    async with Journal(path / "journal.db", clock, [Said, Pressed, *kinds], writer) as journal:
        async with Worker(journal, clock, program) as worker:
            yield journal, worker
        assert verify(journal).violations == []


async def say(journal: Journal, text: str, thread: str = "ann") -> None:
    await journal.append(thread, Said(text=text), key=f"said:{thread}:{text}", author="ann")


def said_to(ctx: Context) -> list[str]:
    return [entry.event.text for entry in ctx.execution.inputs if isinstance(entry.event, Said)]


async def pass_time(clock: FakeClock, worker: Worker, seconds: float) -> None:
    """Advance time in small steps with the work of each."""
    while seconds > 0:
        await clock.leap(min(seconds, 5.0))
        await worker.wait_until_idle()
        seconds -= 5.0
