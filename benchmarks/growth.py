"""Costs of all operations in journals of growing size. Floor: the same in the shortest journal.

CPU time, best of several rounds. `python -m benchmarks.growth 1000 1000000` sets the sizes.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

from benchmarks.figure import Figure, table
from benchmarks.ground import Ground, ground
from benchmarks.lag import BREATH
from benchmarks.lived import Lived, lived
from daemon.app.journal_commands import verify_journal
from daemon.app.wiring import make_index
from daemon.console.overview import BudgetInfo, PageAnswers, PageOverview, SlackLinks
from daemon.console.routes import ConsoleSetup, mount_console, mount_overview
from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.clock import SystemClock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS, open_reader
from daemon.engine.worker import Worker
from daemon.kinds import SOUL_KINDS, QuestionAsked
from daemon.knowledge.search import MessageSearch
from daemon.knowledge.visibility import KnownChannels
from daemon.ports import Button
from daemon.turn.soul_program import SoulProgram
from daemon.turn.turn import TurnDependencies

FLAT = 2.0
"""Maximum ratio to the floor; constant costs cannot be measured better."""
UNNOTICED = 20.0
"""Maximum milliseconds that the loop is blocked."""
STRETCH = "stretch: "
"""Prefix of these figures' names."""
PAGE = 200
"""Entries per page."""
BESIDE = "all that the page reads after a start"
"""Reading that may grow: nobody waits for it."""
REQUESTS = (
    "threads",
    "threads?words=word4999",
    "questions",
    "people",
    "people/U1",
    "people/-",
    "costs?days=366",
    "search?words=word4999",
    "entries?limit=500",
)
QUERY = "word4000 word4500"
"""One in a thousand texts contains one of these."""

Work = Callable[[], Awaitable[object]]


async def growth(
    folder: Path, *, sizes: Sequence[int] = (1_000, 10_000, 100_000), starts: int = 3, rounds: int = 10
) -> Sequence[Figure]:
    """Measure journals of `sizes`, shortest first."""
    shortest, *others = [await _took(_new(folder, size), size, starts, rounds) for size in sizes]
    return [
        _figure(size, name, value, unit, shortest.best[name, unit])
        for size, took in zip(sizes[1:], others, strict=True)
        for (name, unit), value in took.best.items()
    ]


def _figure(size: int, name: str, value: float, unit: str, floor: float) -> Figure:
    if name == BESIDE:
        return Figure(name=f"{size:,} entries: {name}", value=value, unit=unit, floor=floor)
    told, aim, met = f"{size:,} entries: {name}", f"at most {FLAT:g} times the floor", value <= FLAT * floor
    if name.startswith(STRETCH):
        told, aim, met = "… the loop without a break", f"at most {UNNOTICED:g} ms", value <= UNNOTICED
    return Figure(name=told, value=value, unit=unit, floor=floor, aim=aim, met=met)


class Took:
    """Lowest values by name and unit."""

    def __init__(self) -> None:
        self.best = dict[tuple[str, str], float]()

    def note(self, name: str, unit: str, value: float) -> None:
        self.best[name, unit] = min(self.best.get((name, unit), value), value)

    async def time(self, name: str, work: Work) -> None:
        """Run `work`; record its CPU time."""
        began = time.process_time()
        await work()
        self.note(name, "ms", (time.process_time() - began) * 1e3)

    async def watch(self, name: str, work: Work) -> None:
        """Run `work`; record its CPU time and the longest block of the loop."""
        stretches = list[float]()
        looking = asyncio.create_task(_look(stretches))
        await asyncio.sleep(2 * BREATH)
        await self.time(name, work)
        await asyncio.sleep(2 * BREATH)
        looking.cancel()
        await asyncio.wait([looking])
        self.note(f"{STRETCH}{name}", "ms", max(stretches) * 1e3)


async def _look(stretches: list[float]) -> None:
    """Record CPU time between checks: others wait as long."""
    while True:
        began = time.thread_time()
        await asyncio.sleep(BREATH)
        stretches.append(time.thread_time() - began)


def _new(folder: Path, size: int) -> Path:
    place = folder / str(size)
    place.mkdir()
    return place


async def _took(folder: Path, size: int, starts: int, rounds: int) -> Took:
    took, here = Took(), await lived(folder, size)
    took.note("the file for each message", "kB", here.bytes_each / 1e3)
    for _ in range(starts):
        _verify(took, here)
    for _ in range(starts):
        await _open(took, here)
        async with ground(folder) as soul:
            await _turns(took, here, soul, rounds)
            await _search(took, here, soul, rounds)
            await _sweep(took, soul, rounds)
            await _show(took, here, soul, rounds)
    return took


