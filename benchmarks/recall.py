"""How long a turn takes to recall a thread of ten thousand entries: after a start, and from then on.

Nobody else knows this past: the floor would be nothing at all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figure import Figure
from benchmarks.ground import Ground, ground
from daemon.life.begin import begin
from daemon.life.live import Life

AIM = 2.0
"""Milliseconds for the next turn's recall."""
TURN = ("perception", "turn-began", "model-call", "speech", "speech-started", "spoken", "mood", "turn-ended")
"""The kinds of an ordinary turn's entries."""
TEXT = "a sentence of some length that somebody may well have said " * 5


async def recall(folder: Path, *, entries: int = 10_000, rounds: int = 30) -> Sequence[Figure]:
    """Turn after turn in one long thread; what is timed is all that a turn reads before it thinks."""
    async with ground(folder) as here:
        thread = await here.open("long")
        await _live_long(here, thread, entries)
        first, *later = [await _recalled(here, thread, f"{n}.5") for n in range(rounds + 1)]
    name = f"recall of a {entries:,}-entry thread"
    return [
        Figure(name=f"{name}, the first after a start", value=first, unit="ms"),
        Figure(
            name=f"{name}, the next turn's",
            value=median(later),
            unit="ms",
            aim=f"under {AIM:g} ms",
            met=median(later) < AIM,
        ),
    ]


async def _recalled(here: Ground, thread: str, ts: str) -> float:
    """Milliseconds for the past and what follows from it, once before `turn-began` and once after it."""
    await here.say(thread, TEXT, ts)
    began = time.perf_counter()
    here.world.pasts.of(thread, here.world.journal.last() + 1)
    took = time.perf_counter() - began
    turn = await begin(here.world, here.soul, thread)
    assert turn is not None, "somebody spoke"
    began = time.perf_counter()
    turn.load()
    took += time.perf_counter() - began
    assert len(turn.memory.conversation) > 1
    await Life(here.world, here.soul).live(thread)
    return took * 1e3


async def _live_long(here: Ground, thread: str, entries: int) -> None:
    """A past of ordinary turns, as they leave it."""
    first = here.world.journal.last() + 1
    rows = _past(first, entries // len(TURN))
    await asyncio.gather(*(here.world.journal.append(thread, kind, body, **how) for kind, body, how in rows))


def _past(first: int, count: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for n in range(count):
        asked, began = first + n * len(TURN), first + n * len(TURN) + 1
        for step, kind in enumerate(TURN):
            yield (
                kind,
                _body(kind, asked),
                {
                    "key": f"{asked}/{kind}",
                    "cause": began,
                    "closes": [asked, began, began + 2] if step == len(TURN) - 1 else [],
                },
            )


def _body(kind: str, asked: int) -> dict[str, Any]:
    match kind:
        case "perception":
            return {
                "address": "dm",
                "user": "U1",
                "name": "Alice",
                "bot": False,
                "files": [],
                "text": TEXT,
                "ts": "1",
            }
        case "model-call":
            return {"name": "think", "text": TEXT, "outcome": "ok", "cost": 0.0, "worth": 0.0}
        case "mood":
            return {"mood": "calm"}
        case "turn-ended":
            return {"outcome": "ended", "keep": [asked, asked + 2], "process": None, "params": {}}
        case _:
            return {}
