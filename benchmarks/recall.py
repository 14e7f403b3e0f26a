"""Time to read the history of a long thread: after a start, and later. No floor: others keep no history."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure
from benchmarks.ground import Ground, ground, message
from benchmarks.instant import MODEL
from benchmarks.lag import Held
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    ModelCall,
    MoodChanged,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechBegan,
    SpeechFinished,
    SpeechPosted,
)

AIM = 2.0
"""Maximum milliseconds in later turns."""
LATE = 20.0
"""Maximum milliseconds that the loop is blocked."""
LENGTH = 8
"""Entries per turn."""
TEXT = "a sentence of some length that somebody may well have said " * 5


async def recall(folder: Path, *, entries: int = 10_000, rounds: int = 30) -> Sequence[Figure]:
    """Measure all reads before a turn's first call, in one thread."""
    async with ground(folder) as here:
        thread, held = await here.open("long"), Held()
        await _live_long(here, thread, entries)
        async with held:
            began = time.thread_time()
            await here.world.pasts.preload(thread, here.world.journal.last_seq_of_all() + 1)
            folded = time.thread_time() - began
        first, *later = [await _recalled(here, thread, f"{n}.5") for n in range(rounds + 1)]
    name = f"recall of a {entries:,}-entry thread"
    return [
        Figure(name=f"{name}, folded after a start", value=folded * 1e3, unit="ms"),
        _aimed("… the longest that it holds the loop", held.most * 1e3, LATE),
        _aimed(f"{name}, the first turn's", first, LATE),
        _aimed(f"{name}, the next turn's", median(later), AIM),
    ]


def _aimed(name: str, value: float, aim: float) -> Figure:
    return Figure(name=name, value=value, unit="ms", aim=f"under {aim:g} ms", met=value < aim)


async def _recalled(here: Ground, thread: str, ts: str) -> float:
    """Return milliseconds of the reads before and after `turn-began`."""
    said = await here.say(thread, TEXT, ts)
    began = time.perf_counter()
    here.world.pasts.history_of(thread, here.world.journal.last_seq_of_all() + 1)
    took = time.perf_counter() - began
    execution = await here.begin(said)
    began = time.perf_counter()
    turn = here.recalled(execution)
    took += time.perf_counter() - began
    assert len(turn.memory.conversation) > 1
    assert await here.turns().take_turn(thread)
    return took * 1e3


async def _live_long(here: Ground, thread: str, entries: int) -> None:
    first = here.world.journal.last_seq_of_all() + 1
    turns = [first + n * LENGTH for n in range(entries // LENGTH)]
    await asyncio.gather(
        *(append for asked in turns for append in _appended(here.world.journal, thread, asked))
    )


def _appended(journal: Journal, thread: str, asked: int) -> Iterator[Awaitable[object]]:
    began, speech = asked + 1, asked + 3
    for event in turn_of(thread, asked):
        closes = [asked, began, speech] if isinstance(event, SoulTurnEnded) else []
        yield journal.append(thread, event, key=f"{asked}/{event.kind}", cause=began, closes=closes)


def turn_of(thread: str, asked: int) -> Sequence[Event]:
    """Return the events of a turn that begins with entry `asked`."""
    call = ModelCall(
        name="think",
        role="speak",
        saw="",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        people=(),
        outcome="ok",
        model=MODEL,
        text=TEXT,
    )
    return (
        message(TEXT, "1"),
        SoulTurnBegan(execution=f"{thread}@{asked}", inputs=(asked,), process="conversation", texts=""),
        call,
        SpeechBegan(),
        SpeechPosted(ts="1"),
        SpeechFinished(ts="1", text=TEXT),
        MoodChanged(mood="calm"),
        SoulTurnEnded(outcome="completed", keep=(asked, asked + 2)),
    )
