"""Cost of deep readings. Floor: the same calls by the bare SDK."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.bare import streamed
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from benchmarks.haystack import CELLS, QUESTIONS, Haystack, haystack
from benchmarks.lag import Lag
from benchmarks.opening import opening
from benchmarks.thinking import Scripted
from daemon.engine.execution import Hold
from daemon.kinds import IncomingMessage, ReadingEnded
from daemon.model import Hear, ModelReply
from daemon.ports import ReadingSetup
from daemon.reading.reading_steps import read_source
from daemon.sandbox.session import SandboxFactory
from daemon.settings.limits import ReadingLimits
from daemon.turn.turn import Turn

OVER = {"one": 3.0, "sequence": 15.0, "children": 50.0}
"""Maximum milliseconds over the floor, by question."""
GATHER = 1.5
"""Maximum ratio of a batch to the floor."""
AT_ONCE = 16
"""Concurrent calls, also of the floor."""
STOP = 300.0
"""Maximum milliseconds until a stop is heard."""
TAKES = 1.0
"""Minimum seconds of a slow answer, at most twice that."""
EACH = 10
"""Calls per concurrent reading."""


class Writer(Scripted):
    """Model of the cells; answers take from `takes` to twice as many seconds."""

    takes = 0.0

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        reply = await super().call(request, hear, hold, stop)
        await asyncio.sleep(random.uniform(self.takes, 2 * self.takes))
        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Soul that reads, its model and the bare SDK."""

    here: Ground
    scripted: Writer
    numbers: count[int]

    async def turn(self) -> Turn:
        return await self.here.turn(f"reading {next(self.numbers)}")

    async def asked(self, question: str, context: str) -> Sequence[Mapping[str, Any]]:
        """Return the requests of a reading."""
        before = len(self.scripted.asked)
        await read(await self.turn(), question, context)
        return self.scripted.asked[before:]

    async def bare(self, requests: Sequence[Mapping[str, Any]]) -> None:
        for request in requests:
            await streamed(self.here.bare, request)

    async def gathered(self, requests: Sequence[Mapping[str, Any]]) -> None:
        """Send the first, then the others concurrently, as a reading does."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(request: Mapping[str, Any]) -> None:
            async with slots:
                await streamed(self.here.bare, request)

        first, *others = requests
        await streamed(self.here.bare, first)
        await asyncio.gather(*map(one, others))


async def reading(
    folder: Path,
    *,
    rounds: int = 15,
    calls: int = 100,
    children: int = 20,
    size: int = 10_000_000,
    at_once: int = 50,
    records: int = 40_000,
    starts: int = 50,
    takes: float = TAKES,
) -> Sequence[Figure]:
    """Measure readings, sandboxes and known answers in a long text."""
    hay = haystack(records)
    cells = {
        "one": "answer['content'] = 'done'\nanswer['ready'] = True",
        "sequence": f"for n in range({calls}):\n    llm_query(f'Piece {{n}}')\nFINAL('done')",
        "batch": f"llm_query_batched([f'Piece {{n}}' for n in range({calls})])\nFINAL('done')",
        "children": f"for n in range({children}):\n    rlm_query(f'Child {{n}}', 'This.')\nFINAL('done')",
        "Child": "FINAL('found')",
        "many": f"llm_query_batched([f'Piece {{n}}' for n in range({EACH})])\nFINAL('done')",
        **{QUESTIONS[name]: CELLS[name] for name in CELLS},
    }
    async with place(folder, cells, max(calls, at_once * EACH) + 1) as there:
        return [
            await _single(there, rounds, "one", "completion of one iteration"),
            await _single(there, rounds, "sequence", f"{calls} llm_query in sequence"),
            await _appends(there, rounds, calls),
            await _batch(there, rounds, calls),
            await _single(there, rounds, "children", f"{children} rlm_query in sequence"),
            await _large(there, rounds, size),
            *await _many(there, rounds, at_once, takes),
            *await opening(starts),
            *await _long(there, hay),
        ]


@asynccontextmanager
async def place(folder: Path, cells: Mapping[str, str], calls: int) -> AsyncIterator[Place]:
    def written(seen: str) -> str:
        found = next((code for question, code in cells.items() if f"<question>\n{question}" in seen), "")
        return f"```repl\n{found}\n```" if found else "noted"

    async with ground(folder) as here, SandboxFactory("auto") as sandboxes:
        scripted = Writer(here.world.llm, written)
        readings = ReadingSetup(
            limits=ReadingLimits(threshold=0, calls=calls, concurrency=AT_ONCE),
            open=sandboxes.open,
            models=("speak", "fast"),
            windows={"speak": 1_000_000, "fast": 1_000_000},
        )
        world = replace(here.world, llm=scripted, readings=readings)
        yield Place(here=replace(here, world=world), scripted=scripted, numbers=count())


async def read(turn: Turn, question: str, context: str) -> ReadingEnded:
    async def load() -> str:
        return context

    ended = await read_source(turn, question, load)
    assert ended.event.reason == "answered", ended.event
    return ended.event


async def _turns(there: Place, readings: int) -> list[Turn]:
    return [await there.turn() for _ in range(readings)]


async def _single(there: Place, rounds: int, question: str, name: str) -> Figure:
    """Measure sequential calls."""
    requests = await there.asked(question, "Read this.")
    turns = await _turns(there, rounds + 1)
    floor, ours = await side_by_side(
        rounds, lambda: there.bare(requests), lambda: read(turns.pop(), question, "Read this.")
    )
    over = (ours - floor) * 1e3
    return Figure(
        name=name,
        value=ours * 1e3,
        unit="ms",
        floor=floor * 1e3,
        aim=f"at most {OVER[question]:g} ms over the floor: {over:.1f}",
        met=over <= OVER[question],
    )


async def _appends(there: Place, rounds: int, calls: int) -> Figure:
    """Measure the disk alone: each call is stored before the next."""
    thread = await there.here.open("appends")
    numbers = count()

    async def append() -> None:
        for _ in range(calls):
            number = next(numbers)
            said = IncomingMessage(address="dm", user="U1", name="Alice", text="Piece", ts=str(number))
            await there.here.world.journal.append(thread, said, key=f"piece {number}")

    (took,) = await side_by_side(rounds, append)
    return Figure(name=f"… {calls} appends alone, one at a time", value=took * 1e3, unit="ms")


async def _batch(there: Place, rounds: int, calls: int) -> Figure:
    requests = await there.asked("batch", "Read this.")
    turns = await _turns(there, rounds + 1)
    floor, ours = await side_by_side(
        rounds, lambda: there.gathered(requests), lambda: read(turns.pop(), "batch", "Read this.")
    )
    return Figure(
        name=f"{calls} llm_query in a batch, {AT_ONCE} at once",
        value=ours * 1e3,
        unit="ms",
        floor=floor * 1e3,
        aim=f"at most {GATHER:g} times the floor",
        met=ours <= GATHER * floor,
    )


async def _large(there: Place, rounds: int, size: int) -> Figure:
    text = ("All the gulls had gone to sea by then.\n" * (size // 39 + 1))[:size]
    requests = await there.asked("one", text)
    turns = await _turns(there, rounds + 1)
    floor, ours = await side_by_side(
        rounds, lambda: there.bare(requests), lambda: read(turns.pop(), "one", text)
    )
    return Figure(name=f"completion over {size / 1e6:g} MB", value=ours * 1e3, unit="ms", floor=floor * 1e3)


async def _many(there: Place, rounds: int, at_once: int, takes: float) -> Sequence[Figure]:
    requests = await there.asked("many", "Read this.")
    rounds = max(rounds // 5, 1)
    turns = await _turns(there, (rounds + 2) * at_once)
    lag, bare_lag, usual_lag = Lag(), Lag(), Lag()

    async def ours(lag: Lag = lag) -> None:
        async with lag:
            await asyncio.gather(*(read(turns.pop(), "many", "Read this.") for _ in range(at_once)))

    async def bare() -> None:
        async with bare_lag:
            await asyncio.gather(*(there.gathered(requests) for _ in range(at_once)))

    floor, took = await side_by_side(rounds, bare, ours)
    there.scripted.takes = takes
    await ours(usual_lag)
    there.scripted.takes = 0.0
    usual = usual_lag.most * 1e3
    name = f"{at_once} readings of {len(requests)} calls at once"
    return [
        Figure(name=name, value=took * 1e3, unit="ms", floor=floor * 1e3),
        Figure(
            name="… how late the loop is, 99 of 100 times",
            value=lag.percentile(99) * 1e3,
            unit="ms",
            floor=bare_lag.percentile(99) * 1e3,
        ),
        Figure(name="… at the latest", value=lag.most * 1e3, unit="ms", floor=bare_lag.most * 1e3),
        Figure(
            name=f"… at the latest, where an answer takes {takes:g} s and more",
            value=usual,
            unit="ms",
            aim=f"below {STOP:g} ms",
            met=usual < STOP,
        ),
    ]


async def _long(there: Place, hay: Haystack) -> Sequence[Figure]:
    right = 0
    lag = Lag()

    async def all_of_them() -> None:
        nonlocal right
        async with lag:
            for name, question in QUESTIONS.items():
                ended = await read(await there.turn(), question, hay.text)
                right += ended.answer == hay.answers[name]

    (took,) = await side_by_side(1, all_of_them)
    asked = 2 * len(QUESTIONS)
    return [
        Figure(
            name=f"{len(QUESTIONS)} questions about {hay.tokens / 1e6:.1f} million tokens",
            value=took * 1e3,
            unit="ms",
            aim=f"all answers right: {right} of {asked}",
            met=right == asked,
        ),
        Figure(name="… how late the loop is at the latest", value=lag.most * 1e3, unit="ms"),
    ]
