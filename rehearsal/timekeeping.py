"""The time that this world lives by, handed in by whoever opens it."""

from __future__ import annotations

from typing import Protocol


class RehearsalClock(Protocol):
    """What time it is, in Unix seconds, and how to wait."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
