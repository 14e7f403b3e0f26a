"""Figures, their table, and timing of alternating work."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Figure with a floor in the same unit; `met` is None without an aim."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    aim: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None

    @property
    def cells(self) -> tuple[str, ...]:
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
    """Format a number with three digits."""
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def table(figures: Sequence[Figure]) -> str:
    return columns([HEAD, *(figure.cells for figure in figures)])


def columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


async def seconds(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def side_by_side(rounds: int, *works: Work) -> list[float]:
    """Return median times of alternating works, so that disturbances affect all."""
    for work in works:
        await work()
    times = [[await seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]
