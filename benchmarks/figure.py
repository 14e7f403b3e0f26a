"""What a benchmark found, as a line of the table; and how two things are timed side by side."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure beside its floor, in the same unit; `met` is None where nothing is aimed at."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    aim: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the floor it is."""
        return self.value / self.floor if self.floor else None

    @property
    def cells(self) -> tuple[str, ...]:
        """As it stands in the table."""
        verdict = {None: "", True: "met", False: "missed"}[self.met]
        ratio = f"{self.ratio:.2f}" if self.ratio else ""
        return (
            self.name,
            amount(self.value, self.unit),
            amount(self.floor, self.unit),
            ratio,
            self.aim,
            verdict,
        )


HEAD = ("figure", "measured", "floor", "ratio", "aim", "")


def amount(value: float | None, unit: str) -> str:
    """A number that is read and not reckoned with: three digits of it say enough."""
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def table(figures: Sequence[Figure]) -> str:
    """All of them, in columns."""
    return columns([HEAD, *(figure.cells for figure in figures)])


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


async def seconds(work: Work) -> float:
    """How long this takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def side_by_side(rounds: int, *works: Work) -> list[float]:
    """The median time of each, taken in turns, so that what slows one down slows down all."""
    for work in works:
        await work()
    times = [[await seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]
