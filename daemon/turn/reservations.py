"""Reservations of the day's dollars for calls that are running, so that parallel calls do not exceed it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

EndReservation = Callable[[int], None]
"""Function that ends a reservation; it gets the seq up to which the journal has the call's cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentToday:
    """Dollars `spent` of the `daily` ones, as the journal says it up to the seq `upto`."""

    spent: float
    daily: float
    upto: int

    def has_left(self, amount: float) -> bool:
        return amount == 0 or self.spent + amount <= self.daily


class CallReservations(Protocol):
    """Reservations of all who spend the same budget."""

    async def reserve(self, amount: float, today: SpentToday) -> EndReservation | None:
        """Reserve dollars; return None if other reservations leave too little for now."""

    async def wait_for_end(self) -> None:
        """Wait until a reservation may have ended."""


class ProcessReservations:
    """Reservations of one process."""

    def __init__(self) -> None:
        self._in_flight = 0.0
        self._released = asyncio.Event()

    async def reserve(self, amount: float, today: SpentToday) -> EndReservation | None:
        if not today.has_left(amount + self._in_flight):
            return None
        self._in_flight += amount

        def end(_upto: int) -> None:
            self._in_flight -= amount
            self._released.set()
            self._released = asyncio.Event()

        return end

    async def wait_for_end(self) -> None:
        await self._released.wait()