def _verify(took: Took, here: Lived) -> None:
    began = time.process_time()
    with open_reader(here.path, SOUL_KINDS) as journal:
        verdict = verify_journal(journal)
    assert verdict.entries == here.entries
    assert not verdict.violations
    took.note("verify for each entry", "µs", (time.process_time() - began) * 1e6 / here.entries)


async def _open(took: Took, here: Lived) -> None:
    journal = Journal(here.path, SystemClock(), SOUL_KINDS)
    await took.time("opening it", journal.__aenter__)
    await journal.__aexit__(None, None, None)


async def _turns(took: Took, here: Lived, soul: Ground, rounds: int) -> None:
    """Measure turns; a thread's first turn folds its history."""
    taker, stamps = soul.turns(), count(soul.world.journal.last_seq_of_all())

    async def turn(thread: str) -> None:
        await soul.say(thread, "What would you do with a free afternoon?", f"{next(stamps)}.5")
        assert await taker.take_turn(thread)

    async def anew() -> None:
        await turn(await soul.open(f"new {next(stamps)}"))

    async def longest() -> None:
        await turn(here.longest)

    await took.watch("the first message after a start", anew)
    for _ in range(rounds):
        await took.time("a turn", anew)
    await took.watch("the first turn of the longest thread", longest)
    for _ in range(rounds):
        await took.time("its next turn", longest)


async def _search(took: Took, here: Lived, soul: Ground, rounds: int) -> None:
    """Measure searches; the first may wait for the index."""
    journal = soul.world.journal
    with make_index(journal) as index:
        memories = MessageSearch(journal, KnownChannels(journal), index)

        async def search() -> None:
            await memories.search(QUERY, here.longest, ALWAYS)

        await took.watch("the first search after a start", search)
        for _ in range(rounds):
            await took.time("the next search", search)


async def _sweep(took: Took, soul: Ground, rounds: int) -> None:
    journal, clock = soul.world.journal, soul.world.clock
    async with Worker(journal, clock, SoulProgram(soul.world)) as worker:
        await took.time("the first sweep after a start", worker.sweep)
        for _ in range(rounds):
            await took.time("a sweep", worker.sweep)


async def _show(took: Took, here: Lived, soul: Ground, rounds: int) -> None:
    """Measure the page's requests, beginning after a start."""
    async with _shown(soul.world) as url, ClientSession() as session:

        async def get(path: str) -> Any:
            async with session.get(f"{url}/console/{path}") as answer:
                assert answer.status == 200
                return await answer.json()

        async def read_on() -> None:
            while (await get("threads?limit=1"))["still_reading"]:
                pass

        await took.watch("the first list of threads after a start", partial(get, "threads"))
        await took.watch(BESIDE, read_on)
        for _ in range(rounds):
            await took.watch(
                "a page of the longest thread", partial(get, f"threads/{here.longest}?limit={PAGE}")
            )
        for path in REQUESTS:
            await took.watch(f"/console/{path}", partial(get, path))


@asynccontextmanager
async def _shown(world: TurnDependencies) -> AsyncIterator[str]:
    app, listener, journal = web.Application(), bind("127.0.0.1", 0), world.journal
    mount_console(app, ConsoleSetup(journal=journal, rebuild=lambda _: ({}, True), state=dict, health=dict))
    purse = BudgetInfo(daily=5.0, now=world.clock.now)
    answering = PageAnswers(journal, (), _press)
    directory = SlackLinks(name_of=_called, people_in=_people_in, link=_link)
    mount_overview(app, PageOverview(journal, KnownChannels(journal), purse, answering, directory))
    async with serve_app(app, listener):
        yield url_of_socket(listener)


async def _press(_asked: Entry[QuestionAsked], _user: str, _choice: Button) -> bool:
    return False


async def _called(_id: str) -> str:
    return ""


async def _people_in(_channel: str) -> Sequence[str]:
    return ()


def _link(_channel: str, _ts: str, _root: str) -> str:
    return ""


async def _main(sizes: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        print(table(await growth(Path(folder), sizes=sizes)))


if __name__ == "__main__":
    asyncio.run(_main([int(size) for size in sys.argv[1:]]))
