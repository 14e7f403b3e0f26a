"""Cost of a new conversation in DMs with few and many earlier ones. Floor: the DM with fewest.

The understudy counts cached tokens like Anthropic.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figure import Figure
from benchmarks.ground import Ground, ground, place
from benchmarks.ism import SPEAKER
from benchmarks.lag import Held
from benchmarks.recall import TEXT, turn_of
from benchmarks.talk import served
from daemon.engine.clock import SystemClock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.rows import Stored
from daemon.kinds import ContextCleared, ModelCall, SoulTurnEnded, thread_key
from daemon.turn.preparation import import_dm_context
from rehearsal.claude.understudy import ClaudeUnderstudy

FLAT = 2.0
"""Maximum ratio to the floor."""
LATE = 20.0
"""Maximum milliseconds that the loop is blocked."""
CACHED = 0.8
"""Minimum cached share of the prompt."""
SUMMED_UP, LEFT = 40, 20
"""Conversations per summary, and newest ones outside it."""
AT_ONCE = 500
"""Conversations per commit."""
LENGTH = 9
"""Entries per conversation."""
ANSWER = f"<aside>I see.</aside><say>{TEXT}</say><mood>engaged</mood>"


class Counting(Journal):
    """Journal that counts entries read."""

    taken = 0

    def _entry(self, row: Stored) -> Entry[Any]:
        self.taken += 1
        return super()._entry(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """New conversation: CPU milliseconds and rows read before its process starts; cached
    share of its prompt.
    """

    took: float
    rows: int
    cached: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Costs; `held` is the longest block of the loop by the fold after a start."""

    name: str
    took: float
    rows: float
    cached: float
    held: float


async def roots(
    folder: Path, *, counts: Sequence[int] = (10, 1_000, 10_000), rounds: int = 15
) -> Sequence[Figure]:
    """Measure DMs of `counts` conversations, fewest first.

    The last DM was never summarized, for lack of a model.
    """
    costs = [await _cost(_new(folder, count), count, rounds) for count in counts]
    costs.append(await _cost(_new(folder, 0), counts[-1], rounds, summed_up=False))
    return [figure for cost in costs for figure in _figures(cost, costs[0])]


def _figures(cost: Cost, fewest: Cost) -> Iterator[Figure]:
    yield _flat(f"{cost.name}, on the loop", cost.took, fewest.took, "ms")
    yield _flat("… rows read", cost.rows, fewest.rows, "rows")
    yield Figure(
        name="… of its prompt from the cache",
        value=cost.cached * 100,
        unit="%",
        aim=f"at least {CACHED:.0%}",
        met=cost.cached >= CACHED,
    )
    yield Figure(
        name="… folded after a start, the longest that it holds the loop",
        value=cost.held,
        unit="ms",
        aim=f"under {LATE:g} ms",
        met=cost.held < LATE,
    )


def _flat(name: str, value: float, floor: float, unit: str) -> Figure:
    aim = f"at most {FLAT:g} times the floor"
    return Figure(name=name, value=value, unit=unit, floor=floor, aim=aim, met=value <= FLAT * floor)


def _new(folder: Path, conversations: int) -> Path:
    at = folder / str(conversations)
    at.mkdir()
    return at


async def _cost(folder: Path, conversations: int, rounds: int, *, summed_up: bool = True) -> Cost:
    async with ground(folder) as here:
        await _live(here, conversations, summed_up)
    understudy = ClaudeUnderstudy(SystemClock(), pace=0)
    async with ground(folder, served(understudy), Counting, SPEAKER) as here:
        held = Held()
        async with held:
            await here.world.pasts.preload("sess-new", here.world.journal.last_seq_of_all() + 1)
        _, *later = [await _begin(here, understudy, n) for n in range(rounds + 1)]
    return Cost(
        name=f"a conversation more in a DM of {conversations:,}{'' if summed_up else ', never summed up'}",
        took=min(one.took for one in later),
        rows=median(one.rows for one in later),
        cached=median(one.cached for one in later),
        held=held.most * 1e3,
    )


async def _begin(here: Ground, understudy: ClaudeUnderstudy, number: int) -> Begun:
    journal = here.world.journal
    assert isinstance(journal, Counting)
    understudy.say(ANSWER, model=SPEAKER)
    ts = f"{2_000_000_000 + number}.000100"
    opened, _ = await journal.open_thread(thread_key("T", "dm", ts), _place(ts))
    said = await here.say(opened.thread, TEXT, ts)
    rows, began = journal.taken, time.thread_time()
    execution = await here.begin(said)
    turn = here.recalled(execution)
    await import_dm_context(turn)
    took, rows = time.thread_time() - began, journal.taken - rows
    assert len(turn.memory.conversation) > number + 1, "the new conversation lacks the DM's earlier messages"
    assert await here.turns().take_turn(opened.thread)
    usage = journal.entries_of_kind(ModelCall)[-1].event.usage
    return Begun(took=took * 1e3, rows=rows, cached=usage.cache_read / usage.prompt)


def _place(ts: str) -> Any:
    return replace(place("dm"), where="dm", ts=ts, called_by=ts)


async def _live(here: Ground, conversations: int, summed_up: bool) -> None:
    journal, calls, first = here.world.journal, list[int](), 0
    for begin in range(0, conversations, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, conversations))
        writes = list[Awaitable[object]]()
        seq = journal.last_seq_of_all()
        for number in numbers:
            writes += _written(journal, number, seq)
            calls.append(seq + 4)
            seq += LENGTH
            if summed_up and number % SUMMED_UP == SUMMED_UP - 1:
                last = calls[-LEFT]
                made_of = tuple(one for one in calls[first:] if one <= last)
                cleared = ContextCleared(text=TEXT * 4, last=last, seqs=made_of)
                writes.append(journal.append(_thread(number), cleared, key=f"{number}/sum-up"))
                first = len(calls) - LEFT + 1
                seq += 1
        await asyncio.gather(*writes)


def _thread(number: int) -> str:
    return f"sess-{number:08x}"


def _written(journal: Journal, number: int, last: int) -> Iterator[Awaitable[object]]:
    thread, ts = _thread(number), f"{1_000_000_000 + number}.000100"
    asked = last + 2
    yield journal.append(thread, _place(ts), key=thread_key("T", "dm", ts), author="core")
    for event in turn_of(thread, asked):
        if isinstance(event, ModelCall):
            event = replace(event, name="pipeline", text=ANSWER)
        closes = [asked, asked + 1, asked + 3] if isinstance(event, SoulTurnEnded) else []
        yield journal.append(thread, event, key=f"{asked}/{event.kind}", cause=asked, closes=closes)
