"""Input costs of a run, compared with the seed's loop on equal material.

The understudy counts cached tokens like Anthropic; prices are the daemon's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.ferry import EXCHANGES
from benchmarks.figure import Figure
from benchmarks.instant import CHOOSER
from benchmarks.talk import talking
from daemon.claude.models import cost_of, listed_model
from daemon.settings.limits import TokenUsage

SPEAKER = "claude-sonnet-5-5"
PART = 1 / 5
"""Largest part of the seed's cost."""
FLAT = 1.05
"""Maximum ratio of the last round's uncached tokens to the second's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Usage of the choices in a run, the next run and the seed's loop.

    `poor` is the seed's with choices but no results in its log, as in the sketch.
    """

    ours: Sequence[TokenUsage]
    seed: Sequence[TokenUsage]
    poor: Sequence[TokenUsage]
    ours_next: Sequence[TokenUsage]
    seed_next: Sequence[TokenUsage]


async def ism(folder: Path, *, rounds: int = 10, long: int = 20) -> Sequence[Figure]:
    """Measure a short conversation, and one `long` times its length."""
    short, longer = await _spent(folder / "short", rounds, 1), await _spent(folder / "long", rounds, long)
    return [
        *_flat(short.ours),
        *_compared(short, "input of a run"),
        *_compared(longer, "input of a run in a long conversation"),
        _beside("input of a run; the seed's chooses as it speaks", short.ours, short.seed, SPEAKER),
        _beside("input of a run; the seed's sees no results", short.ours, short.poor),
    ]


def uncached(usage: TokenUsage) -> int:
    """Return a prompt's tokens not read from the cache."""
    return usage.input + usage.cache_write


def dollars(usages: Iterable[TokenUsage], name: str = CHOOSER) -> float:
    return sum(cost_of(listed_model(name), replace(usage, output=0)) for usage in usages)


def _flat(ours: Sequence[TokenUsage]) -> Iterator[Figure]:
    first, second, *_, last = map(uncached, ours)
    yield Figure(name="uncached input of a run's first round", value=first, unit="tokens")
    yield Figure(
        name="uncached input of its last round; floor: of its second",
        value=last,
        unit="tokens",
        floor=second,
        aim=f"at most {FLAT:g} times the floor",
        met=last <= FLAT * second,
    )


def _compared(spent: Spent, name: str) -> Iterator[Figure]:
    yield _beside(name, spent.ours, spent.seed, aim=PART)
    yield _beside("… the next one there, within five minutes", spent.ours_next, spent.seed_next, aim=PART)


def _beside(
    name: str,
    ours: Sequence[TokenUsage],
    seed: Sequence[TokenUsage],
    chooser: str = CHOOSER,
    aim: float | None = None,
) -> Figure:
    """Compare in dollars per thousand runs. `chooser` is the seed's model."""
    value, floor = dollars(ours) * 1e3, dollars(seed, chooser) * 1e3
    if aim is None:
        return Figure(name=name, value=value, unit="$/1,000", floor=floor)
    told = f"at most {aim:g} of the floor"
    return Figure(name=name, value=value, unit="$/1,000", floor=floor, aim=told, met=value <= aim * floor)


async def _spent(folder: Path, rounds: int, times: int) -> Spent:
    async with talking(folder, rounds) as talk:
        for asked, answered in EXCHANGES * times:
            await talk.turn(asked, answered)
        return Spent(
            ours=await talk.run(),
            seed=await talk.seed(),
            poor=await talk.seed(poor=True),
            ours_next=await talk.run(),
            seed_next=await talk.seed(),
        )
