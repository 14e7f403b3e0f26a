"""The clock of the rehearsal."""

from __future__ import annotations

from typing import Protocol


class RehearsalClock(Protocol):
    """Clock in Unix seconds."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
